//! Writes the front's log: one JSON object per line, like the storage's log.

use serde::Serialize;
use shared_context_codec::Failure;

use crate::bindings::wasi::cli::stderr;

#[derive(Serialize)]
struct Line<'l> {
    level: &'static str,
    target: &'static str,
    message: &'l str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'l str>,
}

/// Logs that a request on `scope` was answered with `failure` because storage failed. The
/// storage has logged the cause in a line before.
pub(crate) fn unavailable(scope: &str, failure: &Failure) {
    write(&Line {
        level: "WARN",
        target: "shared_context::request",
        message: &failure.message,
        scope: Some(scope),
    });
}

/// Logs the reason why every request is rejected.
pub(crate) fn not_set_up(why: &str) {
    write(&Line { level: "ERROR", target: "shared_context::setup", message: why, scope: None });
}

fn write(line: &Line<'_>) {
    let line = serde_json::to_string(line).unwrap_or_default() + "\n";
    // A request does not fail because its log line cannot be written.
    let _ = stderr::get_stderr().blocking_write_and_flush(line.as_bytes());
}
