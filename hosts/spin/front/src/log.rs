//! What operators are told by the front: JSON, a line each, as the storage does.

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

/// Tells that a request on `scope` was answered `failure`, for which the storage is
/// the cause; what it knows of it stands in a line before.
pub(crate) fn unavailable(scope: &str, failure: &Failure) {
    tell(&Line {
        level: "WARN",
        target: "shared_context::request",
        message: &failure.message,
        scope: Some(scope),
    });
}

/// Tells why every request is refused.
pub(crate) fn not_set_up(why: &str) {
    tell(&Line { level: "ERROR", target: "shared_context::setup", message: why, scope: None });
}

fn tell(line: &Line<'_>) {
    let line = serde_json::to_string(line).unwrap_or_default() + "\n";
    // A log that cannot be written to is no reason to fail.
    let _ = stderr::get_stderr().blocking_write_and_flush(line.as_bytes());
}
