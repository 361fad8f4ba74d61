//! Buckets in Spin's key-value store, for platforms without `SQLite`: each is one
//! value ([`packed`]), read whole and written whole ([`store`]).
//!
//! The store cannot compare and set: a commit reads the revision right before it
//! writes, and of two that do so at the same instant the earlier is lost. All else of
//! the contract holds.

mod packed;
mod store;

use std::{mem, rc::Rc};

use shared_context_core::port::{
    Bucket, Change, CommitError, Kv, KvError, ReadError, Revision, Row,
};

use self::packed::Stored;
pub use self::store::{Store, StoreError};

/// What the keys of buckets begin with: the app's developer may keep others.
const PREFIX: &str = "shared-context/";

/// The buckets in one store, as one instance uses them.
#[derive(Debug)]
pub struct KeyValueKv<S> {
    store: Rc<S>,
}

/// One bucket, as it was when opened.
#[derive(Debug)]
pub struct KeyValueBucket<S> {
    store: Rc<S>,
    key: String,
    stored: Stored,
}

impl<S: Store> KeyValueKv<S> {
    /// Creates the buckets in `store`.
    pub fn new(store: S) -> Self {
        Self { store: Rc::new(store) }
    }

    /// Returns the names of at most `limit` buckets that start with `prefix`, those after
    /// `after` when it is given, in order. Some may hold no rows: that would take
    /// reading each of them.
    pub fn names(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<String>, KvError> {
        let keys = self.store.keys()?;
        let names = keys.iter().filter_map(|key| key.strip_prefix(PREFIX));
        let is_asked_for =
            |name: &&str| name.starts_with(prefix) && after.is_none_or(|after| *name > after);
        let mut names: Vec<_> = names.filter(is_asked_for).map(str::to_owned).collect();
        names.sort_unstable();
        names.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(names)
    }

    /// Returns the revision of the bucket called `name`; 0 when it was never written to.
    pub fn revision(&self, name: &str) -> Result<Revision, KvError> {
        Ok(read(&*self.store, &key(name))?.revision)
    }
}

impl<S: Store> Kv for KeyValueKv<S> {
    type Bucket = KeyValueBucket<S>;

    fn open(&self, name: &str) -> Result<KeyValueBucket<S>, KvError> {
        let key = key(name);
        let stored = read(&*self.store, &key)?;
        Ok(KeyValueBucket { store: Rc::clone(&self.store), key, stored })
    }
}

impl<S: Store> Bucket for KeyValueBucket<S> {
    fn revision(&self) -> Revision {
        self.stored.revision
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(self.stored.rows.get(row))
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        Ok(self.stored.rows.scan(prefix, after, limit))
    }

    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        // Spent: no need to hold it while another is read.
        drop(mem::take(&mut self.stored));
        let mut stored = read(&*self.store, &self.key).map_err(CommitError::Unchanged)?;
        if stored.revision != expected {
            return Err(CommitError::Conflict);
        }
        stored.rows.apply(changes);
        stored.revision = expected.next();
        let value = packed::pack(&stored).map_err(CommitError::Unchanged)?;
        let set = self.store.set(&self.key, &value);
        set.map_err(|error| CommitError::Failed(error.into()))?;
        Ok(stored.revision)
    }
}

fn key(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// Returns what is stored under `key`.
fn read(store: &impl Store, key: &str) -> Result<Stored, KvError> {
    match store.get(key)? {
        Some(value) => packed::unpack(key, &value),
        None => Ok(Stored::default()),
    }
}
