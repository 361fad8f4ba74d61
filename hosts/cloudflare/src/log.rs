//! Writes the log to the console, one JSON object per line.
//!
//! Invariant: it contains no values, no credentials and no other client input.

use serde::Serialize;
use shared_context_codec::audit_line;
use shared_context_core::{audit::AuditRecord, port::KvError};

use crate::js;

/// Logs a storage failure for operators.
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

/// Logs a committed change (spec 8.5.1).
pub(crate) fn record(record: &AuditRecord) {
    js::log(&audit_line(record.scope.kind(), record.scope.id(), &record.into()));
}
