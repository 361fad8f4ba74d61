//! The bucket of one Durable Object: rows in its database ([`rows`]), those that
//! are known in memory ([`cache`]), and SQL ([`sql`]).
//!
//! # Invariants
//!
//! - Nothing here waits, so all reads of a request see one revision.
//! - A failed commit is forgotten with everything that was known: what is stored
//!   is read again before anything is answered from it.
//! - The revision never goes back. A database that was emptied when its session
//!   was deleted does not know how far it was; the directory does. So nothing is
//!   committed to a bucket without rows before the directory was asked, each time
//!   anew ([`ObjectKv::begin_after`]).

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
    cache::{Cache, Known},
    rows::{Rows, Stored},
};

/// The storage of an object: one bucket, that of the object's name. Clones share
/// it.
pub(crate) struct ObjectKv<S> {
    shared: Rc<Shared<S>>,
}

struct Shared<S> {
    rows: Rows<S>,
    cache: RefCell<Cache>,
    /// How far the bucket is; `None`: not looked yet.
    known: Cell<Option<Loaded>>,
    /// The revision that a bucket without a table has.
    begins_after: Cell<Revision>,
    /// Whether a bucket without rows may be written to.
    may_begin: Cell<bool>,
    /// Whether something wanted to be written to one that may not.
    wants_to_begin: Cell<bool>,
    /// Whether something was committed.
    has_committed: Cell<bool>,
    /// How the storage failed.
    failure: RefCell<Option<KvError>>,
}

/// What is stored; `None`: no table.
#[derive(Debug, Clone, Copy)]
struct Loaded(Option<Stored>);

impl<S: Sql> ObjectKv<S> {
    /// Creates the bucket in the database behind `sql`.
    pub(crate) fn new(sql: S) -> Self {
        let shared = Shared {
            rows: Rows { sql },
            cache: RefCell::default(),
            known: Cell::default(),
            begins_after: Cell::default(),
            may_begin: Cell::default(),
            wants_to_begin: Cell::default(),
            has_committed: Cell::default(),
            failure: RefCell::default(),
        };
        Self { shared: Rc::new(shared) }
    }

    /// Lets the next commit go to a bucket without rows, and has it begin after
    /// `revision` at least.
    pub(crate) fn begin_after(&self, revision: Revision) {
        self.shared.begin_after(revision);
        self.shared.may_begin.set(true);
    }

    /// Takes back what [`ObjectKv::begin_after`] allowed.
    pub(crate) fn may_not_begin(&self) {
        self.shared.may_begin.set(false);
    }

    /// Notes that the database was emptied when it was at `revision`.
    pub(crate) fn note_emptied(&self, revision: Revision) {
        self.shared.begin_after(revision);
        self.shared.forget();
    }

    /// Returns how far the bucket is.
    pub(crate) fn revision(&self) -> Result<Revision, KvError> {
        self.shared.revision()
    }

    /// Returns whether a deleted bucket has left something behind: a table without rows.
    pub(crate) fn is_left_over(&self) -> Result<bool, KvError> {
        Ok(self.shared.stored()?.is_some() && !self.shared.has_rows()?)
    }

    /// Returns whether something was committed since this was asked last.
    pub(crate) fn take_committed(&self) -> bool {
        self.shared.has_committed.take()
    }

    /// Returns how the storage failed since this was asked last.
    pub(crate) fn take_failure(&self) -> Option<KvError> {
        self.shared.failure.take()
    }

    /// Returns whether something was kept from being committed to a bucket without rows
    /// since this was asked last: see [`ObjectKv::begin_after`].
    pub(crate) fn take_wish_to_begin(&self) -> bool {
        self.shared.wants_to_begin.take()
    }
}

impl<S: Sql> Shared<S> {
    fn stored(&self) -> Result<Option<Stored>, KvError> {
        if let Some(Loaded(stored)) = self.known.get() {
            return Ok(stored);
        }
        let loaded = self.rows.load().inspect_err(|it| self.note_failure(it))?;
        let stored = loaded.map(|(stored, value)| {
            self.cache.borrow_mut().note(rows::FIRST_READ, value.as_deref());
            stored
        });
        self.known.set(Some(Loaded(stored)));
        Ok(stored)
    }

    fn revision(&self) -> Result<Revision, KvError> {
        Ok(self.stored()?.map_or_else(|| self.begins_after.get(), |it| it.revision))
    }

    fn has_rows(&self) -> Result<bool, KvError> {
        if self.stored()?.is_none() {
            return Ok(false);
        }
        if let Some(mut known) = self.cache.borrow().scan("", None) {
            return Ok(known.next().is_some());
        }
        Ok(self.cache.borrow().has_rows() || !self.rows.scan("", None, 1)?.is_empty())
    }

    fn begin_after(&self, revision: Revision) {
        self.begins_after.set(revision.max(self.begins_after.get()));
    }

    fn note_failure(&self, error: &KvError) {
        self.failure.replace(Some(error.clone()));
    }

    /// Forgets all that is known: it is read again.
    fn forget(&self) {
        self.cache.take();
        self.known.take();
    }
}

impl<S: Sql> Kv for ObjectKv<S> {
    type Bucket = ObjectBucket<S>;

    /// The bucket is the object's, whatever it is called: who asks has made sure
    /// of the name.
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
            Known::There(value) => return Ok(Some(value.to_vec())),
            Known::Absent => return Ok(None),
            Known::Nothing => {}
        }
        if self.shared.stored()?.is_none() {
            return Ok(None);
        }
        let value = self.shared.rows.get(row).inspect_err(|it| self.shared.note_failure(it))?;
        self.shared.cache.borrow_mut().note(row, value.as_deref());
        Ok(value)
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        if let Some(known) = self.shared.cache.borrow().scan(prefix, after) {
            let owned = |(name, value): (&str, &[u8])| (name.to_owned(), value.to_vec());
            return Ok(known.take(most).map(owned).collect());
        }
        if self.shared.stored()?.is_none() {
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
        let stored = shared.stored().map_err(CommitError::Unchanged)?;
        let may_begin = shared.may_begin.take();
        if !may_begin && !shared.has_rows().map_err(CommitError::Unchanged)? {
            shared.wants_to_begin.set(true);
            return Err(CommitError::Unchanged(KvError("the directory was not asked".to_owned())));
        }
        if expected != self.revision {
            return Err(CommitError::Conflict);
        }
        let next = expected.next();
        let may_be_long = |name: &str| match shared.cache.borrow().get(name) {
            Known::There(value) => rows::is_long(value),
            Known::Absent => false,
            Known::Nothing => stored.is_some(),
        };
        let stored = shared.rows.commit(stored, next, &changes, may_be_long);
        let stored = stored.inspect_err(|error| {
            if let CommitError::Failed(error) = error {
                shared.note_failure(error);
            }
            shared.forget();
        })?;
        shared.known.set(Some(Loaded(Some(stored))));
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
