//! The world that targets give to the rules in process: storage in memory that
//! fails when it is told to, a clock that stands still, a log that remembers, a
//! tokenizer that loses encodings when it is told to.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use shared_context_core::{
    ScopeKind, audit,
    memory_kv::{MemoryBucket, MemoryKv},
    port::{
        Bucket, Change, Clock, CommitError, Kv, KvError, Log, Ports, ReadError, Revision, Row,
        Tokenizer,
    },
    time::Timestamp,
};

use shared_context_wasmtime::{
    AuditLog, AuditRecord, BpeTokenizer, bindings::shared_context::core::types::AuditEntry,
};

use crate::case::Storage;

/// The encodings of a [`World`] that was not told to lose any.
pub const ENCODINGS: [&str; 2] = ["o200k_base", "cl100k_base"];

/// Storage, clock, log and tokenizer of one target. Clones share them.
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
    encodings: Vec<String>,
}

impl Default for World {
    fn default() -> Self {
        let state = State {
            storage: Storage::Works,
            now: Timestamp(0),
            records: Vec::new(),
            encodings: ENCODINGS.map(str::to_owned).to_vec(),
        };
        Self { kv: MemoryKv::default(), state: Arc::new(Mutex::new(state)) }
    }
}

impl World {
    /// Returns all that the rules may use.
    pub fn ports(&self) -> Ports<'_, Self, Self, Self, Self> {
        Ports { kv: self, clock: self, log: self, tokenizer: self }
    }

    /// Lets the storage behave as told.
    pub fn set_storage(&self, storage: Storage) {
        self.state().storage = storage;
    }

    /// Counts with these of [`ENCODINGS`] and no others.
    pub fn set_encodings(&self, names: &[String]) {
        self.state().encodings = names.to_vec();
    }

    /// Sets the clock.
    pub fn set_clock(&self, now_ms: u64) {
        self.state().now = Timestamp(now_ms);
    }

    /// Returns the records given to the log since the last call.
    pub fn take_records(&self) -> Vec<Value> {
        mem::take(&mut self.state().records)
    }

    /// Returns the ids of the sessions or projects that exist, those after `after`, at most
    /// `limit`.
    pub fn ids(
        &self,
        kind: ScopeKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, KvError> {
        let after = kind.bucket_name(after.unwrap_or_default());
        self.readable()?;
        let names = self.kv.names(Some(&after), limit);
        Ok(names
            .iter()
            .filter_map(|it| it.strip_prefix(kind.prefix()))
            .map(str::to_owned)
            .collect())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether reads succeed.
    fn readable(&self) -> Result<(), KvError> {
        if self.state().storage == Storage::ReadsFail { Err(told_to_fail()) } else { Ok(()) }
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

impl Tokenizer for World {
    fn encodings(&self) -> Vec<String> {
        self.state().encodings.clone()
    }

    fn count(&self, encoding: &str, text: &str) -> Option<u32> {
        let is_there = self.encodings().iter().any(|it| it == encoding);
        is_there.then(|| BpeTokenizer.count(encoding, text)).flatten()
    }
}

impl Log for World {
    fn record(&self, record: &audit::AuditRecord) {
        let entry = record.entry.as_ref().map(|it| AuditEntry {
            key: it.key.as_str().to_owned(),
            version: it.version,
            value_tokens: it.value_tokens.0,
        });
        let done = AuditRecord {
            revision: record.revision.0,
            action: record.action.as_str().to_owned(),
            participant: record.participant.as_str().to_owned(),
            at_ms: record.at.0,
            entry,
            label: record.label.as_ref().map(|it| it.as_str().to_owned()),
            reason: record.reason.as_ref().map(|it| it.as_str().to_owned()),
            round: record.round,
        };
        AuditLog::record(self, record.scope.kind(), record.scope.id(), &done);
    }
}

impl AuditLog for World {
    fn record(&self, kind: ScopeKind, id: &str, done: &AuditRecord) {
        let mut shown = json!({
            (kind.as_str()): id,
            "revision": done.revision,
            "action": done.action,
            "participant": done.participant,
            "at_ms": done.at_ms,
        });
        let Some(members) = shown.as_object_mut() else { return };
        let mut tell = |name: &str, value: Value| members.insert(name.to_owned(), value);
        if let Some(entry) = &done.entry {
            tell("key", entry.key.as_str().into());
            tell("version", entry.version.into());
            tell("value_tokens", entry.value_tokens.into());
        }
        if let Some(label) = &done.label {
            tell("label", label.as_str().into());
        }
        if let Some(reason) = &done.reason {
            tell("reason", reason.as_str().into());
        }
        self.state().records.push(shown);
    }
}

impl Kv for World {
    type Bucket = FaultyBucket;

    fn open(&self, name: &str) -> Result<FaultyBucket, KvError> {
        self.readable()?;
        Ok(FaultyBucket { bucket: self.kv.open(name)?, world: self.clone() })
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

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        self.world.readable()?;
        self.bucket.get(row)
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        self.world.readable()?;
        self.bucket.scan(prefix, after, limit)
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
