//! Storage whose commits are queued, not awaited: what the component gets while
//! it serves the server.
//!
//! A commit answers at once as if it had succeeded, so that the instance is free
//! again while the disk works. Whoever made the attempt holds back all that the
//! component said, its reply and its audit records, until the outcome is known;
//! that is how the promise of [`Bucket::commit`] is kept. Not here: that wait.

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

/// The storage and the log of one attempt at one request. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    kv: SqliteKv,
    /// Whether it may commit; a reader that wants to has to take its turn.
    may_commit: bool,
    said: Arc<Mutex<Said>>,
}

/// What the component did in an attempt.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// The outcome of its commit, when there is one; a second follows where the first
    /// was in doubt and the commit was made all the same.
    pub(crate) commit: Option<mpsc::UnboundedReceiver<Result<Revision, CommitError>>>,
    /// The audit records of that commit.
    pub(crate) records: Vec<AuditRecord>,
    /// Whether it wanted to commit and was not let.
    pub(crate) wants_turn: bool,
}

impl Attempt {
    pub(crate) fn new(kv: SqliteKv, may_commit: bool) -> Self {
        Self { kv, may_commit, said: Arc::default() }
    }

    /// Takes out what was said so far.
    pub(crate) fn take(&self) -> Said {
        std::mem::take(&mut *self.said())
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kv for Attempt {
    type Bucket = DeferredBucket;

    fn open(&self, name: &str) -> Result<DeferredBucket, KvError> {
        Ok(DeferredBucket { bucket: self.kv.open(name)?, attempt: self.clone() })
    }
}

impl AuditLog for Attempt {
    /// Keeps `done`. An attempt is about one scope, as all that is told in it.
    fn record(&self, _: ScopeKind, _: &str, done: &AuditRecord) {
        self.said().records.push(done.clone());
    }
}

/// A bucket that reads as [`SqliteBucket`] and commits as this file says.
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
        let refused = |why: &str| Err(CommitError::Unchanged(KvError(why.to_owned())));
        let mut said = self.attempt.said();
        if !self.attempt.may_commit {
            said.wants_turn = true;
            return refused("a reader wants to commit");
        }
        if said.commit.is_some() {
            return refused("a second commit in one request");
        }
        let (done, outcome) = mpsc::unbounded_channel();
        said.commit = Some(outcome);
        let done = move |it| drop(done.send(it));
        self.attempt.kv.submit(self.bucket.name(), expected, changes, done);
        Ok(expected.next())
    }
}
