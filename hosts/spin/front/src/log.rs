//! What operators are told by the front: JSON, a line each, as the storage does.

use serde::Serialize;
use shared_context_codec::Failure;

use crate::bindings::wasi::cli::stderr;

/// Tells that a request on `scope` was answered `failure`, for which the storage is
/// the cause; what it knows of it stands in a line before.
pub(crate) fn unavailable(scope: &str, failure: &Failure) {
    #[derive(Serialize)]
    struct Line<'f> {
        level: &'static str,
        target: &'static str,
        message: &'f str,
        scope: &'f str,
    }
    let line =
        Line { level: "WARN", target: "shared_context::request", message: &failure.message, scope };
    let line = serde_json::to_string(&line).unwrap_or_default() + "\n";
    // A log that cannot be written to is no reason to fail.
    let _ = stderr::get_stderr().blocking_write_and_flush(line.as_bytes());
}
