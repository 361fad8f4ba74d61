//! Tests of documents: invalid ones are rejected, valid ones are imported. The codec
//! checks that a document was not altered.

use proptest::{collection::vec, prelude::*, sample::select};
use shared_context_core::{
    Caller, Code, Command, Config, Credential, Key, Participant, Reply, Scope, ScopeKind,
    WriteOptions,
    config::Retention,
    execute,
    port::{NoTokenizer, Ports, Revision},
    portable::Portable,
    store::{Entry, Limits, Totals, history::EndedHow, snapshot::Snapshot},
    time::Timestamp,
    tokens::Tokens,
};

use crate::{
    ORCHESTRATOR, a_delete, a_write, ask, delete, error_code, export, key, keys, label, line, past,
    read, readers, session, snapshot, support::TestHost, take_snapshot, ttl, write, write_with,
};

/// Returns a session with some of everything. Revision 2 writes `a`, and 3 again; 4 takes
/// snapshot `one`; 5 writes `b`, 6 deletes it; 7 writes `c`, without history; 8 and 9
/// take snapshots `two` and `three`; 10 writes `c`; 11 writes `d`.
fn document() -> Portable {
    let retention = Retention { history_versions_max: 2, snapshots_max: 3, ..Retention::default() };
    let limits = Limits { value_tokens_max: Tokens(5), keys_max: 3, ..Limits::default() };
    let host = session(Config { retention, limits, ..Config::default() });
    let unkept = || WriteOptions { keeps_history: Some(false), ..WriteOptions::default() };
    write(&host, "a", "first");
    write(&host, "a", "second");
    take_snapshot(&host, "one");
    write(&host, "b", "gone");
    delete(&host, "b");
    write_with(&host, "c", "1", unkept());
    take_snapshot(&host, "two");
    take_snapshot(&host, "three");
    write_with(&host, "c", "2", unkept());
    write(&host, "d", "");
    *export(&host)
}

fn import(document: Portable) -> (TestHost, Result<(), Code>) {
    let host = TestHost::default();
    host.now.set(1_000_000);
    let done = host.ask("admin", &Command::Import(Box::new(document)));
    (host, done.map(|_| ()).map_err(|err| err.code()))
}

/// An edit of a document, and the defect it causes.
type Edit = (&'static str, fn(&mut Portable));

fn value(it: &mut Portable, key: &str, revision: u64, text: &str) {
    it.values.insert((Key::parse(key).unwrap(), Revision(revision)), text.to_owned());
}

fn participant(text: &str) -> Participant {
    Participant::parse(text).unwrap()
}

/// Adds copies of the last entry under other keys.
fn add_keys(it: &mut Portable, count: u32) {
    for nth in 0..count {
        let key = Key::parse(&format!("key_{nth}")).unwrap();
        value(it, key.as_str(), 11, "");
        it.entries.push(Entry { key, ..it.entries.last().cloned().unwrap() });
    }
}

/// Adds snapshots of the entries as they are.
fn add_snapshots(it: &mut Portable, count: u64) {
    for nth in 0..count {
        let (mut next, entries) = (it.snapshots.last().cloned().unwrap(), it.entries.clone());
        next.info.label = label(&nth.to_string());
        next.info.revision = Revision(12 + nth);
        next.info.totals = Totals::of(&entries);
        it.snapshots.push(Snapshot { entries, ..next });
    }
}

#[test]
fn impossible_documents_are_rejected() {
    let edits: &[Edit] = &[
        ("an entry twice", |it| it.entries.push(it.entries[0].clone())),
        ("a value is missing", |it| drop(it.values.pop_first())),
        ("a value of nothing", |it| value(it, "a", 9, "left over")),
        ("a value of an unknown key", |it| value(it, "zzz", 3, "left over")),
        ("a size in tokens", |it| it.entries[0].value_tokens = Tokens(1)),
        ("a size in bytes", |it| it.entries[0].value_bytes = 1),
        ("version 0", |it| it.entries[0].version = 0),
        ("revision 0", |it| {
            it.snapshots.clear();
            let entry = &mut it.entries[2];
            (entry.revision, entry.created) = (Revision(0), Revision(0));
            value(it, "d", 0, "");
        }),
        ("created after it was written", |it| it.entries[0].created = Revision(4)),
        ("a prefix", |it| {
            let old = (it.entries[2].key.clone(), Revision(11));
            let value = it.values.remove(&old).unwrap();
            it.entries[2].key = Key::parse("p:d").unwrap();
            it.values.insert((it.entries[2].key.clone(), Revision(11)), value);
        }),
        ("more keys than there may be", |it| add_keys(it, 9_998)),
        ("a value larger than there may be", |it| {
            value(it, "d", 11, &"x".repeat(200_001));
            it.entries[2].value_tokens = Tokens(50_001);
            it.entries[2].value_bytes = 200_001;
        }),
        ("more versions of a key than are kept", |it| {
            it.config.retention.history_versions_max = 0;
        }),
        ("more snapshots than there may be", |it| add_snapshots(it, 98)),
        ("limits that are none", |it| it.config.limits.keys_max = 0),
        ("a version that ended before it was written", |it| {
            it.history[0].ended.revision = Revision(2);
        }),
        ("history out of order", |it| it.history.swap(0, 1)),
        ("a version twice", |it| it.history.insert(0, it.history[0].clone())),
        ("a version that overlaps the entry", |it| it.history[0].ended.revision = Revision(5)),
        ("an entry that was there before its past", |it| {
            it.entries[0].revision = Revision(2);
        }),
        ("a label twice", |it| it.snapshots[1].info.label = label("one")),
        ("snapshots out of order", |it| it.snapshots.swap(0, 1)),
        ("a snapshot of what was written later", |it| it.snapshots[0].info.revision = Revision(2)),
        ("a snapshot that does not add up", |it| it.snapshots[0].info.totals.keys = 2),
        ("a key twice in a snapshot", |it| {
            let again = it.snapshots[0].entries[0].clone();
            it.snapshots[0].entries.push(again);
            it.snapshots[0].info.totals.keys += 1;
            it.snapshots[0].info.totals.tokens = Tokens(4);
        }),
        ("a snapshot without an entry that was there", |it| {
            it.snapshots[0].entries.clear();
            it.snapshots[0].info.totals = Totals::default();
        }),
        ("a snapshot of what history says had ended", |it| {
            let (snapshot, dead) = (&mut it.snapshots[1], it.history[1].entry.clone());
            snapshot.info.totals = snapshot.info.totals.replace(None, Some(&dead));
            snapshot.entries.push(dead);
        }),
        ("a version that ended and came back", |it| {
            // Only snapshots have the first `c`: two holds it, three holds another.
            let last = it.snapshots[2].clone();
            let mut between = last.clone();
            between.info.revision = Revision(8);
            between.info.label = it.snapshots[1].info.label.clone();
            between.entries.retain(|it| it.key.as_str() != "c");
            between.info.totals.keys -= 1;
            between.info.totals.tokens = between.info.totals.tokens.minus(Tokens(1));
            it.snapshots[1] = between;
        }),
        ("the future", |it| it.created_at = Timestamp(1_000_000 + 86_400_001)),
    ];
    let good = document();
    assert_eq!(import(good.clone()).1, Ok(()), "it is valid before it is edited");
    // Limits that were lowered later are no reason to reject it.
    let mut over = good.clone();
    let (mut keys, mut snapshots) = (good.clone(), good.clone());
    add_keys(&mut keys, 9_997);
    add_snapshots(&mut snapshots, 97);
    assert_eq!([import(keys).1, import(snapshots).1], [Ok(()), Ok(())], "as many as may be");
    over.config.limits = Limits { keys_max: 1, value_tokens_max: Tokens(1), ..Limits::default() };
    over.config.retention.snapshots_max = 0;
    assert_eq!(import(over).1, Ok(()));
    check_rejected(edits);
}

/// These were once imported. The value of the first could not be redacted.
#[test]
fn documents_that_no_session_left_are_rejected() {
    check_rejected(&[
        ("a redacted value in the clear", |it| it.entries[2].is_redacted = true),
        ("an entry of the admin", |it| it.entries[2].written_by = participant("admin")),
        ("a version that the admin ended", |it| it.history[1].ended.by = participant("admin")),
        ("a snapshot of a subagent", |it| {
            it.snapshots[0].info.taken_by = participant("subagent:a");
        }),
        ("a version by two writers", |it| {
            it.snapshots[0].entries[0].written_by = participant("subagent:a");
        }),
        ("an entry with the version of an earlier one", |it| it.entries[1].version = 1),
        ("an entry with the version of its past", |it| {
            let held = it.snapshots.iter_mut().flat_map(|it| &mut it.entries);
            let copies = it.entries.iter_mut().chain(held).filter(|it| it.key.as_str() == "a");
            copies.for_each(|it| it.version = 1);
        }),
        ("more versions than there were commits", |it| it.entries[2].version = 2),
        ("an entry deleted in the middle of its life", |it| {
            it.history[0].ended.how = EndedHow::Deleted;
        }),
        ("an expiry of what never expires", |it| it.history[1].ended.how = EndedHow::Expired),
        ("a new life before the old one ended", |it| it.history[0].entry.created = Revision(1)),
        ("touched before it was written", |it| it.entries[2].touched = Revision(10)),
        ("touched after it ended", |it| it.history[0].entry.touched = Revision(3)),
        ("touched after its snapshot", |it| it.snapshots[0].entries[0].touched = Revision(5)),
        ("revisions that leave no room", |it| it.entries[0].touched = Revision(u64::MAX)),
    ]);
}

/// Checks that a document is rejected once it is edited.
fn check_rejected(edits: &[Edit]) {
    for (what, edit) in edits {
        let mut document = document();
        edit(&mut document);
        let (host, answer) = import(document);
        assert_eq!(answer, Err(Code::MalformedRequest), "{what}");
        assert_eq!(host.rows("").len(), 0, "{what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Rules about documents must not reject what a session can be in, at any clock.
    #[test]
    fn every_export_can_be_imported(
        steps in vec((0..12_u8, select(&["a", "b", "c"][..]), 0..4_u64), 1..60),
        history_versions_max in 0..4_u32,
    ) {
        let retention =
            Retention { history_versions_max, history_bytes_max: 700, ..Retention::default() };
        let host = session(Config { retention, ..Config::default() });
        for (nth, (step, name, number)) in steps.into_iter().enumerate() {
            let who = if number == 0 { ORCHESTRATOR } else { "subagent:a" };
            let command = match step {
                0..3 => a_write(name, &number.to_string().repeat(nth), WriteOptions::default()),
                3 => a_write(name, "short-lived", ttl(number + 1)),
                4 => {
                    let keeps_history = Some(number > 1);
                    a_write(name, "x", WriteOptions { keeps_history, ..WriteOptions::default() })
                }
                5 => a_delete(name),
                6 => Command::TakeSnapshot { label: label(&number.to_string()), note: None },
                7 => Command::RestoreSnapshot(label(&number.to_string())),
                8 => Command::DeleteSnapshot(label(&number.to_string())),
                9 => Command::Redact { key: key(name), revision: None, reason: line("secret") },
                10 => Command::SetAccess { key: key(name), change: readers(&["*", who]) },
                _ => {
                    host.now.set(if number == 0 { 990_000 } else { host.now.get() + 900 });
                    continue;
                }
            };
            // Steps that fail change nothing.
            drop(host.ask(if (6..10).contains(&step) { ORCHESTRATOR } else { who }, &command));
        }
        let document = export(&host);
        let copy = TestHost::default();
        copy.now.set(host.now.get());
        ask(&copy, "admin", &Command::Import(document.clone()));
        prop_assert_eq!(export(&copy), document);
    }
}

/// An imported session can be changed as if it had never been exported.
#[test]
fn an_imported_session_can_be_changed() {
    let (host, done) = import(document());
    assert_eq!(done, Ok(()));
    assert_eq!(keys(&host, ORCHESTRATOR), ["a", "c", "d"]);
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["first"]);
    for name in ["two", "one", "three"] {
        assert_eq!(snapshot(&host, ORCHESTRATOR, name)[0].1, "second");
        crate::delete_snapshot(&host, name);
    }
    for value in ["3", "4", "5"] {
        write(&host, "a", value);
        write(&host, "c", value);
    }
    for key in ["a", "c", "d"] {
        delete(&host, key);
    }
    for key in ["a", "b", "c"] {
        write(&host, key, "");
    }
    let document = export(&host);
    assert_eq!(crate::values(&host).len(), document.values.len(), "no value is left over");
}

#[test]
fn only_the_admin_imports_and_only_if_no_session_exists() {
    let host = session(Config::default());
    let command = Command::Import(export(&host));
    assert_eq!(error_code(&host, "admin", &command), Code::SessionExists);
    assert_eq!(error_code(&host, ORCHESTRATOR, &command), Code::Forbidden);
    assert_eq!(error_code(&host, ORCHESTRATOR, &Command::Export), Code::Forbidden);
}

#[test]
fn an_archived_session_is_imported_as_archived() {
    let host = session(Config::default());
    write(&host, "a", "1");
    ask(&host, "admin", &Command::ArchiveSession);
    let (host, _) = import(*export(&host));
    assert_eq!(error_code(&host, ORCHESTRATOR, &crate::a_delete("a")), Code::SessionArchived);
    assert_eq!(read(&host, ORCHESTRATOR, "a"), Some("1".to_owned()));
}

/// Covers entries that expired unnoticed before the export, and those that expire before
/// the import.
#[test]
fn entries_that_expire_before_the_import_are_gone() {
    let host = session(Config::default());
    write_with(&host, "before", "1", ttl(1));
    write_with(&host, "on_the_way", "1", ttl(5));
    write_with(&host, "later", "1", ttl(9));
    take_snapshot(&host, "s");
    host.now.set(1_001_000);
    let document = export(&host);
    assert_eq!(document.entries.len(), 2);
    assert_eq!(document.history.len(), 1);
    let host = TestHost::default();
    host.now.set(1_005_000);
    let done = ask(&host, "admin", &Command::Import(document));
    assert_eq!(done.next_expiry, Some(Timestamp(1_005_000)), "the timer fires at once");
    assert_eq!(keys(&host, ORCHESTRATOR), ["later"]);
    assert_eq!(past(&host, ORCHESTRATOR, "before"), ["1"]);
    assert_eq!(past(&host, ORCHESTRATOR, "on_the_way"), ["1"]);
    assert_eq!(snapshot(&host, ORCHESTRATOR, "s").len(), 3);
    ask(&host, ORCHESTRATOR, &Command::Sweep);
    assert_eq!((host.rows("k/").len(), crate::values(&host).len()), (1, 3));
    assert_eq!(crate::restore(&host, "s").unchanged, 1);
    let Reply::Listing(it) =
        ask(&host, ORCHESTRATOR, &Command::ListKeys { prefix: None, if_changed_since: None }).reply
    else {
        panic!()
    };
    assert_eq!(it.entries[0].entry.key, key("later"));
}

/// An import raises the revisions of an id, and they stay raised after a deletion.
#[test]
fn the_revisions_of_an_id_never_go_back() {
    let host = session(Config::default());
    for nth in 0..20_u32 {
        write(&host, "a", &nth.to_string());
    }
    let document = export(&host);
    let host = TestHost::default();
    host.now.set(1_000_000);
    let first = ask(&host, "admin", &Command::Import(document)).revision;
    assert!(first.0 > 20);
    let ended = ask(&host, "admin", &Command::DeleteSession).revision;
    assert_eq!(ended, first.next());
    let again = ask(&host, "admin", &Command::CreateSession(Box::default())).revision;
    assert_eq!(again, ended.next());
}

/// A session that moves between hosts is a different one on each, even if nothing in the
/// document shows that it was elsewhere.
#[test]
fn credentials_are_void_after_an_import_elsewhere() {
    let mut host = session(Config::default());
    let mut old = Vec::new();
    for _ in 0..3 {
        old.push(credential(&host));
        let document = export(&host);
        host = elsewhere(&host);
        ask(&host, "admin", &Command::Import(document));
        for credential in &old {
            check_void(&host, *credential);
        }
    }
}

/// With new storage under the same secret, revisions began at 1 again, so that revoked
/// credentials were valid for a new session of the same id.
#[test]
fn credentials_are_void_for_a_session_recreated_elsewhere() {
    let host = session(Config::default());
    let revoked = credential(&host);
    ask(&host, "admin", &Command::RevokeCredentials);
    let good = credential(&host);
    check_void(&host, revoked);
    let host = elsewhere(&host);
    ask(&host, "admin", &Command::CreateSession(Box::default()));
    assert_eq!(credential(&host).incarnation, revoked.incarnation, "revisions tell nothing");
    check_void(&host, revoked);
    check_void(&host, good);
}

/// Returns a current credential of the session.
fn credential(host: &TestHost) -> Credential {
    let Reply::Session(it) = ask(host, "admin", &Command::ShowSession).reply else { panic!() };
    Credential { incarnation: it.incarnation, epoch: it.credential_epoch }
}

/// Returns another host without sessions, slightly later.
fn elsewhere(host: &TestHost) -> TestHost {
    let other = TestHost::default();
    other.now.set(host.now.get() + 7);
    other
}

#[track_caller]
fn check_void(host: &TestHost, credential: Credential) {
    let mut caller = Caller::trusted(ORCHESTRATOR).unwrap();
    caller.credential = Some(credential);
    let ports = Ports { kv: &host, clock: host, log: host, tokenizer: &NoTokenizer };
    let session = Scope::parse(ScopeKind::Session, "s").unwrap();
    let answer = execute(&ports, &session, &caller, &Command::ShowSession);
    assert_eq!(answer.map(|_| ()).map_err(|err| err.code()), Err(Code::Unauthenticated));
}

/// The tools and the rules for secrets of a session are exported and imported with it.
#[test]
fn tools_and_rejected_secrets_belong_to_a_session() {
    let tools = vec!["delta_rounds".to_owned()];
    let config = Config { tools: tools.clone(), rejects_secrets: true, ..Config::default() };
    let host = session(config);
    let secret = "password=hunter2!";
    let rejected = a_write("a", secret, WriteOptions::default());
    assert_eq!(error_code(&host, ORCHESTRATOR, &rejected), Code::SensitiveValue);
    write(&host, "a", "the password is in the vault, item 7");
    let (copy, done) = import(*export(&host));
    assert_eq!(done, Ok(()));
    assert_eq!(error_code(&copy, ORCHESTRATOR, &rejected), Code::SensitiveValue);
    let Reply::Session(info) = ask(&copy, "admin", &Command::ShowSession).reply else { panic!() };
    assert_eq!((info.config.tools, info.config.rejects_secrets), (tools, true));

    let unknown = Config { tools: vec!["contents".to_owned()], ..Config::default() };
    assert!(unknown.check().unwrap_err().to_string().contains("delta_rounds"));
    let lenient = session(Config::default());
    write(&lenient, "a", secret);
}
