//! The audit log (000 §8.5) as `tracing` events.
//!
//! Invariant: an event says who did what to which key and when; there is no
//! value in it, as there is none in the record.

use shared_context_codec::AuditForm;
use shared_context_core::{audit::AuditRecord, port::Log};

/// Tells each committed change as an event of target `shared_context::audit`,
/// level `INFO`. Its fields are `session`, `revision`, `action`, `written_by`,
/// `written_at`, for a change of an entry `key`, `version` and
/// `value_size_tokens`, and `label`, `reason` and `round` where there are any.
#[derive(Debug, Clone, Copy, Default)]
pub struct TracingLog;

impl Log for TracingLog {
    fn record(&self, record: &AuditRecord) {
        let AuditForm {
            revision,
            action,
            written_by,
            written_at,
            key,
            version,
            value_size_tokens,
            label,
            reason,
            round,
        } = AuditForm::from(record);
        tracing::info!(
            target: "shared_context::audit",
            session = record.session,
            revision,
            action,
            written_by,
            %written_at,
            key,
            version,
            value_size_tokens,
            label,
            reason,
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

    use shared_context_codec::audit_line;
    use shared_context_core::{
        Key, Label, Line, Participant,
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

    /// The codec's line is what the other hosts write.
    #[track_caller]
    fn check(record: &AuditRecord) {
        let logged = Logged::default();
        let writer = logged.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .without_time()
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || TracingLog.record(record));
        let line = audit_line(&record.session, &record.into());
        assert_eq!(String::from_utf8(logged.0.lock().unwrap().clone()).unwrap().trim_end(), line);
    }

    #[test]
    fn an_event_reads_like_the_line_of_the_other_hosts() {
        let session_archived = AuditRecord {
            session: "ticket-7".to_owned(),
            revision: Revision(9),
            action: AuditAction::ArchiveSession,
            participant: Participant::parse("subagent:analysis").unwrap(),
            at: Timestamp(1_771_597_800_000),
            entry: None,
            label: None,
            reason: None,
            round: None,
        };
        check(&session_archived);
        let key = Key::parse("scope").unwrap();
        check(&AuditRecord {
            entry: Some(AuditEntry { key, version: 3, value_tokens: Tokens(180) }),
            label: Some(Label::parse("before").unwrap()),
            reason: Some(Line::parse("reason", "an API \"key\"").unwrap()),
            round: Some(4),
            ..session_archived
        });
    }
}
