//! Comparison of audit records with the model's.

use shared_context_core::{
    audit::{AuditAction, AuditRecord},
    tokens::Tokens,
};

/// Checks that revisions ascend, and that expiries come before the other records of their commit.
pub(crate) fn check_order(records: &[AuditRecord]) {
    let is_expiry = |it: &AuditRecord| it.action == AuditAction::Expire;
    let in_order = |a: &AuditRecord, b: &AuditRecord| {
        a.revision < b.revision || a.revision == b.revision && (is_expiry(a) || !is_expiry(b))
    };
    assert!(records.is_sorted_by(in_order), "{records:?}");
}

/// Normalizes and sorts records, since those of one commit have no defined order.
pub(crate) fn sorted(records: &[AuditRecord]) -> Vec<AuditRecord> {
    let mut plain: Vec<_> = records.iter().map(plain).collect();
    plain.sort_by_key(|it| (it.revision, format!("{it:?}")));
    plain
}

/// Removes the version from a redaction's record, which names the key only.
pub(crate) fn plain(record: &AuditRecord) -> AuditRecord {
    let mut plain = record.clone();
    if let (AuditAction::Redact, Some(entry)) = (record.action, &mut plain.entry) {
        entry.version = 0;
        entry.value_tokens = Tokens(0);
    }
    plain
}
