//! A cache of rows that were read or written before.
//!
//! Only the Durable Object uses its database, so cached rows stay valid until the object
//! changes them. The caller clears the cache when a commit fails, because its outcome is
//! unknown.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use shared_context_core::port::Change;

/// The maximum bytes of names and values cached for one object: enough for a session at
/// the default limits, with its history.
const BYTES_MAX: usize = 1 << 20;
/// The maximum for all objects of an isolate, which share 128 MB.
const ALL_BYTES_MAX: usize = 24 << 20;

thread_local! {
    /// The bytes cached in this isolate.
    static ALL_BYTES: Cell<usize> = const { Cell::new(0) };
}

/// The cached rows of a bucket.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// Rows by name; `None` for a name known to have no row.
    rows: BTreeMap<String, Option<Vec<u8>>>,
    /// Prefixes whose rows are all cached.
    complete: BTreeSet<String>,
    bytes: usize,
}

/// The result of looking up a row in the cache.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lookup<'c> {
    Unknown,
    Absent,
    Present(&'c [u8]),
}

impl Cache {
    /// Looks up the row `name`.
    pub(super) fn get(&self, name: &str) -> Lookup<'_> {
        match self.rows.get(name) {
            Some(Some(value)) => Lookup::Present(value),
            Some(None) => Lookup::Absent,
            None if self.is_complete(name) => Lookup::Absent,
            None => Lookup::Unknown,
        }
    }

    /// Returns the rows with `prefix` after the row `after`, if all of them are cached.
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

    /// Returns true if at least one existing row is cached.
    pub(super) fn has_rows(&self) -> bool {
        self.rows.values().any(Option::is_some)
    }

    /// Caches the row `name` as it is stored, or clears the cache if there is no room.
    pub(super) fn note(&mut self, name: &str, value: Option<&[u8]>) {
        if !self.has_room(size(name, value)) {
            // Evicting single rows would make complete prefixes incomplete.
            *self = Self::default();
            return;
        }
        self.hold(size(name, value));
        let replaced = self.rows.insert(name.to_owned(), value.map(<[u8]>::to_vec));
        if let Some(replaced) = replaced {
            self.release(size(name, replaced.as_deref()));
        }
    }

    /// Caches `rows` as all rows with `prefix`, if there is room for them.
    pub(super) fn note_all(&mut self, prefix: &str, rows: &[(String, Vec<u8>)]) {
        let new = rows.iter().map(|(name, value)| size(name, Some(value))).sum();
        if self.has_room(new) {
            for (name, value) in rows {
                self.note(name, Some(value));
            }
            self.note_complete(prefix);
        }
    }

    /// Applies the changes of a commit.
    pub(super) fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Put(name, value) => self.note(name, Some(value)),
                Change::Delete(name) => self.forget(name),
                Change::DeletePrefix(prefix) => self.delete(prefix),
            }
        }
    }

    /// Forgets a deleted row. Its absence is not cached: each change in the feed deletes an
    /// old one, which is never looked up again.
    fn forget(&mut self, name: &str) {
        if let Some(removed) = self.rows.remove(name) {
            self.release(size(name, removed.as_deref()));
        }
    }

    fn delete(&mut self, prefix: &str) {
        self.rows.retain(|name, _| !name.starts_with(prefix));
        self.release(self.bytes);
        self.hold(self.rows.iter().map(|(name, value)| size(name, value.as_deref())).sum());
        self.note_complete(prefix);
    }

    /// Returns true if `bytes` more may be cached, here and in the isolate.
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

    /// Records that all rows with `prefix` are cached.
    fn note_complete(&mut self, prefix: &str) {
        // `is_complete` looks up only these.
        if prefix.is_empty() || prefix.ends_with('/') {
            self.complete.insert(prefix.to_owned());
        }
    }

    /// Returns true if the row `name` and all rows whose names begin with it are cached.
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
    // The approximate size of a node of the tree.
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
    fn a_full_cache_of_one_object_is_cleared() {
        let mut cache = Cache::default();
        cache.note_all("k/", &rows(500, 1_000));
        assert!(matches!(cache.get("k/000007"), Lookup::Present(_)));
        assert!(matches!(cache.get("k/nothing"), Lookup::Absent));
        // Rows beyond the limit are not cached; the cached rows stay valid.
        cache.note_all("v/", &rows(2_000, 1_000));
        assert!(matches!(cache.get("v/000007"), Lookup::Unknown));
        assert!(matches!(cache.get("k/000007"), Lookup::Present(_)));
        cache.note("meta", Some(&vec![0; BYTES_MAX]));
        assert!(matches!(cache.get("meta"), Lookup::Unknown));
        assert!(matches!(cache.get("k/nothing"), Lookup::Unknown));
        assert_eq!(cache.bytes, 0);
    }

    /// Cached bytes were once limited per object only: sixty busy sessions held a megabyte
    /// each, and a hundred large ones would have exceeded their isolate's memory.
    #[test]
    fn the_caches_of_an_isolate_share_one_limit() {
        let before = ALL_BYTES.with(Cell::get);
        let mut caches: Vec<_> = (0..100).map(|_| Cache::default()).collect();
        for cache in &mut caches {
            cache.note_all("k/", &rows(900, 1_000));
        }
        let held = ALL_BYTES.with(Cell::get);
        assert!(held <= ALL_BYTES_MAX && held > ALL_BYTES_MAX / 2, "{held}");
        let filled = caches.iter().filter(|it| it.has_rows()).count();
        assert!((20..30).contains(&filled), "{filled}");
        // A dropped cache makes room for others.
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
