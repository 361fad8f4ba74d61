//! The log of versions before 2026-07-28: a message for each change of the session, for clients
//! that request it (2025-11-25, Logging).
//!
//! The newest version deprecates it, and the change feed is a better replacement. It is therefore
//! offered to older clients only, and sends nothing until a level is set.
//!
//! # Invariant
//!
//! A message contains what the change feed shows to the client's credential: never a value, and
//! nothing about a hidden key.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared_context_core::audit::{AuditAction, AuditLevel};

use super::{notice::notification, params::Params};
use crate::mcp::Fault;

/// Severity of a message (RFC 5424 §6.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// Action of a change; its other members are passed on.
#[derive(Deserialize)]
struct Change<'b> {
    action: &'b str,
}

impl Level {
    /// Parses the level of `logging/setLevel`.
    ///
    /// # Errors
    ///
    /// Invalid params (-32602): the level is missing or invalid.
    pub(super) fn from_params(params: &Params<'_>) -> Result<Self, Fault> {
        const LEVELS: &str = "debug, info, notice, warning, error, critical, alert or emergency";
        let level = params.read("level", LEVELS)?;
        level.ok_or_else(|| Fault::invalid_params(format!("level is missing: it is {LEVELS}")))
    }

    /// Returns the messages of this level and above for `changes`, as JSON.
    ///
    /// # Errors
    ///
    /// A change is not of a kind that a session makes.
    pub(super) fn messages(self, changes: &[&RawValue]) -> serde_json::Result<Vec<String>> {
        #[derive(Serialize)]
        struct LogParams<'b> {
            level: Level,
            logger: &'static str,
            data: &'b RawValue,
        }
        let mut messages = Vec::new();
        for data in changes {
            let Change { action } = serde_json::from_str(data.get())?;
            let level = match AuditAction::named(action).map(AuditAction::level) {
                Some(AuditLevel::Info) => Self::Info,
                Some(AuditLevel::Notice) | None => Self::Notice,
            };
            if level >= self {
                let logged = LogParams { level, logger: "changes", data };
                messages.push(notification("notifications/message", Some(logged)));
            }
        }
        Ok(messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(level: Level, expected: &[&str]) {
        let changes = r#"[{"action":"write","key":"a","version":2},{"action":"redact","key":"a"}]"#;
        let changes: Vec<&RawValue> = serde_json::from_str(changes).unwrap();
        let message = |it: &&str| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{it}}}"#)
        };
        assert_eq!(
            level.messages(&changes).unwrap(),
            expected.iter().map(message).collect::<Vec<_>>()
        );
    }

    #[test]
    fn messages_below_the_level_are_omitted() {
        let write = r#"{"level":"info","logger":"changes","data":{"action":"write","key":"a","version":2}}"#;
        let redact =
            r#"{"level":"notice","logger":"changes","data":{"action":"redact","key":"a"}}"#;
        check(Level::Debug, &[write, redact]);
        check(Level::Info, &[write, redact]);
        check(Level::Notice, &[redact]);
        check(Level::Warning, &[]);
        check(Level::Emergency, &[]);
    }
}
