//! A host for tests: memory that can fail, a clock set by hand, a log that is
//! kept.

use std::cell::{Cell, RefCell};

use shared_context_core::{
    Caller, Command, Error, Outcome, Scope, ScopeKind,
    audit::AuditRecord,
    execute,
    memory_kv::{MemoryBucket, MemoryKv},
    pattern::KeyPatterns,
    port::{
        Bucket, Change, Clock, CommitError, Kv, KvError, Log, NoTokenizer, Ports, ReadError,
        Revision, Row,
    },
    time::Timestamp,
    weight,
};

/// How a commit can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// It did not happen, and the caller is told that this is not known.
    BeforeCommit,
    /// The host says that it did not begin.
    Unchanged,
    /// It happened, and the caller is told that this is not known.
    AfterCommit,
    /// Another one came first.
    Conflict,
}

/// The host.
#[derive(Debug, Default)]
pub struct TestHost {
    /// The storage beneath the failures.
    pub kv: MemoryKv,
    /// The time.
    pub now: Cell<u64>,
    /// How the next commit fails.
    pub fail_next: Cell<Option<Failure>>,
    /// How the last commit failed.
    pub failed: Cell<Option<Failure>>,
    /// How many reads succeed until one is told that the bucket has moved; none is
    /// while it is `None`. Told once, unless `moves_on`.
    pub moves_after: Cell<Option<u32>>,
    /// Whether every read after that one is told so too.
    pub moves_on: Cell<bool>,
    /// What was logged.
    pub log: RefCell<Vec<AuditRecord>>,
}

/// A bucket of a [`TestHost`].
#[derive(Debug)]
pub struct TestBucket<'a> {
    inner: MemoryBucket,
    host: &'a TestHost,
}

impl TestHost {
    /// Performs `command` on the session `s` as `who`.
    pub fn ask(&self, who: &str, command: &Command) -> Result<Outcome, Error> {
        let ports = Ports { kv: &self, clock: self, log: self, tokenizer: &NoTokenizer };
        execute(&ports, &Scope::parse(ScopeKind::Session, "s")?, &caller(who)?, command)
    }

    /// Returns the stored rows of the session `s` whose names begin with `prefix`.
    pub fn rows(&self, prefix: &str) -> Vec<Row> {
        let bucket = self.kv.open("session/s").map_err(ReadError::from);
        bucket.and_then(|it| it.scan(prefix, None, u32::MAX)).unwrap_or_default()
    }

    /// Returns true if the bucket still is as it was when it was opened, as far as a reader
    /// is told.
    fn read(&self) -> Result<(), ReadError> {
        match self.moves_after.get() {
            None => Ok(()),
            Some(0) => {
                self.moves_after.set(self.moves_on.get().then_some(0));
                Err(ReadError::Moved)
            }
            Some(left) => {
                self.moves_after.set(Some(left - 1));
                Ok(())
            }
        }
    }
}

/// Returns the caller `who`: a participant, or one that is limited to some keys, as in
/// `subagent:a only inv_*,scope`.
fn caller(who: &str) -> Result<Caller, Error> {
    let Some((participant, keys)) = who.split_once(" only ") else { return Caller::trusted(who) };
    let keys: Vec<&str> = keys.split(',').collect();
    Caller::trusted(participant)?.limited_to(KeyPatterns::parse(&keys)?)
}

impl<'a> Kv for &'a TestHost {
    type Bucket = TestBucket<'a>;

    fn open(&self, name: &str) -> Result<TestBucket<'a>, KvError> {
        Ok(TestBucket { inner: self.kv.open(name)?, host: self })
    }
}

impl Clock for TestHost {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.get())
    }
}

impl Log for TestHost {
    fn record(&self, record: &AuditRecord) {
        self.log.borrow_mut().push(record.clone());
    }
}

impl Bucket for TestBucket<'_> {
    fn revision(&self) -> Revision {
        self.inner.revision()
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        self.host.read()?;
        self.inner.get(row)
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        self.host.read()?;
        self.inner.scan(prefix, after, limit)
    }

    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        let failure = self.host.fail_next.take();
        self.host.failed.set(failure);
        let unknown = || CommitError::Failed(KvError("injected".to_owned()));
        match failure {
            None => self.inner.commit(expected, changes),
            Some(Failure::Conflict) => Err(CommitError::Conflict),
            Some(Failure::Unchanged) => Err(CommitError::Unchanged(KvError("injected".to_owned()))),
            Some(Failure::BeforeCommit) => Err(unknown()),
            Some(Failure::AfterCommit) => {
                self.inner.commit(expected, changes)?;
                Err(unknown())
            }
        }
    }
}

impl TestHost {
    /// Returns what the session `s` is stored to take as a document.
    pub fn weight(&self) -> Option<u64> {
        self.rows("meta").first().and_then(|(_, row)| weight::stored(row).ok()?)
    }
}
