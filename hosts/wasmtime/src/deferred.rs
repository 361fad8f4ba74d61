//! Storage that queues commits instead of waiting for them, for requests of the server.
//!
//! A commit returns at once as if it had succeeded, so that the instance is free while the
//! disk works. The caller of an attempt holds back all its effects, the reply and the audit
//! records, until the outcome is known. That keeps the promise of [`Bucket::commit`]. The
//! wait is in `engine`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared_context_core::ScopeKind;
use shared_context_core::port::{
    Bucket, Change, CommitError, Kv, KvError, ReadError, Revision, Row,
};
use tokio::sync::mpsc;

use crate::{
    SqliteBucket, SqliteKv,
    log::{AuditLog, AuditRecord},
};

/// Storage and log for one attempt at one request. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    kv: SqliteKv,
    /// False for a read. If it commits after all, it is repeated with the write lock.
    may_commit: bool,
    effects: Arc<Mutex<Effects>>,
}

/// The effects of an attempt.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// The outcome of its commit, if it made one. A second outcome follows if the first was
    /// in doubt and the commit is found to be made.
    pub(crate) commit: Option<mpsc::UnboundedReceiver<Result<Revision, CommitError>>>,
    /// The audit records of that commit.
    pub(crate) records: Vec<AuditRecord>,
    /// True if it tried to commit without the write lock.
    pub(crate) needs_write_lock: bool,
}

impl Attempt {
    pub(crate) fn new(kv: SqliteKv, may_commit: bool) -> Self {
        Self { kv, may_commit, effects: Arc::default() }
    }

    /// Takes out the effects so far.
    pub(crate) fn take(&self) -> Effects {
        std::mem::take(&mut *self.effects())
    }

    fn effects(&self) -> MutexGuard<'_, Effects> {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kv for Attempt {
    type Bucket = DeferredBucket;

    fn open(&self, name: &str) -> Result<DeferredBucket, KvError> {
        Ok(DeferredBucket { bucket: self.kv.open(name)?, attempt: self.clone() })
    }
}

impl AuditLog for Attempt {
    /// Holds back `done`. All records of an attempt are about its one scope.
    fn record(&self, _: ScopeKind, _: &str, done: &AuditRecord) {
        self.effects().records.push(done.clone());
    }
}

/// A bucket that reads like [`SqliteBucket`] and queues its commit.
#[derive(Debug)]
pub(crate) struct DeferredBucket {
    bucket: SqliteBucket,
    attempt: Attempt,
}

impl Bucket for DeferredBucket {
    fn revision(&self) -> Revision {
        self.bucket.revision()
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        self.bucket.get(row)
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        self.bucket.scan(prefix, after, limit)
    }

    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        self.bucket.spend();
        let rejected = |why: &str| Err(CommitError::Unchanged(KvError(why.to_owned())));
        let mut effects = self.attempt.effects();
        if !self.attempt.may_commit {
            effects.needs_write_lock = true;
            return rejected("a reader wants to commit");
        }
        if effects.commit.is_some() {
            return rejected("a second commit in one request");
        }
        let (done, outcome) = mpsc::unbounded_channel();
        effects.commit = Some(outcome);
        let done = move |it| drop(done.send(it));
        self.attempt.kv.submit(self.bucket.name(), expected, changes, done);
        Ok(expected.next())
    }
}
