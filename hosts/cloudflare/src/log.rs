//! The log: JSON, a line each, by way of the console.
//!
//! Invariant: no value, no credential and nothing else that was sent is in it.

use serde::Serialize;
use shared_context_codec::Time;
use shared_context_core::{Label, audit::AuditRecord, port::KvError};

use crate::js;

/// Tells that storage failed, for operators to look at.
pub(crate) fn failure(error: &KvError) {
    #[derive(Serialize)]
    struct Line<'e> {
        level: &'static str,
        target: &'static str,
        message: &'static str,
        reason: &'e str,
    }
    let line = Line {
        level: "ERROR",
        target: "shared_context::storage",
        message: "storage failed",
        reason: &error.0,
    };
    js::log_error(&serde_json::to_string(&line).unwrap_or_default());
}

/// Tells of a committed change (000 §8.5), in the words of the wasmtime host.
pub(crate) fn record(record: &AuditRecord) {
    #[derive(Serialize)]
    struct Line<'r> {
        level: &'static str,
        session: &'r str,
        revision: u64,
        action: &'static str,
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
        #[serde(skip_serializing_if = "Option::is_none")]
        round: Option<u64>,
        target: &'static str,
    }
    let AuditRecord { session, revision, action, participant, at, entry, label, reason, round } =
        record;
    let line = Line {
        level: "INFO",
        session,
        revision: revision.0,
        action: action.as_str(),
        written_by: participant.as_str(),
        written_at: Time(*at),
        key: entry.as_ref().map(|it| it.key.as_str()),
        version: entry.as_ref().map(|it| it.version),
        value_size_tokens: entry.as_ref().map(|it| it.value_tokens.0),
        label: label.as_ref().map(Label::as_str),
        reason: reason.as_ref().map(shared_context_core::Line::as_str),
        round: *round,
        target: "shared_context::audit",
    };
    js::log(&serde_json::to_string(&line).unwrap_or_default());
}
