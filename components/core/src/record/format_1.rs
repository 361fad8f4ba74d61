//! The records of format 1 that differ from format 2: sessions without history,
//! snapshots, access lists and expiry.

use serde::Deserialize;

use super::{
    change::{ChangeRecord, EventRecord},
    entry,
    meta::{self, RetentionRecord},
    request::{self, DeletedRecord, WrittenRecord},
};

/// An entry.
#[derive(Deserialize)]
pub(super) struct EntryRecord {
    written_by: String,
    written_at_ms: u64,
    version: u64,
    value_tokens: u32,
    revision: u64,
}

impl From<EntryRecord> for entry::EntryRecord {
    fn from(it: EntryRecord) -> Self {
        Self {
            written_by: it.written_by,
            written_at_ms: it.written_at_ms,
            version: it.version,
            value_tokens: it.value_tokens,
            // Only the history budget uses it, so an estimate is enough.
            value_bytes: it.value_tokens.saturating_mul(4),
            revision: it.revision,
            // No earlier version is stored under this key, so none can be confused with
            // it.
            created: 0,
            touched: it.revision,
            expires_at_ms: None,
            readable_by: Vec::new(),
            writable_by: Vec::new(),
            keeps_history: true,
            is_redacted: false,
        }
    }
}

/// The metadata of a session.
#[derive(Deserialize)]
pub(super) struct MetaRecord {
    is_archived: bool,
    incarnation: u64,
    credential_epoch: u64,
    created_at_ms: u64,
    changed_at_ms: u64,
    estimator: String,
    value_tokens_max: u32,
    store_tokens_max: u32,
    keys_max: u32,
    has_own_namespace: bool,
    key_count: u32,
    total_tokens: u32,
}

impl From<MetaRecord> for meta::MetaRecord {
    fn from(it: MetaRecord) -> Self {
        Self {
            is_archived: it.is_archived,
            incarnation: it.incarnation,
            first_revision: it.incarnation,
            credential_epoch: it.credential_epoch,
            created_at_ms: it.created_at_ms,
            changed_at_ms: it.changed_at_ms,
            estimator: it.estimator,
            value_tokens_max: it.value_tokens_max,
            store_tokens_max: it.store_tokens_max,
            keys_max: it.keys_max,
            has_own_namespace: it.has_own_namespace,
            key_count: it.key_count,
            total_tokens: it.total_tokens,
            retention: RetentionRecord::default(),
            ttl_default_seconds: None,
            allows_prefixes: false,
            has_rules: false,
            revision_offset: 0,
            // It is unknown. This value means that an entry changed last.
            entries_revision: u64::MAX,
            next_expiry_ms: None,
            history_versions: 0,
            history_bytes: 0,
            snapshots: Vec::new(),
        }
    }
}

/// The one event of a commit.
#[derive(Deserialize)]
pub(super) struct AuditRecord {
    action: String,
    participant: String,
    at_ms: u64,
    entry: Option<(String, u64, u32)>,
    request_row: Option<String>,
}

impl From<AuditRecord> for ChangeRecord {
    fn from(it: AuditRecord) -> Self {
        let event = EventRecord {
            action: it.action,
            participant: it.participant,
            entry: it.entry,
            readable_by: Vec::new(),
            label: None,
            reason: None,
        };
        Self { at_ms: it.at_ms, request_row: it.request_row, events: vec![event] }
    }
}

/// The reply to the first execution of a request.
#[derive(Deserialize)]
pub(super) struct RequestRecord {
    digest: [u8; 16],
    revision: u64,
    answer: AnswerRecord,
}

#[derive(Deserialize)]
enum AnswerRecord {
    Written { key: String, entry: EntryRecord, warnings: Vec<(String, String)> },
    Deleted { key: String, previous_version: u64 },
}

impl From<RequestRecord> for request::RequestRecord {
    fn from(it: RequestRecord) -> Self {
        let answer = match it.answer {
            AnswerRecord::Written { key, entry, warnings } => {
                request::AnswerRecord::Written(WrittenRecord { key, entry: entry.into(), warnings })
            }
            AnswerRecord::Deleted { key, previous_version } => {
                request::AnswerRecord::Deleted(DeletedRecord { key, previous_version })
            }
        };
        Self { digest: it.digest, revision: it.revision, answer }
    }
}
