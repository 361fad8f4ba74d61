//! Rows that were read or written before, so that they are not read again.
//!
//! A Durable Object is the only one to use its database, so what it knows of it
//! stays true until it changes it itself. Not here: that it is forgotten when a
//! commit fails, and its outcome is not known.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use shared_context_core::port::Change;

/// How many bytes of names and values are kept for one object: a session of the
/// usual limits, with its history.
const BYTES_MAX: usize = 1 << 20;
/// How many are kept for all objects of an isolate, which share 128 MB.
const ALL_BYTES_MAX: usize = 24 << 20;

thread_local! {
    /// How many bytes are kept in this isolate.
    static ALL_BYTES: Cell<usize> = const { Cell::new(0) };
}

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
    /// Returns what is known of the row `name`.
    pub(super) fn get(&self, name: &str) -> Known<'_> {
        match self.rows.get(name) {
            Some(Some(value)) => Known::There(value),
            Some(None) => Known::Absent,
            None if self.is_complete(name) => Known::Absent,
            None => Known::Nothing,
        }
    }

    /// Returns the rows with `prefix` after the row `after`, if all are known.
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

    /// Returns whether a row is known that is there.
    pub(super) fn has_rows(&self) -> bool {
        self.rows.values().any(Option::is_some)
    }

    /// Notes the row `name` as it is stored, if there is room for it.
    pub(super) fn note(&mut self, name: &str, value: Option<&[u8]>) {
        if !self.has_room(size(name, value)) {
            // Rather all than some: what is complete has to stay so.
            *self = Self::default();
            return;
        }
        self.hold(size(name, value));
        let known = self.rows.insert(name.to_owned(), value.map(<[u8]>::to_vec));
        if let Some(known) = known {
            self.release(size(name, known.as_deref()));
        }
    }

    /// Notes `rows` as all there are with `prefix`, if there is room for them.
    pub(super) fn note_all(&mut self, prefix: &str, rows: &[(String, Vec<u8>)]) {
        let new = rows.iter().map(|(name, value)| size(name, Some(value))).sum();
        if self.has_room(new) {
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
                Change::Delete(name) => self.forget(name),
                Change::DeletePrefix(prefix) => self.delete(prefix),
            }
        }
    }

    /// Forgets a row that is no more. That it is not there is not worth keeping:
    /// each change deletes an old one, and nobody asks for those.
    fn forget(&mut self, name: &str) {
        if let Some(known) = self.rows.remove(name) {
            self.release(size(name, known.as_deref()));
        }
    }

    fn delete(&mut self, prefix: &str) {
        self.rows.retain(|name, _| !name.starts_with(prefix));
        self.release(self.bytes);
        self.hold(self.rows.iter().map(|(name, value)| size(name, value.as_deref())).sum());
        self.note_complete(prefix);
    }

    /// Returns whether `bytes` more may be kept, here and in the isolate.
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes.saturating_add(bytes) <= BYTES_MAX
            && ALL_BYTES.with(Cell::get).saturating_add(bytes) <= ALL_BYTES_MAX
    }

    fn hold(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        ALL_BYTES.with(|all| all.set(all.get().saturating_add(bytes)));
    }

    fn release(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
        ALL_BYTES.with(|all| all.set(all.get().saturating_sub(bytes)));
    }

    /// Notes that all rows with `prefix` are known.
    fn note_complete(&mut self, prefix: &str) {
        // Others are not looked for.
        if prefix.is_empty() || prefix.ends_with('/') {
            self.complete.insert(prefix.to_owned());
        }
    }

    /// Returns whether every row that is called `name`, or whose name begins with it, is
    /// known.
    fn is_complete(&self, name: &str) -> bool {
        let ends = name.match_indices('/').map(|(at, slash)| at.saturating_add(slash.len()));
        let mut prefixes = ends.chain([0]).filter_map(|end| name.get(..end));
        prefixes.any(|prefix| self.complete.contains(prefix))
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.release(self.bytes);
    }
}

fn size(name: &str, value: Option<&[u8]>) -> usize {
    // A node of the tree is about as large as this.
    const OVERHEAD: usize = 64;
    OVERHEAD.saturating_add(name.len()).saturating_add(value.map_or(0, <[u8]>::len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize, bytes: usize) -> Vec<(String, Vec<u8>)> {
        (0..count).map(|nth| (format!("k/{nth:06}"), vec![1; bytes])).collect()
    }

    #[test]
    fn one_object_keeps_so_much_and_then_begins_anew() {
        let mut cache = Cache::default();
        cache.note_all("k/", &rows(500, 1_000));
        assert!(matches!(cache.get("k/000007"), Known::There(_)));
        assert!(matches!(cache.get("k/nothing"), Known::Absent));
        // More than there is room for: what is known of the others is still true.
        cache.note_all("v/", &rows(2_000, 1_000));
        assert!(matches!(cache.get("v/000007"), Known::Nothing));
        assert!(matches!(cache.get("k/000007"), Known::There(_)));
        cache.note("meta", Some(&vec![0; BYTES_MAX]));
        assert!(matches!(cache.get("meta"), Known::Nothing));
        assert!(matches!(cache.get("k/nothing"), Known::Nothing));
        assert_eq!(cache.bytes, 0);
    }

    /// Sixty busy sessions held a megabyte each, and a hundred large ones would have
    /// ended their isolate: what is kept was counted for each object alone.
    #[test]
    fn all_objects_of_an_isolate_keep_so_much_together() {
        let before = ALL_BYTES.with(Cell::get);
        let mut caches: Vec<_> = (0..100).map(|_| Cache::default()).collect();
        for cache in &mut caches {
            cache.note_all("k/", &rows(900, 1_000));
        }
        let held = ALL_BYTES.with(Cell::get);
        assert!(held <= ALL_BYTES_MAX && held > ALL_BYTES_MAX / 2, "{held}");
        let fed = caches.iter().filter(|it| it.has_rows()).count();
        assert!((20..30).contains(&fed), "{fed}");
        // Who goes leaves room for others.
        caches.truncate(1);
        caches.push(Cache::default());
        let last = caches.last_mut().unwrap();
        last.note_all("k/", &rows(900, 1_000));
        assert!(last.has_rows());
        last.apply(&[Change::DeletePrefix(String::new())]);
        drop(caches);
        assert_eq!(ALL_BYTES.with(Cell::get), before);
    }
}
