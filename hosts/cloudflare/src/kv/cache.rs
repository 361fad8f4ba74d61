//! Rows that were read or written before, so that they are not read again.
//!
//! A Durable Object is the only one to use its database, so what it knows of it
//! stays true until it changes it itself. Not here: that it is forgotten when a
//! commit fails, and its outcome is not known.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use shared_context_core::port::Change;

/// How many bytes of names and values are kept. The objects of one isolate share
/// 128 MB.
const BYTES_MAX: usize = 4 << 20;

/// What is known of a bucket's rows.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// Rows that are there, and names of which is known that there is no row.
    rows: BTreeMap<String, Option<Vec<u8>>>,
    /// Prefixes all rows of which are known.
    complete: BTreeSet<String>,
    bytes: usize,
}

/// What is known of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Known<'c> {
    Nothing,
    Absent,
    There(&'c [u8]),
}

impl Cache {
    /// What is known of the row `name`.
    pub(super) fn get(&self, name: &str) -> Known<'_> {
        match self.rows.get(name) {
            Some(Some(value)) => Known::There(value),
            Some(None) => Known::Absent,
            None if self.is_complete(name) => Known::Absent,
            None => Known::Nothing,
        }
    }

    /// The rows with `prefix` after the row `after`, if all are known.
    pub(super) fn scan<'c>(
        &'c self,
        prefix: &'c str,
        after: Option<&str>,
    ) -> Option<impl Iterator<Item = (&'c str, &'c [u8])>> {
        let after = after.unwrap_or_default();
        let rows = self.rows.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        let rows = rows.take_while(move |(name, _)| name.starts_with(prefix));
        let after = after.to_owned();
        let rows = rows.filter(move |(name, _)| after.is_empty() || **name > after);
        let rows = rows.filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)));
        self.is_complete(prefix).then_some(rows)
    }

    /// Whether a row is known that is there.
    pub(super) fn has_rows(&self) -> bool {
        self.rows.values().any(Option::is_some)
    }

    /// Notes the row `name` as it is stored.
    pub(super) fn note(&mut self, name: &str, value: Option<&[u8]>) {
        self.bytes = self.bytes.saturating_add(size(name, value));
        let known = self.rows.insert(name.to_owned(), value.map(<[u8]>::to_vec));
        if let Some(known) = known {
            self.bytes = self.bytes.saturating_sub(size(name, known.as_deref()));
        }
        if self.bytes > BYTES_MAX {
            *self = Self::default();
        }
    }

    /// Notes `rows` as all there are with `prefix`, if there is room for them.
    pub(super) fn note_all(&mut self, prefix: &str, rows: &[(String, Vec<u8>)]) {
        let new: usize = rows.iter().map(|(name, value)| size(name, Some(value))).sum();
        if self.bytes.saturating_add(new) > BYTES_MAX {
            *self = Self::default();
        }
        if new <= BYTES_MAX {
            for (name, value) in rows {
                self.note(name, Some(value));
            }
            self.note_complete(prefix);
        }
    }

    /// Notes what a commit did.
    pub(super) fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Put(name, value) => self.note(name, Some(value)),
                Change::Delete(name) => self.note(name, None),
                Change::DeletePrefix(prefix) => self.delete(prefix),
            }
        }
    }

    fn delete(&mut self, prefix: &str) {
        self.rows.retain(|name, _| !name.starts_with(prefix));
        self.bytes = self.rows.iter().map(|(name, value)| size(name, value.as_deref())).sum();
        self.note_complete(prefix);
    }

    /// Notes that all rows with `prefix` are known.
    fn note_complete(&mut self, prefix: &str) {
        // Others are not looked for.
        if prefix.is_empty() || prefix.ends_with('/') {
            self.complete.insert(prefix.to_owned());
        }
    }

    /// Whether every row that is called `name`, or whose name begins with it, is
    /// known.
    fn is_complete(&self, name: &str) -> bool {
        let ends = name.match_indices('/').map(|(at, slash)| at.saturating_add(slash.len()));
        let mut prefixes = ends.chain([0]).filter_map(|end| name.get(..end));
        prefixes.any(|prefix| self.complete.contains(prefix))
    }
}

fn size(name: &str, value: Option<&[u8]>) -> usize {
    // A node of the tree is about as large as this.
    const OVERHEAD: usize = 64;
    OVERHEAD.saturating_add(name.len()).saturating_add(value.map_or(0, <[u8]>::len))
}
