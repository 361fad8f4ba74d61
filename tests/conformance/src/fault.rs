//! The ports of in-process targets: storage in memory with fault injection, a clock that stands
//! still, a log that stores its records, a tokenizer with selectable encodings.

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

use shared_context_wasmtime::{AuditLog, AuditRecord, BpeTokenizer};

use crate::case::Storage;

/// The default encodings of a [`World`].
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
    /// Returns the ports of the core.
    pub fn ports(&self) -> Ports<'_, Self, Self, Self, Self> {
        Ports { kv: self, clock: self, log: self, tokenizer: self }
    }

    /// Sets the behaviour of the storage.
    pub fn set_storage(&self, storage: Storage) {
        self.state().storage = storage;
    }

    /// Limits the tokenizer to these of [`ENCODINGS`].
    pub fn set_encodings(&self, names: &[String]) {
        self.state().encodings = names.to_vec();
    }

    /// Sets the clock.
    pub fn set_clock(&self, now_ms: u64) {
        self.state().now = Timestamp(now_ms);
    }

    /// Returns the records that were logged since the last call.
    pub fn take_records(&self) -> Vec<Value> {
        mem::take(&mut self.state().records)
    }

    /// Returns the ids of at most `limit` sessions or projects after `after`.
    pub fn ids(
        &self,
        kind: ScopeKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, KvError> {
        let after = kind.bucket_name(after.unwrap_or_default());
        self.check_readable()?;
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

    /// Returns an error if reads must fail.
    fn check_readable(&self) -> Result<(), KvError> {
        if self.state().storage == Storage::ReadsFail { Err(injected_failure()) } else { Ok(()) }
    }
}

fn injected_failure() -> KvError {
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
        AuditLog::record(self, record.scope.kind(), record.scope.id(), &record.into());
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
        let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
        if let Some(entry) = &done.entry {
            add("key", entry.key.as_str().into());
            add("version", entry.version.into());
            add("value_tokens", entry.value_tokens.into());
        }
        if let Some(label) = &done.label {
            add("label", label.as_str().into());
        }
        if let Some(reason) = &done.reason {
            add("reason", reason.as_str().into());
        }
        self.state().records.push(shown);
    }
}

impl Kv for World {
    type Bucket = FaultyBucket;

    fn open(&self, name: &str) -> Result<FaultyBucket, KvError> {
        self.check_readable()?;
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
        self.world.check_readable()?;
        self.bucket.get(row)
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        self.world.check_readable()?;
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
            Storage::ReadsFail | Storage::CommitsFail => {
                Err(CommitError::Failed(injected_failure()))
            }
            Storage::CommitsConflict => Err(CommitError::Conflict),
            Storage::AnswersLost => {
                self.bucket.commit(expected, changes)?;
                Err(CommitError::Failed(injected_failure()))
            }
        }
    }
}
