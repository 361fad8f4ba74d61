//! All rows of a bucket, in memory.

use std::{collections::BTreeMap, ops::Bound};

use shared_context_core::port::{Change, Row};

/// Rows by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rows(pub(crate) BTreeMap<String, Vec<u8>>);

impl Rows {
    /// Returns the value of the row `name`.
    pub(crate) fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.0.get(name).cloned()
    }

    /// Returns at most `limit` rows with `prefix` after the row `after`.
    pub(crate) fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Vec<Row> {
        let from = after.map_or(prefix, |after| after.max(prefix));
        let rows = self.0.range::<str, _>((Bound::Included(from), Bound::Unbounded));
        rows.take_while(|(name, _)| name.starts_with(prefix))
            .filter(|(name, _)| Some(name.as_str()) != after)
            .take(usize::try_from(limit).unwrap_or(usize::MAX))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// Applies `changes` in order.
    pub(crate) fn apply(&mut self, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Put(name, value) => drop(self.0.insert(name, value)),
                Change::Delete(name) => drop(self.0.remove(&name)),
                Change::DeletePrefix(prefix) => remove(&mut self.0, &prefix),
            }
        }
    }
}

/// Removes all rows whose names start with `prefix`.
pub(crate) fn remove<T>(rows: &mut BTreeMap<String, T>, prefix: &str) {
    let from = rows.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
    let names = from.map(|(name, _)| name).take_while(|name| name.starts_with(prefix));
    for name in names.cloned().collect::<Vec<_>>() {
        rows.remove(&name);
    }
}
