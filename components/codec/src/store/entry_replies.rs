//! Replies about entries: metadata, values, history.

use serde::Serialize;
use shared_context_core::{
    Key,
    pattern::Participants,
    reply::{
        BatchWritten, Deleted, EntriesRead, EntryRead, History, Listing, PastVersion, Redacted,
        Shown, Written,
    },
    store::{Entry, warning::Warning},
};

use crate::json::Time;

/// What is known of an entry, without its value.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "entry_info"))]
pub(crate) struct EntryForm<'a> {
    /// The key.
    key: &'a str,
    #[serde(flatten)]
    about: AboutEntry<'a>,
}

/// One entry and its value.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "read_reply"))]
pub(crate) struct ReadReply<'a> {
    /// The key.
    key: &'a str,
    /// The value.
    value: &'a str,
    #[serde(flatten)]
    about: AboutEntry<'a>,
}

/// Members of an entry's reply besides its key and value.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AboutEntry<'a> {
    /// Who wrote this version.
    written_by: &'a str,
    /// When, UTC.
    written_at: Time,
    /// 1 for a new key, one more at each write.
    version: u64,
    /// Size of the value in tokens.
    value_size_tokens: u32,
    /// The session's revision at which this version was written.
    revision: u64,
    /// When it will be gone, UTC. Absent when it stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Time>,
    /// Who may read it, as patterns. Absent when everyone may.
    #[serde(skip_serializing_if = "Option::is_none")]
    readable_by: Option<Vec<&'a str>>,
    /// Who may write it, as patterns. Absent when everyone may who reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    writable_by: Option<Vec<&'a str>>,
    /// False when its earlier versions are not kept; absent when they are.
    #[serde(skip_serializing_if = "is_true")]
    history: bool,
    /// False when you may not read its value, which only the orchestrator sees;
    /// absent when you may.
    #[serde(skip_serializing_if = "is_true")]
    readable: bool,
    /// True when you may not write it; absent when you may.
    #[serde(skip_serializing_if = "is_false")]
    read_only: bool,
}

/// All entries without values, and the store's totals.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "list_reply"))]
pub(crate) struct ListReply<'a> {
    /// The entries, by key.
    keys: Vec<EntryForm<'a>>,
    /// Sum of the sizes of all values of the store.
    total_tokens: u32,
    /// The most that sum may be.
    max_tokens: u32,
    /// Number of entries listed.
    key_count: usize,
    /// The session's revision.
    revision: u64,
}

/// Nothing asked for changed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "unchanged_reply"))]
pub(crate) struct UnchangedReply {
    /// True.
    pub(crate) unchanged: bool,
    /// The revision it is of.
    pub(crate) revision: u64,
}

/// Several entries and their values.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "read_batch_reply"))]
pub(crate) struct BatchReadReply<'a> {
    /// The entries found, in the order they were asked for.
    entries: Vec<ReadReply<'a>>,
    /// The keys that do not exist, or whose values you may not read.
    missing: Vec<&'a str>,
    /// The session's revision.
    revision: u64,
}

/// What a write did.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "write_reply"))]
pub(crate) struct WriteReply<'a> {
    /// The key.
    key: &'a str,
    /// Its version now.
    version: u64,
    /// Who wrote it: you.
    written_by: &'a str,
    /// When, UTC.
    written_at: Time,
    /// Size of the value in tokens.
    value_size_tokens: u32,
    /// The session's revision at which it was written.
    revision: u64,
    /// When it will be gone, UTC. Absent when it stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Time>,
    /// Remarks; they never altered what was stored. Absent when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningForm<'a>>,
}

/// A remark on a write.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "warning"))]
pub(crate) struct WarningForm<'a> {
    /// `NEAR_LIMIT`, `DISTILL`, `OUTSIDE_NAMESPACE`, `LOOKS_RAW`,
    /// `LOOKS_SENSITIVE`, `STALE_KEYS` or `SIMILAR_KEY`.
    code: &'static str,
    /// What to consider.
    message: &'a str,
}

/// What a delete did.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "delete_reply"))]
pub(crate) struct DeleteReply<'a> {
    /// The key that is gone.
    deleted: &'a str,
    /// The version it had.
    previous_version: u64,
    /// The session's revision after the delete.
    revision: u64,
}

/// A delete of a batch.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "batch_deleted"))]
pub(crate) struct DeletedForm<'a> {
    /// The key that is gone.
    deleted: &'a str,
    /// The version it had.
    previous_version: u64,
}

/// What a batch did.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "write_batch_reply"))]
pub(crate) struct BatchReply<'a> {
    /// The writes, in the order they were asked for.
    written: Vec<WriteReply<'a>>,
    /// The deletes, in the order they were asked for.
    deleted: Vec<DeletedForm<'a>>,
    /// The session's revision after it.
    revision: u64,
}

/// The versions of a key that are kept.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "history_reply"))]
pub(crate) struct HistoryReply<'a> {
    /// The key.
    key: &'a str,
    /// The versions, oldest first; the last is the entry as it is, if it exists.
    versions: Vec<VersionForm<'a>>,
    /// The session's revision.
    revision: u64,
}

/// One version of an entry.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "version"))]
pub(crate) struct VersionForm<'a> {
    /// Its number; starts again at 1 after a delete.
    version: u64,
    /// Its value.
    value: &'a str,
    /// Who wrote it.
    written_by: &'a str,
    /// When, UTC.
    written_at: Time,
    /// Size of the value in tokens.
    value_size_tokens: u32,
    /// The session's revision at which it was written.
    revision: u64,
    /// `current`, or how it ended: `superseded`, `deleted` or `expired`.
    status: &'static str,
    /// When it ended, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Time>,
    /// Who ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_by: Option<&'a str>,
    /// True when the entry it is a version of has been removed since.
    #[serde(skip_serializing_if = "is_false")]
    is_deleted: bool,
}

/// What a redaction did.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "redact_reply"))]
pub(crate) struct RedactReply<'a> {
    /// The key.
    redacted: &'a str,
    /// The digests of the values that are gone, each once; none when all were
    /// redacted before.
    digests: &'a [String],
    /// The session's revision.
    revision: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes members so")]
pub(crate) fn is_false(it: &bool) -> bool {
    !it
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes members so")]
fn is_true(it: &bool) -> bool {
    *it
}

fn restricted(it: &Participants) -> Option<Vec<&str>> {
    (!it.is_everyone()).then(|| it.patterns().collect())
}

impl<'a> From<&'a Shown> for AboutEntry<'a> {
    fn from(Shown { entry, is_readable, is_read_only }: &'a Shown) -> Self {
        Self {
            written_by: entry.written_by.as_str(),
            written_at: Time(entry.written_at),
            version: entry.version,
            value_size_tokens: entry.value_tokens.0,
            revision: entry.revision.0,
            expires_at: entry.expires_at.map(Time),
            readable_by: restricted(&entry.access.readable_by),
            writable_by: restricted(&entry.access.writable_by),
            history: entry.keeps_history,
            readable: *is_readable,
            read_only: *is_read_only,
        }
    }
}

impl<'a> From<&'a Shown> for EntryForm<'a> {
    fn from(shown: &'a Shown) -> Self {
        Self { key: shown.entry.key.as_str(), about: shown.into() }
    }
}

impl<'a> From<&'a EntryRead> for ReadReply<'a> {
    fn from(EntryRead { shown, value }: &'a EntryRead) -> Self {
        Self { key: shown.entry.key.as_str(), value, about: shown.into() }
    }
}

pub(crate) fn listing(it: &Listing, revision: u64) -> ListReply<'_> {
    ListReply {
        keys: it.entries.iter().map(EntryForm::from).collect(),
        total_tokens: it.total_tokens.0,
        max_tokens: it.tokens_max.0,
        key_count: it.entries.len(),
        revision,
    }
}

pub(crate) fn batch_read(it: &EntriesRead, revision: u64) -> BatchReadReply<'_> {
    BatchReadReply {
        entries: it.entries.iter().map(ReadReply::from).collect(),
        missing: it.missing.iter().map(Key::as_str).collect(),
        revision,
    }
}

impl<'a> From<&'a Written> for WriteReply<'a> {
    fn from(Written { entry, warnings }: &'a Written) -> Self {
        Self {
            key: entry.key.as_str(),
            version: entry.version,
            written_by: entry.written_by.as_str(),
            written_at: Time(entry.written_at),
            value_size_tokens: entry.value_tokens.0,
            revision: entry.revision.0,
            expires_at: entry.expires_at.map(Time),
            warnings: warnings.iter().map(warning).collect(),
        }
    }
}

fn warning(it: &Warning) -> WarningForm<'_> {
    WarningForm { code: it.code.as_str(), message: &it.message }
}

pub(crate) fn deleted(it: &Deleted, revision: u64) -> DeleteReply<'_> {
    DeleteReply { deleted: it.key.as_str(), previous_version: it.previous_version, revision }
}

pub(crate) fn batch_written(it: &BatchWritten, revision: u64) -> BatchReply<'_> {
    let deleted = it
        .deleted
        .iter()
        .map(|it| DeletedForm { deleted: it.key.as_str(), previous_version: it.previous_version });
    let written = it.written.iter().map(WriteReply::from).collect();
    BatchReply { written, deleted: deleted.collect(), revision }
}

pub(crate) fn history(it: &History, revision: u64) -> HistoryReply<'_> {
    let past = it.past.iter().map(|PastVersion { version, value, is_deleted }| VersionForm {
        status: version.ended.how.as_str(),
        ended_at: Some(Time(version.ended.at)),
        ended_by: Some(version.ended.by.as_str()),
        is_deleted: *is_deleted,
        ..current(&version.entry, value)
    });
    let now = it.current.iter().map(|it| current(&it.shown.entry, &it.value));
    HistoryReply { key: it.key.as_str(), versions: past.chain(now).collect(), revision }
}

fn current<'a>(entry: &'a Entry, value: &'a str) -> VersionForm<'a> {
    VersionForm {
        version: entry.version,
        value,
        written_by: entry.written_by.as_str(),
        written_at: Time(entry.written_at),
        value_size_tokens: entry.value_tokens.0,
        revision: entry.revision.0,
        status: "current",
        ended_at: None,
        ended_by: None,
        is_deleted: false,
    }
}

pub(crate) fn redacted(it: &Redacted, revision: u64) -> RedactReply<'_> {
    RedactReply { redacted: it.key.as_str(), digests: &it.digests, revision }
}
