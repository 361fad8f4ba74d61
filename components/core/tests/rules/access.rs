//! Tests of access lists and rules beyond the model's few lists, and of `Unchanged`
//! replies.

use shared_context_core::{
    Batch, Code, Command, Condition, Config, Delete, Error, Reply, WriteOptions,
    pattern::KeyPattern,
    port::Revision,
    reply::Shown,
    store::{
        Limits,
        access::{Access, AccessChange, AccessRule},
    },
};

use crate::{
    ORCHESTRATOR, a_write, ask, delete, error_code, feed, key, keys, list, read, readers, session,
    set_readers, snapshot, support::TestHost, take_snapshot, write,
};

fn read_since(host: &TestHost, who: &str, since: u64) -> Result<Reply, Code> {
    let if_changed_since = Some(Revision(since));
    let command = Command::Read { key: key("x"), if_changed_since };
    host.ask(who, &command).map(|it| it.reply).map_err(|err| err.code())
}

#[test]
fn lists_narrow_rules_and_a_new_key_follows_them() {
    let rule = |keys: &str, readers: &[&str], writers: &[&str]| AccessRule {
        keys: KeyPattern::parse(keys).unwrap(),
        access: Access { readable_by: list(readers), writable_by: list(writers) },
    };
    let access = vec![
        rule("plan_*", &["*"], &[ORCHESTRATOR, "subagent:plan*"]),
        rule("*_draft", &["subagent:*", ORCHESTRATOR], &["subagent:*"]),
    ];
    let host = session(Config { access, ..Config::default() });
    let may = |who: &str, key: &str| {
        let done = host.ask(who, &a_write(key, "", WriteOptions::default()));
        done.map(|_| ()).map_err(|err| err.code())
    };
    assert_eq!(may("subagent:planner:7", "plan_a"), Ok(()));
    assert_eq!(may("subagent:review", "plan_a"), Err(Code::Forbidden));
    assert_eq!(may("subagent:planner", "plan_draft"), Ok(()), "both rules let it");
    assert_eq!(may(ORCHESTRATOR, "plan_draft"), Err(Code::Forbidden), "one does not");
    assert_eq!(may("admin", "other"), Err(Code::Forbidden));
    // A list cannot widen a rule.
    let change = AccessChange { writable_by: Some(list(&["*"])), ..AccessChange::default() };
    ask(&host, ORCHESTRATOR, &Command::SetAccess { key: key("plan_a"), change });
    assert_eq!(may("subagent:review", "plan_a"), Err(Code::Forbidden));
}

/// An orchestrator that a rule of the session excludes was once advised to open the entry with
/// `set_access`, which has no effect: a list cannot widen a rule.
#[test]
fn an_orchestrator_is_told_which_rule_keeps_it_out() {
    let access = Access { readable_by: list(&["subagent:*"]), ..Access::default() };
    let rule = AccessRule { keys: KeyPattern::parse("plan_*").unwrap(), access };
    let host = session(Config { access: vec![rule], ..Config::default() });
    for (name, readers) in [("plan_a", readers(&["*"])), ("other", readers(&["subagent:a"]))] {
        let options = WriteOptions { access: readers, ..WriteOptions::default() };
        ask(&host, "subagent:a", &a_write(name, "v", options));
    }
    let error = |name: &str| {
        let read = Command::Read { key: key(name), if_changed_since: None };
        host.ask(ORCHESTRATOR, &read).unwrap_err()
    };
    assert_eq!(error("plan_a").code(), Code::Forbidden);
    let told = error("plan_a").to_string();
    assert!(told.contains("rule for plan_*") && told.contains("update_session"), "{told}");
    assert!(error("other").to_string().contains("open it to yourself with set_access"));
}

#[test]
fn only_the_orchestrator_and_the_writer_change_lists() {
    let host = session(Config::default());
    let with = |patterns: &[&str]| WriteOptions { access: readers(patterns), ..Default::default() };
    ask(&host, "subagent:a", &a_write("x", "", WriteOptions::default()));
    let narrowing = a_write("x", "", with(&["subagent:b"]));
    assert_eq!(error_code(&host, "subagent:b", &narrowing), Code::Forbidden);
    let change = readers(&["subagent:b"]);
    let set = Command::SetAccess { key: key("x"), change };
    assert_eq!(error_code(&host, "subagent:b", &set), Code::Forbidden);
    assert_eq!(error_code(&host, "admin", &set), Code::Forbidden);
    // Setting the same lists is no change.
    ask(&host, "subagent:b", &a_write("x", "", with(&["*"])));
    assert_eq!(error_code(&host, "subagent:a", &set), Code::Forbidden, "no longer the writer");
    ask(&host, "subagent:b", &set);
    assert_eq!(keys(&host, "subagent:a"), Vec::<String>::new());
    assert_eq!(
        error_code(&host, "subagent:a", &crate::a_delete("x")),
        Code::Forbidden,
        "hidden: not missing"
    );
    // The orchestrator may open an entry that it cannot read.
    set_readers(&host, "x", &["*"]);
    assert_eq!(keys(&host, "subagent:a"), ["x"]);
}

/// A caller that has not seen the entry, or only with other lists, does not get
/// `Unchanged`.
#[test]
fn unchanged_is_returned_only_if_the_caller_sees_the_same() {
    let host = session(Config::default());
    write(&host, "x", "1");
    set_readers(&host, "x", &[ORCHESTRATOR]);
    let hidden = write(&host, "other", "").0;
    set_readers(&host, "x", &["*"]);
    assert!(matches!(read_since(&host, "subagent:b", hidden), Ok(Reply::Entry(_))));
    assert!(
        matches!(read_since(&host, ORCHESTRATOR, hidden), Ok(Reply::Entry(_))),
        "its lists changed"
    );
    assert_eq!(read_since(&host, ORCHESTRATOR, hidden + 1), Ok(Reply::Unchanged));
    assert!(
        matches!(read_since(&host, ORCHESTRATOR, hidden + 2), Ok(Reply::Entry(_))),
        "not reached yet"
    );
}

/// The session of an id may have been recreated from an older document.
#[test]
fn a_revision_of_an_earlier_session_is_not_comparable() {
    let host = session(Config::default());
    write(&host, "x", "old");
    let document = crate::export(&host);
    let seen = write(&host, "x", "new").0;
    ask(&host, "admin", &Command::DeleteSession);
    ask(&host, "admin", &Command::Import(document));
    let Ok(Reply::Entry(it)) = read_since(&host, ORCHESTRATOR, seen) else {
        panic!("another session")
    };
    assert_eq!(it.value, "old");
}

/// A snapshot never shows an entry that is hidden from the caller now, or was then.
#[test]
fn a_snapshot_reveals_no_hidden_entries() {
    let host = session(Config::default());
    write(&host, "was_open", "1");
    write(&host, "was_closed", "1");
    write(&host, "stays", "1");
    set_readers(&host, "was_closed", &[ORCHESTRATOR]);
    take_snapshot(&host, "s");
    set_readers(&host, "was_open", &[ORCHESTRATOR]);
    set_readers(&host, "was_closed", &["*"]);
    let seen = snapshot(&host, "subagent:b", "s");
    assert_eq!(seen, [("stays".to_owned(), "1".to_owned())]);
    let one = Command::ReadSnapshot { label: crate::label("s"), key: Some(key("was_open")) };
    assert_eq!(error_code(&host, "subagent:b", &one), Code::KeyNotFound);
    let diff = Command::DiffSnapshots { from: crate::label("s"), to: None };
    let Reply::Diff(it) = ask(&host, "subagent:b", &diff).reply else { panic!() };
    let added: Vec<_> = it.diff.added.iter().map(|it| it.key.as_str()).collect();
    assert_eq!((added, it.diff.removed.len(), it.diff.unchanged), (vec!["was_closed"], 0, 1));
    delete(&host, "stays");
    assert_eq!(
        snapshot(&host, "subagent:b", "s").len(),
        1,
        "a deleted entry, as far as it was visible"
    );
}

/// A subagent once filled the store with entries that only it could read: the
/// orchestrator saw an empty list, and `STORE_FULL` named nothing. Now it sees the
/// metadata of every entry and may delete each, but never sees a value that is closed to
/// it.
#[test]
fn the_orchestrator_sees_what_fills_the_store() {
    let own =
        |readers: &[&str]| WriteOptions { access: self::readers(readers), ..Default::default() };
    let access = vec![AccessRule {
        keys: KeyPattern::parse("b_*").unwrap(),
        access: Access { readable_by: list(&["subagent:b"]), ..Access::default() },
    }];
    let limits = Limits { keys_max: 2, ..Limits::default() };
    let host = session(Config { access, limits, ..Config::default() });
    ask(&host, "subagent:b", &a_write("a_hidden", "a secret", own(&["subagent:b"])));
    take_snapshot(&host, "s");
    ask(&host, "subagent:b", &a_write("b_hidden", "a secret", WriteOptions::default()));

    let list = Command::ListKeys { prefix: None, if_changed_since: None };
    let Reply::Listing(it) = ask(&host, ORCHESTRATOR, &list).reply else { panic!() };
    let shown = |it: &Shown| (it.entry.key.to_string(), it.is_readable, it.is_read_only);
    let hidden = |key: &str| (key.to_owned(), false, true);
    let seen: Vec<_> = it.entries.iter().map(shown).collect();
    assert_eq!(seen, [hidden("a_hidden"), hidden("b_hidden")]);
    assert_eq!(keys(&host, "subagent:a"), Vec::<String>::new(), "others see nothing");

    let full = host.ask(ORCHESTRATOR, &a_write("c", "", WriteOptions::default())).unwrap_err();
    let Error::StoreFull { largest, .. } = full else { panic!("{full}") };
    assert_eq!(
        largest.iter().map(|it| it.0.as_str()).collect::<Vec<_>>(),
        ["a_hidden", "b_hidden"]
    );
    assert_eq!(feed(&host, ORCHESTRATOR, None).len(), 4, "with the two writes");
    let diff = Command::DiffSnapshots { from: crate::label("s"), to: None };
    let Reply::Diff(it) = ask(&host, ORCHESTRATOR, &diff).reply else { panic!() };
    assert_eq!((it.diff.added.len(), it.diff.unchanged), (1, 1));

    let label = crate::label("s");
    for command in [
        Command::Read { key: key("a_hidden"), if_changed_since: None },
        Command::ReadHistory { key: key("b_hidden"), versions: Vec::new() },
        Command::ReadSnapshot { label: label.clone(), key: Some(key("a_hidden")) },
        a_write("a_hidden", "", WriteOptions::default()),
    ] {
        assert_eq!(error_code(&host, ORCHESTRATOR, &command), Code::Forbidden, "{command:?}");
    }
    let batch = Command::ReadBatch { keys: vec![key("a_hidden")], if_changed_since: None };
    let Reply::Entries(it) = ask(&host, ORCHESTRATOR, &batch).reply else { panic!() };
    assert_eq!((it.entries.len(), it.missing.len()), (0, 1));
    assert_eq!(snapshot(&host, ORCHESTRATOR, "s").len(), 0, "no value");

    set_readers(&host, "a_hidden", &["*"]);
    assert_eq!(read(&host, ORCHESTRATOR, "a_hidden"), Some("a secret".to_owned()));
    let gone =
        |key_: &str| Delete { key: key(key_), condition: Condition::default(), request_id: None };
    ask(&host, ORCHESTRATOR, &Command::Delete(gone("b_hidden")));
    ask(&host, "subagent:b", &a_write("b_2", "", WriteOptions::default()));
    let batch = Batch::new(Vec::new(), vec![gone("a_hidden"), gone("b_2")], None).unwrap();
    ask(&host, ORCHESTRATOR, &Command::WriteBatch(batch));
    assert_eq!(keys(&host, ORCHESTRATOR), Vec::<String>::new());
}
