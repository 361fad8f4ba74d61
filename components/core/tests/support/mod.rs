//! A host for tests: in-memory storage that can fail, a manual clock, and a recording
//! log.

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

/// The ways a commit can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The commit did not happen, but the caller gets an unknown result.
    BeforeCommit,
    /// The host reports that the commit did not begin.
    Unchanged,
    /// The commit happened, but the caller gets an unknown result.
    AfterCommit,
    /// Another commit came first.
    Conflict,
}

/// The test host.
#[derive(Debug, Default)]
pub struct TestHost {
    /// The underlying storage, which never fails.
    pub kv: MemoryKv,
    /// The time.
    pub now: Cell<u64>,
    /// The failure of the next commit.
    pub fail_next: Cell<Option<Failure>>,
    /// The failure of the last commit.
    pub failed: Cell<Option<Failure>>,
    /// The number of reads that succeed before one returns [`ReadError::Moved`]; none
    /// does when `None`. It is returned once, unless `moves_on`.
    pub moves_after: Cell<Option<u32>>,
    /// True if every read after that one returns it too.
    pub moves_on: Cell<bool>,
    /// The log.
    pub log: RefCell<Vec<AuditRecord>>,
}

/// A bucket of a [`TestHost`].
#[derive(Debug)]
pub struct TestBucket<'a> {
    inner: MemoryBucket,
    host: &'a TestHost,
}

impl TestHost {
    /// Executes `command` on the session `s` as `who`.
    pub fn ask(&self, who: &str, command: &Command) -> Result<Outcome, Error> {
        let ports = Ports { kv: &self, clock: self, log: self, tokenizer: &NoTokenizer };
        execute(&ports, &Scope::parse(ScopeKind::Session, "s")?, &caller(who)?, command)
    }

    /// Returns the stored rows of the session `s` whose names begin with `prefix`.
    pub fn rows(&self, prefix: &str) -> Vec<Row> {
        let bucket = self.kv.open("session/s").map_err(ReadError::from);
        bucket.and_then(|it| it.scan(prefix, None, u32::MAX)).unwrap_or_default()
    }

    /// Returns [`ReadError::Moved`] if a test scheduled it for this read.
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

/// Returns the caller `who`: a participant, optionally limited to some keys, as in
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
    /// Returns the recorded size of the session `s` as a document.
    pub fn weight(&self) -> Option<u64> {
        self.rows("meta").first().and_then(|(_, row)| weight::stored(row).ok()?)
    }
}
