//! The log: JSON, a line each, in the words of the other hosts.
//!
//! Invariant: no value, no credential and nothing else that was sent is in it.

use serde::Serialize;
use shared_context_codec::Time;
use shared_context_core::{port::KvError, time::Timestamp};

/// What was done in a session, as the component tells it.
#[derive(Debug, Clone, Copy)]
pub struct Audit<'r> {
    /// The session.
    pub session: &'r str,
    /// Its revision after the change.
    pub revision: u64,
    /// What was done.
    pub action: &'r str,
    /// Who did it.
    pub participant: &'r str,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The entry it was done to: its key, its version, and its value's size in tokens.
    pub entry: Option<(&'r str, u64, u32)>,
    /// The snapshot it was done to or with.
    pub label: Option<&'r str>,
    /// Why it was done.
    pub reason: Option<&'r str>,
}

/// The line that tells of a committed change (000 §8.5).
pub fn audit(done: &Audit<'_>) -> String {
    #[derive(Serialize)]
    struct Line<'r> {
        level: &'static str,
        session: &'r str,
        revision: u64,
        action: &'r str,
        written_by: &'r str,
        written_at: Time,
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<&'r str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        value_size_tokens: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<&'r str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'r str>,
        target: &'static str,
    }
    let Audit { session, revision, action, participant, at_ms, entry, label, reason } = *done;
    line(&Line {
        level: "INFO",
        session,
        revision,
        action,
        written_by: participant,
        written_at: Time(Timestamp(at_ms)),
        key: entry.map(|(key, ..)| key),
        version: entry.map(|(_, version, _)| version),
        value_size_tokens: entry.map(|(.., tokens)| tokens),
        label,
        reason,
        target: "shared_context::audit",
    })
}

/// The line that tells that storage failed, for operators to look at.
pub fn failure(error: &KvError) -> String {
    #[derive(Serialize)]
    struct Line<'e> {
        level: &'static str,
        target: &'static str,
        message: &'static str,
        reason: &'e str,
    }
    line(&Line {
        level: "ERROR",
        target: "shared_context::storage",
        message: "storage failed",
        reason: &error.0,
    })
}

fn line(content: &impl Serialize) -> String {
    let mut line = serde_json::to_string(content).unwrap_or_default();
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARCHIVED: Audit<'_> = Audit {
        session: "ticket-7",
        revision: 9,
        action: "archive_session",
        participant: "orchestrator",
        at_ms: 1_771_597_800_000,
        entry: None,
        label: None,
        reason: None,
    };

    #[test]
    fn a_change_of_an_entry_is_one_line_without_its_value() {
        let done = Audit {
            action: "write",
            participant: "subagent:analysis",
            entry: Some(("scope", 3, 180)),
            at_ms: 1_771_597_800_007,
            ..ARCHIVED
        };
        let line = r#"{"level":"INFO","session":"ticket-7","revision":9,"action":"write","written_by":"subagent:analysis","written_at":"2026-02-20T14:30:00.007Z","key":"scope","version":3,"value_size_tokens":180,"target":"shared_context::audit"}"#;
        assert_eq!(audit(&done), format!("{line}\n"));
    }

    #[test]
    fn a_step_in_a_sessions_life_has_no_key() {
        let line = r#"{"level":"INFO","session":"ticket-7","revision":9,"action":"archive_session","written_by":"orchestrator","written_at":"2026-02-20T14:30:00Z","target":"shared_context::audit"}"#;
        assert_eq!(audit(&ARCHIVED), format!("{line}\n"));
    }

    #[test]
    fn a_label_and_a_reason_are_told_as_they_are() {
        let done = Audit { label: Some("a \"b\""), reason: Some("c\u{7}"), ..ARCHIVED };
        let line = audit(&done);
        assert!(line.contains(r#""label":"a \"b\"","reason":"c\u0007","target""#), "{line}");
    }

    #[test]
    fn a_failure_is_one_line_with_its_reason() {
        let line = failure(&KvError("SQLite failed".to_owned()));
        let expected = r#"{"level":"ERROR","target":"shared_context::storage","message":"storage failed","reason":"SQLite failed"}"#;
        assert_eq!(line, format!("{expected}\n"));
    }
}
