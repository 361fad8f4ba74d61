//! Audit records, to be compared with the model's.

use shared_context_core::{
    audit::{AuditAction, AuditRecord},
    tokens::Tokens,
};

/// Revisions never go back, and what expired stands before what its commit did
/// besides.
pub(crate) fn check_order(records: &[AuditRecord]) {
    let is_expiry = |it: &AuditRecord| it.action == AuditAction::Expire;
    let in_order = |a: &AuditRecord, b: &AuditRecord| {
        a.revision < b.revision || a.revision == b.revision && (is_expiry(a) || !is_expiry(b))
    };
    assert!(records.is_sorted_by(in_order), "{records:?}");
}

/// Returns what one commit did has no order of its own, and of a redaction it is told
/// which key it was of, not of which of its versions.
pub(crate) fn sorted(records: &[AuditRecord]) -> Vec<AuditRecord> {
    let mut plain: Vec<_> = records.iter().map(plain).collect();
    plain.sort_by_key(|it| (it.revision, format!("{it:?}")));
    plain
}

/// Returns a record as far as the model knows of it.
pub(crate) fn plain(record: &AuditRecord) -> AuditRecord {
    let mut plain = record.clone();
    if let (AuditAction::Redact, Some(entry)) = (record.action, &mut plain.entry) {
        entry.version = 0;
        entry.value_tokens = Tokens(0);
    }
    plain
}
