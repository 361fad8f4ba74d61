//! The audit log (000 §8.5) as `tracing` events.
//!
//! Invariant: an event says who did what to which key and when; there is no
//! value in it, as there is none in the record.

use shared_context_codec::Time;
use shared_context_core::{Label, Line, audit::AuditRecord, port::Log};

/// Tells each committed change as an event of target `shared_context::audit`,
/// level `INFO`. Its fields are `session`, `revision`, `action`, `written_by`,
/// `written_at`, for a change of an entry `key`, `version` and
/// `value_size_tokens`, and `label`, `reason` and `round` where there are any.
#[derive(Debug, Clone, Copy, Default)]
pub struct TracingLog;

impl Log for TracingLog {
    fn record(&self, record: &AuditRecord) {
        let AuditRecord { session, revision, action, participant, at, entry, label, reason, round } =
            record;
        tracing::info!(
            target: "shared_context::audit",
            session,
            revision = revision.0,
            action = action.as_str(),
            written_by = participant.as_str(),
            written_at = %Time(*at),
            key = entry.as_ref().map(|it| it.key.as_str()),
            version = entry.as_ref().map(|it| it.version),
            value_size_tokens = entry.as_ref().map(|it| it.value_tokens.0),
            label = label.as_ref().map(Label::as_str),
            reason = reason.as_ref().map(Line::as_str),
            round,
        );
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use shared_context_core::{
        Key, Participant,
        audit::{AuditAction, AuditEntry},
        port::Revision,
        time::Timestamp,
        tokens::Tokens,
    };

    use super::*;

    /// What was logged.
    #[derive(Clone, Default)]
    struct Logged(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Logged {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[track_caller]
    fn check(action: AuditAction, entry: Option<AuditEntry>, line: &str) {
        let logged = Logged::default();
        let writer = logged.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .without_time()
            .with_writer(move || writer.clone())
            .finish();
        let record = AuditRecord {
            session: "ticket-7".to_owned(),
            revision: Revision(9),
            action,
            participant: Participant::parse("subagent:analysis").unwrap(),
            at: Timestamp(1_771_597_800_000),
            entry,
            label: None,
            reason: None,
            round: None,
        };
        tracing::subscriber::with_default(subscriber, || TracingLog.record(&record));
        assert_eq!(String::from_utf8(logged.0.lock().unwrap().clone()).unwrap().trim_end(), line);
    }

    #[test]
    fn a_change_of_an_entry_is_one_event_without_its_value() {
        let key = Key::parse("scope").unwrap();
        check(
            AuditAction::Write,
            Some(AuditEntry { key, version: 3, value_tokens: Tokens(180) }),
            r#"{"level":"INFO","session":"ticket-7","revision":9,"action":"write","written_by":"subagent:analysis","written_at":"2026-02-20T14:30:00Z","key":"scope","version":3,"value_size_tokens":180,"target":"shared_context::audit"}"#,
        );
    }

    #[test]
    fn a_step_in_a_sessions_life_has_no_key() {
        check(
            AuditAction::ArchiveSession,
            None,
            r#"{"level":"INFO","session":"ticket-7","revision":9,"action":"archive_session","written_by":"subagent:analysis","written_at":"2026-02-20T14:30:00Z","target":"shared_context::audit"}"#,
        );
    }
}
