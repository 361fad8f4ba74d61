//! Implements the exports over Spin's interfaces, converting between the types of
//! `hosts/spin/wit` and the core's.
//!
//! Storage failures are logged only here.

#[cfg(not(feature = "sqlite"))]
mod key_value;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::cell::RefCell;

use shared_context_codec::{AuditForm, Time, audit_line};
use shared_context_core::{
    ScopeKind,
    port::{Bucket, Change, CommitError, Kv, KvError, ReadError, Revision},
    time::Timestamp,
};

#[cfg(not(feature = "sqlite"))]
use self::key_value::{Buckets, GUARANTEE, host};
#[cfg(feature = "sqlite")]
use self::sqlite::{Buckets, GUARANTEE, host};
use crate::bindings::{
    exports::shared_context::{
        core::{clock, kv, log, tokenizer},
        spin::buckets,
    },
    wasi::{cli::stderr, clocks::wall_clock},
};

/// The maximum bytes of one call to `blocking-write-and-flush`.
const WRITE_BYTES_MAX: usize = 4096;

thread_local! {
    static BUCKETS: Buckets = Buckets::new(host());
}

/// The implementation of the exports.
pub(crate) struct Storage;

/// An open bucket.
pub(crate) struct OpenBucket(RefCell<<Buckets as Kv>::Bucket>);

impl kv::Guest for Storage {
    type Bucket = OpenBucket;

    fn open(name: String) -> Result<kv::Bucket, String> {
        let bucket = BUCKETS.with(|it| it.open(&name)).map_err(failed)?;
        Ok(kv::Bucket::new(OpenBucket(RefCell::new(bucket))))
    }
}

impl kv::GuestBucket for OpenBucket {
    fn revision(&self) -> u64 {
        self.0.borrow().revision().0
    }

    fn get(&self, row: String) -> Result<Option<Vec<u8>>, kv::ReadError> {
        self.0.borrow().get(&row).map_err(read_error)
    }

    fn scan(
        &self,
        prefix: String,
        after: Option<String>,
        limit: u32,
    ) -> Result<Vec<kv::Row>, kv::ReadError> {
        self.0.borrow().scan(&prefix, after.as_deref(), limit).map_err(read_error)
    }

    fn commit(&self, expected: u64, changes: Vec<kv::Change>) -> Result<u64, kv::CommitError> {
        let changes = changes.into_iter().map(|it| match it {
            kv::Change::Put((row, value)) => Change::Put(row, value),
            kv::Change::Delete(row) => Change::Delete(row),
            kv::Change::DeletePrefix(prefix) => Change::DeletePrefix(prefix),
        });
        let committed = self.0.borrow_mut().commit(Revision(expected), changes.collect());
        committed.map(|it| it.0).map_err(|error| match error {
            CommitError::Conflict => kv::CommitError::Conflict,
            CommitError::Unchanged(error) => kv::CommitError::Unchanged(failed(error)),
            CommitError::Failed(error) => kv::CommitError::Failed(failed(error)),
        })
    }
}

impl clock::Guest for Storage {
    fn now_ms() -> u64 {
        let now = wall_clock::now();
        now.seconds.saturating_mul(1000).saturating_add((now.nanoseconds / 1_000_000).into())
    }
}

impl log::Guest for Storage {
    fn audit(scope: log::Scope, done: log::AuditRecord) {
        let (kind, id) = match &scope {
            log::Scope::Session(id) => (ScopeKind::Session, id),
            log::Scope::Project(id) => (ScopeKind::Project, id),
        };
        // A field added to the contract breaks the build until the log line includes it.
        let log::AuditRecord { revision, action, participant, at_ms, entry, label, reason, round } =
            &done;
        write_line(&audit_line(
            kind,
            id,
            &AuditForm {
                revision: *revision,
                action,
                written_by: participant,
                written_at: Time(Timestamp(*at_ms)),
                key: entry.as_ref().map(|it| it.key.as_str()),
                version: entry.as_ref().map(|it| it.version),
                value_size_tokens: entry.as_ref().map(|it| it.value_tokens),
                label: label.as_deref(),
                reason: reason.as_deref(),
                round: *round,
            },
        ));
    }
}

impl tokenizer::Guest for Storage {
    fn encodings() -> Vec<String> {
        Vec::new()
    }

    fn count(_: String, _: String) -> Option<u32> {
        None
    }
}

impl buckets::Guest for Storage {
    fn promises() -> buckets::Guarantee {
        GUARANTEE
    }

    fn names(prefix: String, after: Option<String>, limit: u32) -> Result<Vec<String>, String> {
        BUCKETS.with(|it| it.names(&prefix, after.as_deref(), limit)).map_err(failed)
    }

    fn revision(name: String) -> Result<u64, String> {
        BUCKETS.with(|it| it.revision(&name)).map(|it| it.0).map_err(failed)
    }
}

fn read_error(error: ReadError) -> kv::ReadError {
    match error {
        ReadError::Moved => kv::ReadError::Moved,
        ReadError::Failed(error) => kv::ReadError::Failed(failed(error)),
    }
}

/// Logs a storage failure and returns its text.
fn failed(error: KvError) -> String {
    write_line(&crate::log::failure(&error));
    error.0
}

/// Writes `line` to stderr, which Spin captures as the log.
fn write_line(line: &str) {
    let stderr = stderr::get_stderr();
    for part in format!("{line}\n").as_bytes().chunks(WRITE_BYTES_MAX) {
        // A call does not fail because its log line cannot be written.
        let _ = stderr.blocking_write_and_flush(part);
    }
}
