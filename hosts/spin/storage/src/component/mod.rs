//! The exports, over what Spin gives: words of `hosts/spin/wit` into ours and back.
//!
//! Why the storage failed is told in the log here: nobody else does.

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

/// What a call to `blocking-write-and-flush` takes at most.
const WRITE_BYTES_MAX: usize = 4096;

thread_local! {
    static BUCKETS: Buckets = Buckets::new(host());
}

/// What the exports are implemented on.
pub(crate) struct Storage;

/// A bucket that was opened.
pub(crate) struct Opened(RefCell<<Buckets as Kv>::Bucket>);

impl kv::Guest for Storage {
    type Bucket = Opened;

    fn open(name: String) -> Result<kv::Bucket, String> {
        let bucket = BUCKETS.with(|it| it.open(&name)).map_err(failed)?;
        Ok(kv::Bucket::new(Opened(RefCell::new(bucket))))
    }
}

impl kv::GuestBucket for Opened {
    fn revision(&self) -> u64 {
        self.0.borrow().revision().0
    }

    fn get(&self, row: String) -> Result<Option<Vec<u8>>, kv::ReadError> {
        self.0.borrow().get(&row).map_err(not_read)
    }

    fn scan(
        &self,
        prefix: String,
        after: Option<String>,
        limit: u32,
    ) -> Result<Vec<kv::Row>, kv::ReadError> {
        self.0.borrow().scan(&prefix, after.as_deref(), limit).map_err(not_read)
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
        // A field that the contract gains does not build until it is in the line.
        let log::AuditRecord { revision, action, participant, at_ms, entry, label, reason, round } =
            &done;
        tell(&audit_line(
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

fn not_read(error: ReadError) -> kv::ReadError {
    match error {
        ReadError::Moved => kv::ReadError::Moved,
        ReadError::Failed(error) => kv::ReadError::Failed(failed(error)),
    }
}

/// Tells why the storage failed, and returns it.
fn failed(error: KvError) -> String {
    tell(&crate::log::failure(&error));
    error.0
}

/// Writes `line` to where Spin keeps the log.
fn tell(line: &str) {
    let stderr = stderr::get_stderr();
    for part in format!("{line}\n").as_bytes().chunks(WRITE_BYTES_MAX) {
        // A log that cannot be written to is no reason to fail.
        let _ = stderr.blocking_write_and_flush(part);
    }
}
