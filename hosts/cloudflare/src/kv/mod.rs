//! The bucket of one Durable Object: rows in its database ([`rows`]), a cache of them
//! ([`cache`]), and SQL ([`sql`]).
//!
//! # Invariants
//!
//! - Nothing here waits, so all reads of a request see one revision.
//! - A failed commit clears everything cached, so later answers come from storage.
//! - The revision never goes back. A database that was emptied when its session was
//!   deleted has lost its last revision; the directory keeps it. So the directory is
//!   asked before each first commit to a bucket without rows ([`ObjectKv::begin_after`]).

mod cache;
mod rows;
mod sql;
#[cfg(test)]
pub(crate) mod tests;

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use shared_context_core::port::{
    Bucket, Change, CommitError, Kv, KvError, ReadError, Revision, Row,
};

pub(crate) use self::sql::{Cell as SqlCell, Row as SqlRow, Sql, Value};
use self::{
    cache::{Cache, Lookup},
    rows::{BucketState, Rows},
};

/// The storage of an object: the one bucket with the object's name. Clones share it.
pub(crate) struct ObjectKv<S> {
    shared: Rc<Shared<S>>,
}

struct Shared<S> {
    rows: Rows<S>,
    cache: RefCell<Cache>,
    /// The state of the bucket; `None` until it is loaded.
    state: Cell<Option<CachedState>>,
    /// The revision of a bucket without a table.
    begins_after: Cell<Revision>,
    /// True if the next commit may go to a bucket without rows.
    may_begin: Cell<bool>,
    /// True if a commit was rejected because the directory was not asked.
    needs_directory: Cell<bool>,
    /// True if there was a commit.
    has_committed: Cell<bool>,
    /// The latest failure of the storage.
    failure: RefCell<Option<KvError>>,
}

/// The stored state; `None` without a table.
#[derive(Debug, Clone, Copy)]
struct CachedState(Option<BucketState>);

impl<S: Sql> ObjectKv<S> {
    /// Creates the bucket in the database behind `sql`.
    pub(crate) fn new(sql: S) -> Self {
        let shared = Shared {
            rows: Rows { sql },
            cache: RefCell::default(),
            state: Cell::default(),
            begins_after: Cell::default(),
            may_begin: Cell::default(),
            needs_directory: Cell::default(),
            has_committed: Cell::default(),
            failure: RefCell::default(),
        };
        Self { shared: Rc::new(shared) }
    }

    /// Allows the next commit to a bucket without rows. The bucket begins after
    /// `revision` or later.
    pub(crate) fn begin_after(&self, revision: Revision) {
        self.shared.begin_after(revision);
        self.shared.may_begin.set(true);
    }

    /// Withdraws the permission that [`ObjectKv::begin_after`] gave.
    pub(crate) fn forbid_begin(&self) {
        self.shared.may_begin.set(false);
    }

    /// Records that the database was emptied at `revision`.
    pub(crate) fn note_emptied(&self, revision: Revision) {
        self.shared.begin_after(revision);
        self.shared.forget();
    }

    /// Returns the bucket's revision.
    pub(crate) fn revision(&self) -> Result<Revision, KvError> {
        self.shared.revision()
    }

    /// Returns true if a deleted bucket has left a table without rows.
    pub(crate) fn is_left_over(&self) -> Result<bool, KvError> {
        Ok(self.shared.state()?.is_some() && !self.shared.has_rows()?)
    }

    /// Returns true if there was a commit since the previous call.
    pub(crate) fn take_committed(&self) -> bool {
        self.shared.has_committed.take()
    }

    /// Returns the latest failure of the storage since the previous call.
    pub(crate) fn take_failure(&self) -> Option<KvError> {
        self.shared.failure.take()
    }

    /// Returns true if a commit to a bucket without rows was rejected since the previous
    /// call: see [`ObjectKv::begin_after`].
    pub(crate) fn take_needs_directory(&self) -> bool {
        self.shared.needs_directory.take()
    }
}

impl<S: Sql> Shared<S> {
    fn state(&self) -> Result<Option<BucketState>, KvError> {
        if let Some(CachedState(state)) = self.state.get() {
            return Ok(state);
        }
        let loaded = self.rows.load().inspect_err(|it| self.note_failure(it))?;
        let state = loaded.map(|(state, value)| {
            self.cache.borrow_mut().note(rows::FIRST_READ, value.as_deref());
            state
        });
        self.state.set(Some(CachedState(state)));
        Ok(state)
    }

    fn revision(&self) -> Result<Revision, KvError> {
        Ok(self.state()?.map_or_else(|| self.begins_after.get(), |it| it.revision))
    }

    fn has_rows(&self) -> Result<bool, KvError> {
        if self.state()?.is_none() {
            return Ok(false);
        }
        if let Some(mut rows) = self.cache.borrow().scan("", None) {
            return Ok(rows.next().is_some());
        }
        Ok(self.cache.borrow().has_rows() || !self.rows.scan("", None, 1)?.is_empty())
    }

    fn begin_after(&self, revision: Revision) {
        self.begins_after.set(revision.max(self.begins_after.get()));
    }

    fn note_failure(&self, error: &KvError) {
        self.failure.replace(Some(error.clone()));
    }

    /// Clears the cache and the state, so that both are read again.
    fn forget(&self) {
        self.cache.take();
        self.state.take();
    }
}

impl<S: Sql> Kv for ObjectKv<S> {
    type Bucket = ObjectBucket<S>;

    /// Opens the object's bucket. The name is not checked here: the caller has done so.
    fn open(&self, _: &str) -> Result<Self::Bucket, KvError> {
        Ok(ObjectBucket { shared: Rc::clone(&self.shared), revision: self.shared.revision()? })
    }
}

/// The bucket, open for one request.
pub(crate) struct ObjectBucket<S> {
    shared: Rc<Shared<S>>,
    revision: Revision,
}

impl<S: Sql> Bucket for ObjectBucket<S> {
    fn revision(&self) -> Revision {
        self.revision
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        match self.shared.cache.borrow().get(row) {
            Lookup::Present(value) => return Ok(Some(value.to_vec())),
            Lookup::Absent => return Ok(None),
            Lookup::Unknown => {}
        }
        if self.shared.state()?.is_none() {
            return Ok(None);
        }
        let value = self.shared.rows.get(row).inspect_err(|it| self.shared.note_failure(it))?;
        self.shared.cache.borrow_mut().note(row, value.as_deref());
        Ok(value)
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        if let Some(rows) = self.shared.cache.borrow().scan(prefix, after) {
            let owned = |(name, value): (&str, &[u8])| (name.to_owned(), value.to_vec());
            return Ok(rows.take(most).map(owned).collect());
        }
        if self.shared.state()?.is_none() {
            return Ok(Vec::new());
        }
        let rows = self.shared.rows.scan(prefix, after, limit);
        let rows = rows.inspect_err(|it| self.shared.note_failure(it))?;
        if after.is_none() && rows.len() < most {
            self.shared.cache.borrow_mut().note_all(prefix, &rows);
        }
        Ok(rows)
    }

    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        let shared = &self.shared;
        let state = shared.state().map_err(CommitError::Unchanged)?;
        let may_begin = shared.may_begin.take();
        if !may_begin && !shared.has_rows().map_err(CommitError::Unchanged)? {
            shared.needs_directory.set(true);
            return Err(CommitError::Unchanged(KvError("the directory was not asked".to_owned())));
        }
        if expected != self.revision {
            return Err(CommitError::Conflict);
        }
        let next = expected.next();
        let may_be_long = |name: &str| match shared.cache.borrow().get(name) {
            Lookup::Present(value) => rows::is_long(value),
            Lookup::Absent => false,
            Lookup::Unknown => state.is_some(),
        };
        let committed = shared.rows.commit(state, next, &changes, may_be_long);
        let state = committed.inspect_err(|error| {
            if let CommitError::Failed(error) = error {
                shared.note_failure(error);
            }
            shared.forget();
        })?;
        shared.state.set(Some(CachedState(Some(state))));
        shared.cache.borrow_mut().apply(&changes);
        shared.has_committed.set(true);
        Ok(next)
    }
}

impl<S> Clone for ObjectKv<S> {
    fn clone(&self) -> Self {
        Self { shared: Rc::clone(&self.shared) }
    }
}
