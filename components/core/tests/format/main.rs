//! Tests of the stored format: every released format can still be opened, and the same
//! changes produce the same bytes.
//!
//! Each `golden/format-*.txt` holds the rows of one session. A new format gets a new
//! file; an old file never changes. `SHARED_CONTEXT_BLESS=1` writes the file of a format
//! that has none.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod compaction;
mod context;
#[path = "../support/golden.rs"]
mod golden;
mod memories;
mod moved;
mod packets;
#[path = "../support/project.rs"]
mod project;
#[path = "../support/mod.rs"]
mod support;

use std::{env, fmt::Write as _, fs};

use shared_context_core::{
    Batch, Command, Condition, Config, Delete, Key, Label, Line, Outcome, Reply, RequestId, Write,
    WriteOptions,
    config::Retention,
    memory_kv::MemoryKv,
    namespace::{Convention, Namespace},
    pattern::{KeyPattern, ParticipantPattern, Participants},
    port::{Revision, Row},
    store::{
        access::{Access, AccessChange, AccessRule},
        expiry::{Expiry, Ttl},
    },
    tokens::Tokens,
    weight,
};
use support::TestHost;

fn ask(host: &TestHost, who: &str, command: &Command) -> Outcome {
    host.ask(who, command).unwrap()
}

fn key(text: &str) -> Key {
    Key::parse(text).unwrap()
}

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

fn list(patterns: &[&str]) -> Participants {
    let patterns = patterns.iter().map(|it| ParticipantPattern::parse(it).unwrap());
    Participants::new(patterns.collect()).unwrap()
}

fn request_id(text: &str) -> RequestId {
    RequestId::parse(text).unwrap()
}

fn write(key: &str, value: &str) -> Write {
    Write::new(key, value).unwrap()
}

fn delete(key: &str) -> Delete {
    Delete { key: self::key(key), condition: Condition::default(), request_id: None }
}

fn config() -> Config {
    let convention = Convention {
        key: key("scope"),
        group: "Problem".to_owned(),
        purpose: "boundaries".to_owned(),
        shape: Some("one sentence".to_owned()),
        recommended_tokens: Some(Tokens(50)),
    };
    let access = Access { readable_by: list(&["*"]), writable_by: list(&["orchestrator"]) };
    Config {
        namespace: Some(Namespace { keys: vec![convention] }),
        retention: Retention { history_versions_max: 3, ..Retention::default() },
        ttl_default: Some(Ttl::parse("ttl", 86_400).unwrap()),
        allows_prefixes: true,
        access: vec![AccessRule { keys: KeyPattern::parse("plan_*").unwrap(), access }],
        ..Config::default()
    }
}

/// Returns a session that has a row of every kind and was imported once.
fn scripted() -> TestHost {
    let mut host = TestHost::default();
    host.now.set(1_771_597_800_000);
    ask(&host, "admin", &Command::CreateSession(Box::new(config())));
    for value in ["one", "two", "é"] {
        ask(&host, "subagent:analysis:3", &Command::Write(write("scope", value)));
    }
    let snapshot = Command::TakeSnapshot {
        label: label("before"),
        note: Some(Line::parse("note", "before it moved").unwrap()),
    };
    ask(&host, "orchestrator", &snapshot);
    let Reply::Portable(portable) = ask(&host, "admin", &Command::Export).reply else { panic!() };
    host.kv = MemoryKv::default();
    ask(&host, "admin", &Command::Import(portable));
    ask(&host, "admin", &Command::RevokeCredentials);
    changed(&host);
    host
}

/// Returns a write, a batch and a delete of the orchestrator with request ids, in the
/// order they are executed.
fn remembered() -> [Command; 3] {
    let options = WriteOptions {
        expiry: Some(Expiry::After(Ttl::parse("ttl", 1).unwrap())),
        access: AccessChange {
            readable_by: Some(list(&["orchestrator", "subagent:a*"])),
            writable_by: Some(list(&["orchestrator"])),
        },
        keeps_history: None,
    };
    let first = Write { options, request_id: Some(request_id("r1")), ..write("inv:draft", "x") };
    let writes = vec![write("scope", "narrow"), write("note", "for the bin")];
    let batch = Batch::new(writes, vec![delete("heartbeat")], Some(request_id("r2"))).unwrap();
    let end = Delete { request_id: Some(request_id("r3")), ..delete("note") };
    [Command::Write(first), Command::WriteBatch(batch), Command::Delete(end)]
}

/// Makes every kind of change of entries, snapshots and history.
fn changed(host: &TestHost) {
    let [first, batch, end] = remembered();
    ask(host, "orchestrator", &first);
    let options = WriteOptions { keeps_history: Some(false), ..WriteOptions::default() };
    let beat = Write { options, ..write("heartbeat", "1") };
    ask(host, "subagent:a", &Command::Write(beat));
    host.now.set(host.now.get() + 1_000);
    ask(host, "orchestrator", &batch);
    ask(host, "orchestrator", &end);
    let secret = ask(host, "orchestrator", &Command::Write(write("scope", "a secret")));
    ask(host, "orchestrator", &Command::TakeSnapshot { label: label("after"), note: None });
    let reason = Line::parse("reason", "named a password").unwrap();
    let revision = Some(secret.revision);
    ask(host, "admin", &Command::Redact { key: key("scope"), revision, reason });
    let writable_by = Some(list(&["orchestrator"]));
    let change = AccessChange { writable_by, ..AccessChange::default() };
    ask(host, "orchestrator", &Command::SetAccess { key: key("scope"), change });
    ask(host, "orchestrator", &Command::Write(write("plan_a", "kept")));
}

/// Returns rows as text.
fn dump(rows: &[Row]) -> String {
    rows.iter().fold(String::new(), |mut text, (row, bytes)| {
        write!(text, "{row} ").unwrap();
        for byte in bytes {
            write!(text, "{byte:02x}").unwrap();
        }
        text + "\n"
    })
}

/// Returns everything that can be read of a session, as text.
fn shown(host: &TestHost) -> Vec<String> {
    let mut commands = vec![
        Command::Export,
        Command::Inspect,
        Command::Changes { since: None, limit: 1_000, keys: None, except_own: false },
        Command::Audit { after: Revision(0), limit: 1_000 },
        Command::Prompt { participant: None, max_tokens: None },
        Command::ListSnapshots,
    ];
    for it in ["scope", "note", "inv:draft"] {
        commands.push(Command::ReadHistory { key: key(it), versions: Vec::new() });
    }
    commands.iter().map(|it| format!("{:?}", host.ask("admin", it))).collect()
}

/// Compares the rows of `host` with the file of `format`, or writes the file if it is new.
fn compare_with_golden(host: &TestHost, format: &str) {
    compare_rows_with_golden(&host.rows(""), format);
}

/// Compares rows with the file of `format`, or writes the file if it is new.
fn compare_rows_with_golden(rows: &[Row], format: &str) {
    let fresh = dump(rows);
    let path = golden::path(format);
    if env::var_os("SHARED_CONTEXT_BLESS").is_some() && !path.exists() {
        fs::write(&path, &fresh).unwrap();
    }
    assert_eq!(fresh, fs::read_to_string(path).unwrap());
}

#[test]
fn the_same_changes_give_the_same_bytes() {
    compare_with_golden(&scripted(), "format-3");
}

#[test]
fn the_golden_session_has_a_row_of_every_kind() {
    let host = golden::host_with("format-3", golden::FORMAT_2_REVISION);
    let mut kinds: Vec<String> = host
        .rows("")
        .iter()
        .map(|(row, _)| row.split_inclusive('/').next().unwrap().to_owned())
        .collect();
    kinds.dedup();
    assert_eq!(kinds, ["access", "c/", "e/", "h/", "k/", "meta", "namespace", "q/", "s/", "v/"]);
}

/// After each kind of change, a session read from its rows equals the one before it was
/// stored.
#[test]
fn formats_2_and_3_open_as_they_were_written() {
    for format in ["format-2", "format-3"] {
        let (host, opened) = (scripted(), golden::host_with(format, golden::FORMAT_2_REVISION));
        opened.now.set(host.now.get());
        assert_eq!(shown(&opened), shown(&host));
        for (command, revision) in remembered().iter().zip([8, 10, 11]) {
            let again = ask(&host, "orchestrator", command);
            assert_eq!(again.revision, Revision(revision), "the first answer");
            assert_eq!(ask(&opened, "orchestrator", command), again);
        }
    }
}

/// Earlier formats do not record the size of the session as a document: it is counted
/// when the session changes.
#[test]
fn the_size_of_an_older_session_is_counted() {
    let formats = [("format-1", 5), ("format-2", golden::FORMAT_2_REVISION)];
    for (format, revision) in formats {
        let host = golden::host_with(format, revision);
        ask(&host, "orchestrator", &Command::Write(write("scope", "new")));
        let Reply::Portable(it) = ask(&host, "admin", &Command::Export).reply else { panic!() };
        assert_eq!(host.weight(), Some(weight::of(&it)), "{format}");
    }
}

/// A session of format 1 has its entries and stored replies, and can be changed like any
/// other.
#[test]
fn format_1_still_opens() {
    let host = golden::host_with("format-1", 5);
    let Reply::Session(info) = ask(&host, "admin", &Command::ShowSession).reply else { panic!() };
    assert_eq!((info.key_count, info.total_tokens.0, info.credential_epoch), (1, 1, 1));
    assert_eq!(info.created_at.0, 1_771_597_800_000);
    assert_eq!(info.config.retention, Retention::default());
    assert!(info.config.namespace.is_some_and(|it| it.has(&key("scope"))));
    let read = ask(&host, "admin", &Command::Read { key: key("scope"), if_changed_since: None });
    let Reply::Entry(it) = read.reply else { panic!() };
    assert_eq!(
        (it.value.as_str(), it.shown.entry.written_by.as_str()),
        ("é", "subagent:analysis:3")
    );
    let audit = Command::Audit { after: Revision::default(), limit: 10 };
    let Reply::Audit(page) = ask(&host, "admin", &audit).reply else { panic!() };
    let actions: Vec<&str> = page.records.iter().map(|it| it.action.as_str()).collect();
    assert_eq!(actions, ["create_session", "write", "write", "delete", "revoke_credentials"]);
}

#[test]
fn replies_stored_in_format_1_are_remembered() {
    let host = golden::host_with("format-1", 5);
    let first = Write { request_id: Some(request_id("r1")), ..write("scope", "é") };
    let done = ask(&host, "subagent:analysis:3", &Command::Write(first));
    assert_eq!(done.revision, Revision(2));
    let Reply::Written(it) = done.reply else { panic!() };
    assert_eq!((it.entry.version, it.warnings.len()), (1, 0));
    let second = Write { request_id: Some(request_id("r2")), ..write("draft", "x") };
    let Reply::Written(it) = ask(&host, "orchestrator", &Command::Write(second)).reply else {
        panic!()
    };
    assert_eq!((it.entry.revision, it.warnings.len()), (Revision(3), 1));
    let third = Delete { request_id: Some(request_id("r3")), ..delete("draft") };
    assert_eq!(ask(&host, "orchestrator", &Command::Delete(third)).revision, Revision(4));
}

#[test]
fn a_session_of_format_1_can_be_changed() {
    let host = golden::host_with("format-1", 5);
    let since = Some(Revision(5));
    let listed = ask(&host, "admin", &Command::ListKeys { prefix: None, if_changed_since: since });
    assert!(matches!(listed.reply, Reply::Listing(_)), "the last change of an entry is unknown");
    ask(&host, "orchestrator", &Command::TakeSnapshot { label: label("old"), note: None });
    ask(&host, "orchestrator", &Command::Write(write("scope", "new")));
    let history = Command::ReadHistory { key: key("scope"), versions: Vec::new() };
    let Reply::History(it) = ask(&host, "orchestrator", &history).reply else { panic!() };
    let past: Vec<_> = it.past.iter().map(|it| (it.value.as_str(), it.is_deleted)).collect();
    assert_eq!(past, [("é", false)]);
    ask(&host, "orchestrator", &Command::Delete(delete("scope")));
    let Reply::Restored(it) =
        ask(&host, "orchestrator", &Command::RestoreSnapshot(label("old"))).reply
    else {
        panic!()
    };
    assert_eq!(it.written, [(key("scope"), 1)]);

    let Reply::Portable(it) = ask(&host, "admin", &Command::Export).reply else { panic!() };
    let elsewhere = TestHost::default();
    elsewhere.now.set(it.created_at.0);
    ask(&elsewhere, "admin", &Command::Import(it.clone()));
    let Reply::Portable(again) = ask(&elsewhere, "admin", &Command::Export).reply else { panic!() };
    assert_eq!(again, it);
}
