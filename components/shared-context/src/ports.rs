//! The component's imports as the core's ports, and conversions of shared types.

use shared_context_codec::{Caller, Credential, Failure};
use shared_context_core::{
    Scope, audit,
    port::{
        Bucket, Change, Clock, CommitError, Kv, KvError, Log, Ports, ReadError, Revision, Row,
        Tokenizer,
    },
    time::Timestamp,
};

use crate::bindings::shared_context::core::{clock, kv, log, tokenizer, types};

/// All ports of the host.
pub(crate) const PORTS: Ports<'static, HostKv, HostClock, HostLog, HostTokenizer> =
    Ports { kv: &HostKv, clock: &HostClock, log: &HostLog, tokenizer: &HostTokenizer };

/// The host's storage.
pub(crate) struct HostKv;

impl Kv for HostKv {
    type Bucket = kv::Bucket;

    fn open(&self, name: &str) -> Result<kv::Bucket, KvError> {
        kv::open(name).map_err(KvError)
    }
}

impl Bucket for kv::Bucket {
    fn revision(&self) -> Revision {
        Revision(Self::revision(self))
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        Self::get(self, row).map_err(read_error)
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        Self::scan(self, prefix, after, limit).map_err(read_error)
    }

    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        let changes: Vec<kv::Change> = changes
            .into_iter()
            .map(|it| match it {
                Change::Put(row, value) => kv::Change::Put((row, value)),
                Change::Delete(row) => kv::Change::Delete(row),
                Change::DeletePrefix(prefix) => kv::Change::DeletePrefix(prefix),
            })
            .collect();
        Self::commit(self, expected.0, &changes).map(Revision).map_err(|err| match err {
            kv::CommitError::Conflict => CommitError::Conflict,
            kv::CommitError::Unchanged(why) => CommitError::Unchanged(KvError(why)),
            kv::CommitError::Failed(why) => CommitError::Failed(KvError(why)),
        })
    }
}

fn read_error(it: kv::ReadError) -> ReadError {
    match it {
        kv::ReadError::Moved => ReadError::Moved,
        kv::ReadError::Failed(why) => ReadError::Failed(KvError(why)),
    }
}

/// The host's clock.
pub(crate) struct HostClock;

impl Clock for HostClock {
    fn now(&self) -> Timestamp {
        Timestamp(clock::now_ms())
    }
}

/// The host's log.
pub(crate) struct HostLog;

impl Log for HostLog {
    fn record(&self, record: &audit::AuditRecord) {
        log::audit(&scope(&record.scope), &audit_record(record));
    }
}

/// The host's tokenizer.
pub(crate) struct HostTokenizer;

impl Tokenizer for HostTokenizer {
    fn encodings(&self) -> Vec<String> {
        tokenizer::encodings()
    }

    fn count(&self, encoding: &str, text: &str) -> Option<u32> {
        tokenizer::count(encoding, text)
    }
}

/// Converts the caller that the host identified.
pub(crate) fn caller(it: types::Caller) -> Caller {
    let credential =
        it.credential.map(|it| Credential { incarnation: it.incarnation, epoch: it.epoch });
    Caller { participant: it.participant, credential, keys: it.keys, session: it.session }
}

/// Converts an error to its WIT type.
pub(crate) fn error(it: impl Into<Failure>) -> types::Error {
    let Failure { code, message, details } = it.into();
    types::Error { code: code.into_owned(), message, details }
}

/// Converts a scope to its WIT type.
fn scope(it: &Scope) -> types::Scope {
    match it {
        Scope::Session(id) => types::Scope::Session(id.to_string()),
        Scope::Project(id) => types::Scope::Project(id.to_string()),
    }
}

/// Converts an audit record to its WIT type.
pub(crate) fn audit_record(it: &audit::AuditRecord) -> types::AuditRecord {
    types::AuditRecord {
        revision: it.revision.0,
        action: it.action.as_str().to_owned(),
        participant: it.participant.as_str().to_owned(),
        at_ms: it.at.0,
        entry: it.entry.as_ref().map(|it| types::AuditEntry {
            key: it.key.as_str().to_owned(),
            version: it.version,
            value_tokens: it.value_tokens.0,
        }),
        label: it.label.as_ref().map(|it| it.as_str().to_owned()),
        reason: it.reason.as_ref().map(|it| it.as_str().to_owned()),
        round: it.round,
    }
}
