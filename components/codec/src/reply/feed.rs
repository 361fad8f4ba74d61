//! What is told of changes: the audit trail, and the change feed.

use serde::Serialize;
use shared_context_core::{
    Label, Line,
    audit::AuditRecord,
    reply::{AuditPage, ChangesPage},
};

use crate::json::Time;

/// Some of a session's audit records.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "audit_page"))]
pub(crate) struct AuditReply<'a> {
    /// The records, oldest first.
    records: Vec<AuditForm<'a>>,
    /// The revision of the oldest record still kept.
    oldest: Option<u64>,
    /// Ask again since this revision for more; null when there is no more.
    next_since: Option<u64>,
}

/// Who did what to which entry when; never a value.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "audit_record"))]
pub(crate) struct AuditForm<'a> {
    /// The session's revision after the change.
    revision: u64,
    /// What was done.
    action: &'static str,
    /// Who did it.
    written_by: &'a str,
    /// When, UTC.
    written_at: Time,
    /// The entry it was done to.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    /// Its version: the one written, or the one deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    /// The size of its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    value_size_tokens: Option<u32>,
    /// The snapshot it was done to or with.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    /// Why it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// The round it was done to.
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<u64>,
}

/// Some of a session's changes.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "changes_reply"))]
pub(crate) struct ChangesReply<'a> {
    /// The changes, oldest first; those of one commit have one revision.
    changes: Vec<AuditForm<'a>>,
    /// Ask again since this revision.
    next_since: u64,
    /// Whether there are more already.
    has_more: bool,
    /// The session's revision.
    revision: u64,
}

pub(super) fn audit(it: &AuditPage) -> AuditReply<'_> {
    AuditReply {
        records: it.records.iter().map(audit_record).collect(),
        oldest: it.oldest.map(|it| it.0),
        next_since: it.next_since.map(|it| it.0),
    }
}

fn audit_record(it: &AuditRecord) -> AuditForm<'_> {
    let entry = it.entry.as_ref();
    AuditForm {
        revision: it.revision.0,
        action: it.action.as_str(),
        written_by: it.participant.as_str(),
        written_at: Time(it.at),
        key: entry.map(|it| it.key.as_str()),
        version: entry.map(|it| it.version),
        value_size_tokens: entry.map(|it| it.value_tokens.0),
        label: it.label.as_ref().map(Label::as_str),
        reason: it.reason.as_ref().map(Line::as_str),
        round: it.round,
    }
}

pub(super) fn changes(it: &ChangesPage, revision: u64) -> ChangesReply<'_> {
    ChangesReply {
        changes: it.changes.iter().map(audit_record).collect(),
        next_since: it.next_since.0,
        has_more: it.has_more,
        revision,
    }
}
