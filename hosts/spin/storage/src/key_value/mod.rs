//! Buckets in Spin's key-value store, for platforms without `SQLite`. Each bucket is one
//! value (`packed`), read and written as a whole (`store`).
//!
//! The store has no compare-and-set: a commit reads the revision right before it writes.
//! If two commits do so at the same instant, the earlier one is lost. The rest of the
//! contract holds.

mod packed;
mod store;

use std::{mem, rc::Rc};

use shared_context_core::{
    ScopeKind,
    port::{Bucket, Change, CommitError, Kv, KvError, ReadError, Revision, Row},
};

use self::packed::BucketState;
pub use self::store::{Store, StoreError};

/// The prefix of the buckets' keys: the app may store other keys beside them.
const PREFIX: &str = "shared-context/";

/// The most bytes of a project: each change reads and writes all of it.
const PROJECT_BYTES_MAX: usize = 1024 * 1024;

/// The buckets in one store, for one instance.
#[derive(Debug)]
pub struct KeyValueKv<S> {
    store: Rc<S>,
}

/// One bucket, as it was when opened.
#[derive(Debug)]
pub struct KeyValueBucket<S> {
    store: Rc<S>,
    key: String,
    state: BucketState,
}

impl<S: Store> KeyValueKv<S> {
    /// Creates a handle to the buckets in `store`.
    pub fn new(store: S) -> Self {
        Self { store: Rc::new(store) }
    }

    /// Returns the names of at most `limit` buckets that start with `prefix` and follow
    /// `after`, in order. Some buckets may have no rows: checking would mean reading each.
    pub fn names(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<String>, KvError> {
        let keys = self.store.keys()?;
        let names = keys.iter().filter_map(|key| key.strip_prefix(PREFIX));
        let is_in_range =
            |name: &&str| name.starts_with(prefix) && after.is_none_or(|after| *name > after);
        let mut names: Vec<_> = names.filter(is_in_range).map(str::to_owned).collect();
        names.sort_unstable();
        names.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(names)
    }

    /// Returns the revision of the bucket `name`, or 0 if it was never written.
    pub fn revision(&self, name: &str) -> Result<Revision, KvError> {
        Ok(read(&*self.store, &key(name))?.revision)
    }
}

impl<S: Store> Kv for KeyValueKv<S> {
    type Bucket = KeyValueBucket<S>;

    fn open(&self, name: &str) -> Result<KeyValueBucket<S>, KvError> {
        let key = key(name);
        let state = read(&*self.store, &key)?;
        Ok(KeyValueBucket { store: Rc::clone(&self.store), key, state })
    }
}

impl<S: Store> Bucket for KeyValueBucket<S> {
    fn revision(&self) -> Revision {
        self.state.revision
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(self.state.rows.get(row))
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        Ok(self.state.rows.scan(prefix, after, limit))
    }

    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        // The old state is no longer needed: free its memory before the next one is read.
        drop(mem::take(&mut self.state));
        let before = self.store.get(&self.key).map_err(|it| CommitError::Unchanged(it.into()))?;
        let mut state = unpack(&self.key, before.as_deref()).map_err(CommitError::Unchanged)?;
        if state.revision != expected {
            return Err(CommitError::Conflict);
        }
        state.rows.apply(changes);
        state.revision = expected.next();
        let value = packed::pack(&state).map_err(CommitError::Unchanged)?;
        // What makes a large project smaller is taken: it makes room.
        let is_project = self.key.strip_prefix(PREFIX).is_some_and(|it| {
            ScopeKind::split(it).is_some_and(|(kind, _)| kind == ScopeKind::Project)
        });
        if is_project && value.len() > PROJECT_BYTES_MAX.max(before.map_or(0, |it| it.len())) {
            return Err(CommitError::Unchanged(KvError(format!(
                "the project would take {} bytes, and key-value storage keeps {PROJECT_BYTES_MAX}; \
                 run the app over SQLite, or mark memories as deleted and call maintain",
                value.len()
            ))));
        }
        let set = self.store.set(&self.key, &value);
        set.map_err(|error| CommitError::Failed(error.into()))?;
        Ok(state.revision)
    }
}

fn key(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// Reads the bucket stored under `key`; returns an empty one if it does not exist.
fn read(store: &impl Store, key: &str) -> Result<BucketState, KvError> {
    unpack(key, store.get(key)?.as_deref())
}

/// Decodes the bucket stored under `key`, which is empty if nothing is.
fn unpack(key: &str, value: Option<&[u8]>) -> Result<BucketState, KvError> {
    value.map_or_else(|| Ok(BucketState::default()), |it| packed::unpack(key, it))
}
