//! Changes and audit records as JSON.

use serde::Serialize;
use shared_context_core::{
    Line, ScopeKind,
    audit::{AuditRecord, Subject},
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
    /// Ask again after this revision for more; null when there is no more.
    next_after: Option<u64>,
}

/// Who did what to which entry when; never a value.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "audit_record"))]
pub struct AuditForm<'a> {
    /// The session's revision after the change.
    pub revision: u64,
    /// What was done.
    pub action: &'a str,
    /// Who did it.
    pub written_by: &'a str,
    /// When, UTC.
    pub written_at: Time,
    /// The entry it was done to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<&'a str>,
    /// Its version: the one written, or the one deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The size of its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_size_tokens: Option<u32>,
    /// What else it was done to: a snapshot, an envelope, missing context, or the address of a
    /// packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<&'a str>,
    /// Why it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// The round it was done to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u64>,
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

pub(crate) fn audit(it: &AuditPage) -> AuditReply<'_> {
    AuditReply {
        records: it.records.iter().map(AuditForm::from).collect(),
        oldest: it.oldest.map(|it| it.0),
        next_after: it.next_after.map(|it| it.0),
    }
}

impl<'a> From<&'a AuditRecord> for AuditForm<'a> {
    fn from(record: &'a AuditRecord) -> Self {
        let AuditRecord { revision, action, participant, at, entry, label, reason, round, .. } =
            record;
        Self {
            revision: revision.0,
            action: action.as_str(),
            written_by: participant.as_str(),
            written_at: Time(*at),
            key: entry.as_ref().map(|it| it.key.as_str()),
            version: entry.as_ref().map(|it| it.version),
            value_size_tokens: entry.as_ref().map(|it| it.value_tokens.0),
            label: label.as_ref().map(Subject::as_str),
            reason: reason.as_ref().map(Line::as_str),
            round: *round,
        }
    }
}

/// Writes the log line (spec 8.5.1) for a change of the session or project `id`, without a line
/// break.
pub fn audit_line(kind: ScopeKind, id: &str, done: &AuditForm<'_>) -> String {
    #[derive(Serialize)]
    struct LogLine<'a> {
        level: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        session: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        project: Option<&'a str>,
        #[serde(flatten)]
        done: &'a AuditForm<'a>,
        target: &'static str,
    }
    let of_kind = |it| (kind == it).then_some(id);
    let (session, project) = (of_kind(ScopeKind::Session), of_kind(ScopeKind::Project));
    let line = LogLine { level: "INFO", session, project, done, target: "shared_context::audit" };
    serde_json::to_string(&line).unwrap_or_default()
}

pub(crate) fn changes(it: &ChangesPage, revision: u64) -> ChangesReply<'_> {
    ChangesReply {
        changes: it.changes.iter().map(AuditForm::from).collect(),
        next_since: it.next_since.0,
        has_more: it.has_more,
        revision,
    }
}
