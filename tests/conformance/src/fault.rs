//! The world that targets give to the rules in process: storage in memory that
//! fails when it is told to, a clock that stands still, a log that remembers.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use shared_context_core::{
    audit::AuditRecord,
    memory::{MemoryBucket, MemoryKv},
    port::{Bucket, Change, Clock, CommitError, Kv, KvError, Log, Revision, Row},
    time::Timestamp,
};

use crate::case::Storage;

/// Storage, clock and log of one target. Clones share them.
#[derive(Debug, Clone)]
pub struct World {
    kv: MemoryKv,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    storage: Storage,
    now: Timestamp,
    records: Vec<Value>,
}

impl Default for World {
    fn default() -> Self {
        let state = State { storage: Storage::Works, now: Timestamp(0), records: Vec::new() };
        Self { kv: MemoryKv::default(), state: Arc::new(Mutex::new(state)) }
    }
}

impl World {
    /// Lets the storage behave as told.
    pub fn set_storage(&self, storage: Storage) {
        self.state().storage = storage;
    }

    /// Sets the clock.
    pub fn set_clock(&self, now_ms: u64) {
        self.state().now = Timestamp(now_ms);
    }

    /// The records given to the log since the last call.
    pub fn take_records(&self) -> Vec<Value> {
        mem::take(&mut self.state().records)
    }

    /// The ids of the sessions that exist, those after `after`, at most `limit`.
    pub fn sessions(&self, after: Option<&str>, limit: usize) -> Result<Vec<String>, KvError> {
        const PREFIX: &str = "session/";
        let after = format!("{PREFIX}{}", after.unwrap_or_default());
        let names = self.read(|| Ok(self.kv.names(Some(&after), limit)))?;
        Ok(names.iter().filter_map(|it| it.strip_prefix(PREFIX)).map(str::to_owned).collect())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, read: impl FnOnce() -> Result<T, KvError>) -> Result<T, KvError> {
        if self.state().storage == Storage::ReadsFail { Err(told_to_fail()) } else { read() }
    }
}

fn told_to_fail() -> KvError {
    KvError("told to fail".to_owned())
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        self.state().now
    }
}

impl Log for World {
    fn record(&self, record: &AuditRecord) {
        let mut shown = json!({
            "session": record.session,
            "revision": record.revision.0,
            "action": record.action.as_str(),
            "participant": record.participant.as_str(),
            "at_ms": record.at.0,
        });
        if let (Some(entry), Some(shown)) = (&record.entry, shown.as_object_mut()) {
            shown.insert("key".to_owned(), entry.key.as_str().into());
            shown.insert("version".to_owned(), entry.version.into());
            shown.insert("value_tokens".to_owned(), entry.value_tokens.0.into());
        }
        self.state().records.push(shown);
    }
}

impl Kv for World {
    type Bucket = FaultyBucket;

    fn open(&self, name: &str) -> Result<FaultyBucket, KvError> {
        let bucket = self.read(|| self.kv.open(name))?;
        Ok(FaultyBucket { bucket, world: self.clone() })
    }
}

/// A bucket of a [`World`].
#[derive(Debug)]
pub struct FaultyBucket {
    bucket: MemoryBucket,
    world: World,
}

impl Bucket for FaultyBucket {
    fn revision(&self) -> Revision {
        self.bucket.revision()
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, KvError> {
        self.world.read(|| self.bucket.get(row))
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, KvError> {
        self.world.read(|| self.bucket.scan(prefix, after, limit))
    }

    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        let storage = self.world.state().storage;
        match storage {
            Storage::Works => self.bucket.commit(expected, changes),
            Storage::ReadsFail | Storage::CommitsFail => Err(CommitError::Failed(told_to_fail())),
            Storage::CommitsConflict => Err(CommitError::Conflict),
            Storage::AnswersLost => {
                self.bucket.commit(expected, changes)?;
                Err(CommitError::Failed(told_to_fail()))
            }
        }
    }
}
