//! The audit log (spec 8.5.1) as `tracing` events.
//!
//! Invariant: an event records who did what to which key and when. Like the record, it
//! holds no value.

use shared_context_codec::{AuditForm, Time};
use shared_context_core::{ScopeKind, audit, time::Timestamp};

/// One effect of a committed change, without the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// The revision that the change made.
    pub revision: u64,
    /// The name of the action, such as `write`. A later version may have others.
    pub action: String,
    /// The participant who made the change.
    pub participant: String,
    /// The time of the change, in milliseconds since the epoch.
    pub at_ms: u64,
    /// The entry it changed, if it changed one.
    pub entry: Option<AuditEntry>,
    /// The label of the snapshot it is about.
    pub label: Option<String>,
    /// The reason that a redaction was given.
    pub reason: Option<String>,
    /// The number of the round it is about.
    pub round: Option<u64>,
}

/// The entry of an [`AuditRecord`], after its change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its key.
    pub key: String,
    /// Its version.
    pub version: u64,
    /// The size of its value, in tokens.
    pub value_tokens: u32,
}

impl From<&audit::AuditRecord> for AuditRecord {
    fn from(it: &audit::AuditRecord) -> Self {
        Self {
            revision: it.revision.0,
            action: it.action.as_str().to_owned(),
            participant: it.participant.as_str().to_owned(),
            at_ms: it.at.0,
            entry: it.entry.as_ref().map(|it| AuditEntry {
                key: it.key.as_str().to_owned(),
                version: it.version,
                value_tokens: it.value_tokens.0,
            }),
            label: it.label.as_ref().map(|it| it.as_str().to_owned()),
            reason: it.reason.as_ref().map(|it| it.as_str().to_owned()),
            round: it.round,
        }
    }
}

/// A destination for audit records.
pub trait AuditLog {
    /// Logs one effect of a committed change to the session or project `id`. The action may
    /// be one that this host does not know. A record never holds a value.
    fn record(&self, kind: ScopeKind, id: &str, done: &AuditRecord);
}

/// An audit log that sends each committed change as an event of target
/// `shared_context::audit`, level `INFO`. Its fields are `session` or `project`,
/// `revision`, `action`, `written_by`, `written_at`; for a change of an entry `key`,
/// `version` and `value_size_tokens`; and `label`, `reason` and `round` if there are any.
#[derive(Debug, Clone, Copy, Default)]
pub struct TracingLog;

impl AuditLog for TracingLog {
    fn record(&self, kind: ScopeKind, id: &str, done: &AuditRecord) {
        let of_kind = |it| (kind == it).then_some(id);
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
        } = form(done);
        tracing::info!(
            target: "shared_context::audit",
            session = of_kind(ScopeKind::Session),
            project = of_kind(ScopeKind::Project),
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

/// Converts a record to the logged form.
fn form(done: &AuditRecord) -> AuditForm<'_> {
    let AuditRecord { revision, action, participant, at_ms, entry, label, reason, round } = done;
    AuditForm {
        revision: *revision,
        action,
        written_by: participant,
        written_at: Time(Timestamp(*at_ms)),
        key: entry.as_ref().map(|it| it.key.as_str()),
        version: entry.as_ref().map(|it| it.version),
        value_size_tokens: entry.as_ref().map(|it| it.value_tokens),
        label: label.as_deref(),
        reason: reason.as_deref(),
        round: *round,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use shared_context_codec::audit_line;

    use super::*;

    /// A buffer for log output.
    #[derive(Clone, Default)]
    struct LogBuffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for LogBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Checks that the event equals the codec's line, which other hosts write.
    #[track_caller]
    fn check(kind: ScopeKind, record: &AuditRecord) {
        let logged = LogBuffer::default();
        let writer = logged.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .without_time()
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            TracingLog.record(kind, "ticket-7", record);
        });
        let line = audit_line(kind, "ticket-7", &form(record));
        assert_eq!(String::from_utf8(logged.0.lock().unwrap().clone()).unwrap().trim_end(), line);
    }

    #[test]
    fn an_event_equals_the_line_of_other_hosts() {
        let session_archived = AuditRecord {
            revision: 9,
            action: "archive_session".to_owned(),
            participant: "subagent:analysis".to_owned(),
            at_ms: 1_771_597_800_000,
            entry: None,
            label: None,
            reason: None,
            round: None,
        };
        check(ScopeKind::Session, &session_archived);
        check(ScopeKind::Project, &session_archived);
        let of_tomorrow =
            AuditRecord { action: "of_tomorrow".to_owned(), ..session_archived.clone() };
        check(ScopeKind::Session, &of_tomorrow);
        let all = AuditRecord {
            entry: Some(AuditEntry { key: "scope".to_owned(), version: 3, value_tokens: 180 }),
            label: Some("before".to_owned()),
            reason: Some("an API \"key\"".to_owned()),
            round: Some(4),
            ..session_archived
        };
        check(ScopeKind::Session, &all);
    }
}
