//! Formats the log: one JSON object per line. The codec formats the line of a committed
//! change, for all hosts.
//!
//! Invariant: it contains no values, no credentials and no other client input.

use serde::Serialize;
use shared_context_core::port::KvError;

/// Returns the log line of a storage failure, for operators.
pub fn failure(error: &KvError) -> String {
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
    serde_json::to_string(&line).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_with_its_reason() {
        let line = failure(&KvError("SQLite failed".to_owned()));
        let expected = r#"{"level":"ERROR","target":"shared_context::storage","message":"storage failed","reason":"SQLite failed"}"#;
        assert_eq!(line, expected);
    }
}
