//! The audit log (000 §8.5) as `tracing` events.
//!
//! Invariant: an event says who did what to which key and when; there is no
//! value in it, as there is none in the record.

use shared_context_codec::Time;
use shared_context_core::{audit::AuditRecord, port::Log};

/// Tells each committed change as an event of target `shared_context::audit`,
/// level `INFO`. Its fields are `session`, `revision`, `action`, `written_by`,
/// `written_at`, and for a change of an entry `key`, `version` and
/// `value_size_tokens`.
#[derive(Debug, Clone, Copy, Default)]
pub struct TracingLog;

impl Log for TracingLog {
    fn record(&self, record: &AuditRecord) {
        let AuditRecord { session, revision, action, participant, at, entry } = record;
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
        );
    }
}
