//! An in-memory implementation of the storage contract: for tests, for embedders that
//! need no durability, and as the simplest reading of [`crate::kv::Bucket`].

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    count::widen,
    kv::{Bucket, Change, CommitError, Kv, KvError, ReadError, Revision, Row},
};

/// Buckets in memory. Clones share the buckets.
#[derive(Debug, Clone, Default)]
pub struct MemoryKv {
    buckets: Arc<Mutex<BTreeMap<String, Rows>>>,
}

/// The rows of a bucket at one revision. Snapshots share them; a commit copies them only
/// while a reader still holds them.
#[derive(Debug, Clone, Default)]
struct Rows {
    revision: Revision,
    rows: Arc<BTreeMap<String, Vec<u8>>>,
}

/// One bucket of a [`MemoryKv`] at the revision it was opened at.
#[derive(Debug)]
pub struct MemoryBucket {
    name: String,
    snapshot: Rows,
    kv: MemoryKv,
}

impl MemoryKv {
    /// Returns the names of at most `limit` non-empty buckets after `after`, in order.
    pub fn names(&self, after: Option<&str>, limit: usize) -> Vec<String> {
        self.lock()
            .iter()
            .filter(|(name, it)| {
                !it.rows.is_empty() && after.is_none_or(|after| name.as_str() > after)
            })
            .map(|(name, _)| name.clone())
            .take(limit)
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Rows>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kv for MemoryKv {
    type Bucket = MemoryBucket;

    fn open(&self, name: &str) -> Result<MemoryBucket, KvError> {
        let snapshot = self.lock().get(name).cloned().unwrap_or_default();
        Ok(MemoryBucket { name: name.to_owned(), snapshot, kv: self.clone() })
    }
}

impl Bucket for MemoryBucket {
    fn revision(&self) -> Revision {
        self.snapshot.revision
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(self.snapshot.rows.get(row).cloned())
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        let from = after.filter(|after| *after > prefix).unwrap_or(prefix);
        let rows = self.snapshot.rows.range(from.to_owned()..);
        Ok(rows
            .take_while(|(row, _)| row.starts_with(prefix))
            .filter(|(row, _)| after.is_none_or(|after| row.as_str() > after))
            .take(widen(limit))
            .map(|(row, value)| (row.clone(), value.clone()))
            .collect())
    }

    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        // Drop our reference first, so that the map below need not be copied.
        self.snapshot = Rows::default();
        let mut buckets = self.kv.lock();
        let current = buckets.entry(self.name.clone()).or_default();
        if current.revision != expected {
            return Err(CommitError::Conflict);
        }
        let rows = Arc::make_mut(&mut current.rows);
        for change in changes {
            match change {
                Change::Put(row, value) => drop(rows.insert(row, value)),
                Change::Delete(row) => drop(rows.remove(&row)),
                Change::DeletePrefix(prefix) => rows.retain(|row, _| !row.starts_with(&prefix)),
            }
        }
        current.revision = expected.next();
        Ok(current.revision)
    }
}
