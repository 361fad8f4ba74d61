//! Tests of redaction: a value is removed everywhere, and its digest remains.

use shared_context_core::{
    Code, Command, Config, Reply, RequestId, Write, WriteOptions, digest,
    port::Revision,
    store::{Limits, redaction},
    tokens::Tokens,
};

use crate::{
    ORCHESTRATOR, ask, error_code, export, feed, key, line, past, read, restore, session, snapshot,
    support::TestHost, take_snapshot, values, write,
};

const SECRET: &str = "hunter2-the-password";

fn redact(host: &TestHost, revision: Option<Revision>) -> Vec<String> {
    let command = Command::Redact { key: key("x"), revision, reason: line("a secret") };
    match ask(host, ORCHESTRATOR, &command).reply {
        Reply::Redacted(it) => it.digests,
        other => panic!("{other:?}"),
    }
}

fn placeholder() -> String {
    redaction::placeholder(SECRET, Some(&line("a secret")))
}

/// Asserts that no row of the session contains the secret.
fn assert_gone(host: &TestHost) {
    for (row, bytes) in host.rows("") {
        let has_it = bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes());
        assert!(!has_it, "it is still in {row}");
    }
}

/// The error once said that there is no such entry, although only the revision was wrong.
#[test]
fn a_revision_that_wrote_no_value_is_named() {
    let host = session(Config::default());
    let reason = line("a secret");
    let command = |revision| Command::Redact { key: key("x"), revision, reason: reason.clone() };
    let error = |it| host.ask(ORCHESTRATOR, &command(it)).unwrap_err();
    assert!(error(Some(Revision(7))).to_string().contains("there is no entry x"));
    write(&host, "x", SECRET);
    let other = error(Some(Revision(7)));
    assert_eq!(other.code(), Code::KeyNotFound);
    assert!(other.to_string().contains("x has no value that was written at revision 7"), "{other}");
}

#[test]
fn one_commit_redacts_entry_history_and_snapshots() {
    let host = session(Config::default());
    let mut first = Write::new("x", SECRET).unwrap();
    first.request_id = Some(RequestId::parse("r").unwrap());
    ask(&host, ORCHESTRATOR, &Command::Write(first));
    take_snapshot(&host, "old");
    write(&host, "x", "harmless");
    write(&host, "x", SECRET);
    take_snapshot(&host, "new");
    write(&host, "other", "stays");
    let before = feed(&host, ORCHESTRATOR, None).len();
    let digests = redact(&host, None);
    assert_eq!(digests.len(), 2, "each value once: {digests:?}");
    assert!(digests.contains(&digest::sha256(SECRET)));
    assert_gone(&host);
    assert_eq!(feed(&host, ORCHESTRATOR, None)[before..], ["redact x"]);
    assert_eq!(read(&host, ORCHESTRATOR, "x"), Some(placeholder()));
    assert_eq!(past(&host, ORCHESTRATOR, "x")[0], placeholder());
    assert_eq!(snapshot(&host, ORCHESTRATOR, "old")[0].1, placeholder());
    assert_eq!(snapshot(&host, ORCHESTRATOR, "new"), [("x".to_owned(), placeholder())]);
    assert_eq!(read(&host, ORCHESTRATOR, "other"), Some("stays".to_owned()));
    restore(&host, "old");
    assert_eq!(
        read(&host, ORCHESTRATOR, "x"),
        Some(placeholder()),
        "a restore does not bring it back"
    );
}

#[test]
fn the_value_of_one_revision_can_be_redacted() {
    let host = session(Config::default());
    let first = write(&host, "x", SECRET);
    take_snapshot(&host, "s");
    let second = write(&host, "x", "harmless");
    assert_eq!(redact(&host, Some(first)), [digest::sha256(SECRET)]);
    assert_gone(&host);
    assert_eq!(read(&host, ORCHESTRATOR, "x"), Some("harmless".to_owned()));
    assert_eq!(past(&host, ORCHESTRATOR, "x"), [placeholder()]);
    let entry = &export(&host).entries[0];
    assert_eq!(entry.revision, second, "other versions do not change");
    let unknown =
        Command::Redact { key: key("x"), revision: Some(Revision(99)), reason: line("a secret") };
    assert_eq!(error_code(&host, ORCHESTRATOR, &unknown), Code::KeyNotFound);
}

/// Covers a value that is stored only in snapshots.
#[test]
fn a_value_held_only_by_snapshots_is_redacted() {
    let host = session(Config::default());
    let keeps_history = Some(false);
    let options = WriteOptions { keeps_history, ..Default::default() };
    crate::write_with(&host, "x", SECRET, options);
    take_snapshot(&host, "a");
    take_snapshot(&host, "b");
    crate::delete(&host, "x");
    assert_eq!(redact(&host, None), [digest::sha256(SECRET)]);
    assert_gone(&host);
    for name in ["a", "b"] {
        assert_eq!(snapshot(&host, ORCHESTRATOR, name), [("x".to_owned(), placeholder())]);
        let list = ask(&host, ORCHESTRATOR, &Command::ListSnapshots).reply;
        let Reply::Snapshots(list) = list else { panic!() };
        assert!(
            list.snapshots
                .iter()
                .all(|it| it.totals.tokens.0 as usize == placeholder().len().div_ceil(4))
        );
    }
    assert_eq!(values(&host).len(), 1);
    crate::delete_snapshot(&host, "a");
    crate::delete_snapshot(&host, "b");
    assert_eq!(values(&host).len(), 0);
}

#[test]
fn redacting_again_changes_nothing() {
    let host = session(Config::default());
    write(&host, "x", SECRET);
    redact(&host, None);
    let before = host.rows("");
    assert_eq!(redact(&host, None), Vec::<String>::new());
    assert_eq!(host.rows(""), before);
}

#[test]
fn a_secret_can_be_redacted_in_an_archived_session() {
    let host = session(Config::default());
    write(&host, "x", SECRET);
    ask(&host, "admin", &Command::ArchiveSession);
    let command = Command::Redact { key: key("x"), revision: None, reason: line("a secret") };
    assert_eq!(error_code(&host, ORCHESTRATOR, &command), Code::SessionArchived);
    ask(&host, "admin", &command);
    assert_gone(&host);
}

/// A placeholder may be longer than the value. The store can then be made smaller but not
/// larger, and it can be exported and imported.
#[test]
fn a_store_over_its_limit_after_a_redaction_can_shrink() {
    let limits =
        Limits { value_tokens_max: Tokens(10), store_tokens_max: Tokens(20), ..Limits::default() };
    let host = session(Config { limits, ..Config::default() });
    let text = |tokens: usize| "x".repeat(4 * tokens);
    write(&host, "x", &text(1));
    write(&host, "y", &text(10));
    write(&host, "z", &text(5));
    redact(&host, None);
    let larger = crate::a_write("z", &text(6), WriteOptions::default());
    assert_eq!(error_code(&host, ORCHESTRATOR, &larger), Code::StoreFull);
    let new = crate::a_write("new", &text(1), WriteOptions::default());
    assert_eq!(error_code(&host, ORCHESTRATOR, &new), Code::StoreFull);
    write(&host, "z", &text(4));
    check_import(&host);
    write(&host, "x", &text(8));
    assert_eq!(crate::keys(&host, ORCHESTRATOR).len(), 3);
    // 22 tokens of 20, and no redacted entry remains.
    check_import(&host);
    write(&host, "y", &text(8));
    write(&host, "z", &text(1));
}

/// Asserts that the session can be exported and imported elsewhere.
fn check_import(host: &TestHost) {
    let elsewhere = TestHost::default();
    elsewhere.now.set(host.now.get());
    ask(&elsewhere, "admin", &Command::Import(export(host)));
    assert_eq!(export(&elsewhere), export(host));
}

/// A reason could once repeat the redacted value, which then appeared in the placeholder,
/// the change feed and the audit trail.
#[test]
fn a_reason_that_repeats_the_value_is_rejected() {
    let host = session(Config::default());
    write(&host, "x", SECRET);
    write(&host, "x", "harmless");
    let rows = host.rows("");
    let with =
        |reason: &str| Command::Redact { key: key("x"), revision: None, reason: line(reason) };
    let repeated = with(&format!("it was {SECRET}, mine"));
    assert_eq!(error_code(&host, ORCHESTRATOR, &repeated), Code::MalformedRequest);
    assert_eq!(host.rows(""), rows);
    ask(&host, ORCHESTRATOR, &with("it was a password"));
    assert_gone(&host);
}
