//! Storage that keeps commits for later instead of waiting for them, for requests of the
//! server.
//!
//! A commit returns at once as if it had succeeded, so that the instance is free while the
//! disk works. The caller of an attempt submits it, with what the reply says about the next
//! expiry, and holds back all its effects, the reply and the audit records, until the outcome
//! is known. That keeps the promise of [`Bucket::commit`]. The wait is in `engine`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared_context_core::ScopeKind;
use shared_context_core::port::{
    Bucket, Change, CommitError, Kv, KvError, ReadError, Revision, Row,
};
use tokio::sync::mpsc;

use crate::{
    SqliteBucket, SqliteKv,
    log::{AuditLog, AuditRecord},
    sqlite::NextExpiry,
};

/// Storage and log for one attempt at one request. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    kv: SqliteKv,
    /// False for a read. If it commits after all, the attempt is discarded and repeated with
    /// the write lock.
    may_commit: bool,
    /// The bucket that was opened already.
    opened: Arc<Mutex<Option<SqliteBucket>>>,
    effects: Arc<Mutex<Effects>>,
}

/// The outcome of a commit. A second one follows if the first was in doubt and the commit is
/// found to be made.
pub(crate) type Outcome = mpsc::UnboundedReceiver<Result<Revision, CommitError>>;

/// The effects of an attempt.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Its commit, if it made one.
    pub(crate) commit: Option<DeferredCommit>,
    /// The audit records of that commit.
    pub(crate) records: Vec<AuditRecord>,
    /// True if it tried to commit without the write lock.
    pub(crate) needs_write_lock: bool,
}

/// A commit that is not submitted yet.
#[derive(Debug)]
pub(crate) struct DeferredCommit {
    bucket: String,
    expected: Revision,
    changes: Vec<Change>,
}

impl DeferredCommit {
    /// Queues the commit at `kv`, with the `next` expiry of its bucket.
    pub(crate) fn submit(self, kv: &SqliteKv, next: NextExpiry) -> Outcome {
        let Self { bucket, expected, changes } = self;
        let (done, outcome) = mpsc::unbounded_channel();
        kv.submit(&bucket, expected, changes, next, move |it| drop(done.send(it)));
        outcome
    }
}

impl Attempt {
    pub(crate) fn new(kv: SqliteKv, may_commit: bool) -> Self {
        Self { kv, may_commit, opened: Arc::default(), effects: Arc::default() }
    }

    /// Opens the bucket `name` before the attempt does, and returns its revision.
    pub(crate) fn open_early(&self, name: &str) -> Result<Revision, KvError> {
        let bucket = self.kv.open(name)?;
        let revision = bucket.revision();
        *self.opened() = Some(bucket);
        Ok(revision)
    }

    fn opened(&self) -> MutexGuard<'_, Option<SqliteBucket>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
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
        let opened = self.opened().take_if(|it| it.name() == name);
        let bucket = opened.map_or_else(|| self.kv.open(name), Ok)?;
        Ok(DeferredBucket { bucket, attempt: self.clone() })
    }
}

impl AuditLog for Attempt {
    /// Holds back `done`. All records of an attempt are about its one scope.
    fn record(&self, _: ScopeKind, _: &str, done: &AuditRecord) {
        self.effects().records.push(done.clone());
    }
}

/// A bucket that reads like [`SqliteBucket`] and keeps its commit for later.
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
        let mut effects = self.attempt.effects();
        if !self.attempt.may_commit {
            // No error: nothing failed, and every expiry begins like this.
            effects.needs_write_lock = true;
            return Ok(expected.next());
        }
        if effects.commit.is_some() {
            let reason = "a second commit in one request".to_owned();
            return Err(CommitError::Unchanged(KvError(reason)));
        }
        let bucket = self.bucket.name().to_owned();
        effects.commit = Some(DeferredCommit { bucket, expected, changes });
        Ok(expected.next())
    }
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;
    use crate::SqliteOptions;

    /// Each expiry was once logged as a failure of the storage: its first attempt, without
    /// the write lock, got an error for its commit.
    #[test]
    fn a_commit_without_the_lock_is_discarded_without_error() {
        let folder = tempdir().unwrap();
        let kv = SqliteKv::open(folder.path(), &SqliteOptions::default()).unwrap();
        let attempt = Attempt::new(kv.clone(), false);
        let mut bucket = attempt.open("session/s").unwrap();
        let row = Change::Put("a".to_owned(), b"1".to_vec());
        assert_eq!(bucket.commit(Revision(0), vec![row]), Ok(Revision(1)));
        let effects = attempt.take();
        assert!(effects.needs_write_lock && effects.commit.is_none());
        assert_eq!(kv.open("session/s").unwrap().revision(), Revision(0));
    }
}
