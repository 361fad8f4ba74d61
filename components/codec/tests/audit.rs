//! The audit line of a host's log, and the actions that it names.

#![expect(clippy::unwrap_used, reason = "a test")]

use shared_context_codec::audit_line;
use shared_context_core::{
    Key, Label, Line, Participant, Scope, ScopeKind,
    audit::{AuditAction, AuditEntry, AuditRecord},
    port::Revision,
    time::Timestamp,
    tokens::Tokens,
};

fn archived() -> AuditRecord {
    AuditRecord {
        scope: Scope::new(ScopeKind::Session, "ticket-7").unwrap(),
        revision: Revision(9),
        action: AuditAction::ArchiveSession,
        participant: Participant::parse("orchestrator").unwrap(),
        at: Timestamp(1_771_597_800_000),
        entry: None,
        label: None,
        reason: None,
        round: None,
    }
}

#[track_caller]
fn check(record: &AuditRecord, line: &str) {
    assert_eq!(audit_line(record.scope.kind(), record.scope.id(), &record.into()), line);
}

#[test]
fn a_step_in_a_sessions_life_has_no_key() {
    check(
        &archived(),
        r#"{"level":"INFO","session":"ticket-7","revision":9,"action":"archive_session","written_by":"orchestrator","written_at":"2026-02-20T14:30:00Z","target":"shared_context::audit"}"#,
    );
}

#[test]
fn a_line_names_the_project_that_was_changed() {
    check(
        &AuditRecord {
            scope: Scope::new(ScopeKind::Project, "webshop").unwrap(),
            action: AuditAction::CreateProject,
            ..archived()
        },
        r#"{"level":"INFO","project":"webshop","revision":9,"action":"create_project","written_by":"orchestrator","written_at":"2026-02-20T14:30:00Z","target":"shared_context::audit"}"#,
    );
}

#[test]
fn a_change_of_an_entry_is_one_line_without_its_value() {
    let key = Key::parse("scope").unwrap();
    let record = AuditRecord {
        action: AuditAction::Write,
        participant: Participant::parse("subagent:analysis").unwrap(),
        at: Timestamp(1_771_597_800_007),
        entry: Some(AuditEntry { key, version: 3, value_tokens: Tokens(180) }),
        ..archived()
    };
    check(
        &record,
        r#"{"level":"INFO","session":"ticket-7","revision":9,"action":"write","written_by":"subagent:analysis","written_at":"2026-02-20T14:30:00.007Z","key":"scope","version":3,"value_size_tokens":180,"target":"shared_context::audit"}"#,
    );
}

/// Spin's host wrote a line of its own that lacked the round, so its log did not show which round
/// was closed. All hosts write this line now.
#[test]
fn an_audit_line_names_label_reason_and_round() {
    let record = AuditRecord {
        action: AuditAction::CloseRound,
        label: Some(Label::parse("before").unwrap().into()),
        reason: Some(Line::parse("reason", "an API \"key\"").unwrap()),
        round: Some(4),
        ..archived()
    };
    check(
        &record,
        r#"{"level":"INFO","session":"ticket-7","revision":9,"action":"close_round","written_by":"orchestrator","written_at":"2026-02-20T14:30:00Z","label":"before","reason":"an API \"key\"","round":4,"target":"shared_context::audit"}"#,
    );
}

/// The contract listed the actions by hand and lacked `redact_rounds`, so embedders who match on
/// the list missed it.
#[test]
fn the_contract_lists_every_audit_action() {
    let contract = include_str!("../../../wit/types.wit");
    let list = contract.split_once("/// What was done: ").unwrap().1;
    let list = list.split_once("; later").unwrap().0.replace("///", "");
    let listed: Vec<&str> = list.split(',').map(|it| it.trim().trim_matches('`')).collect();
    assert_eq!(listed, AuditAction::ALL.map(AuditAction::as_str));
}
