//! Who may read and write, beyond what the model's few lists can say, and what is
//! told to whom it is unchanged.

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
    CHIEF, a_write, ask, delete, feed, key, keys, list, read, readers, refused, session,
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
        rule("plan_*", &["*"], &[CHIEF, "subagent:plan*"]),
        rule("*_draft", &["subagent:*", CHIEF], &["subagent:*"]),
    ];
    let host = session(Config { access, ..Config::default() });
    let may = |who: &str, key: &str| {
        let done = host.ask(who, &a_write(key, "", WriteOptions::default()));
        done.map(|_| ()).map_err(|err| err.code())
    };
    assert_eq!(may("subagent:planner:7", "plan_a"), Ok(()));
    assert_eq!(may("subagent:review", "plan_a"), Err(Code::Forbidden));
    assert_eq!(may("subagent:planner", "plan_draft"), Ok(()), "both rules let it");
    assert_eq!(may(CHIEF, "plan_draft"), Err(Code::Forbidden), "one does not");
    assert_eq!(may("admin", "other"), Err(Code::Forbidden));
    // A list cannot widen what a rule does not allow.
    let change = AccessChange { writable_by: Some(list(&["*"])), ..AccessChange::default() };
    ask(&host, CHIEF, &Command::SetAccess { key: key("plan_a"), change });
    assert_eq!(may("subagent:review", "plan_a"), Err(Code::Forbidden));
}

#[test]
fn only_the_orchestrator_and_the_writer_change_lists() {
    let host = session(Config::default());
    let with = |patterns: &[&str]| WriteOptions { access: readers(patterns), ..Default::default() };
    ask(&host, "subagent:a", &a_write("x", "", WriteOptions::default()));
    let narrowing = a_write("x", "", with(&["subagent:b"]));
    assert_eq!(refused(&host, "subagent:b", &narrowing), Code::Forbidden);
    let change = readers(&["subagent:b"]);
    let set = Command::SetAccess { key: key("x"), change };
    assert_eq!(refused(&host, "subagent:b", &set), Code::Forbidden);
    assert_eq!(refused(&host, "admin", &set), Code::Forbidden);
    // Giving the lists it has is no change of them.
    ask(&host, "subagent:b", &a_write("x", "", with(&["*"])));
    assert_eq!(refused(&host, "subagent:a", &set), Code::Forbidden, "no longer the writer");
    ask(&host, "subagent:b", &set);
    assert_eq!(keys(&host, "subagent:a"), Vec::<String>::new());
    assert_eq!(
        refused(&host, "subagent:a", &crate::a_delete("x")),
        Code::Forbidden,
        "hidden: not missing"
    );
    // Who may not read it may still be the one that opens it.
    set_readers(&host, "x", &["*"]);
    assert_eq!(keys(&host, "subagent:a"), ["x"]);
}

/// Who has not seen the entry is not told that it is unchanged, nor who has seen
/// other lists of it.
#[test]
fn unchanged_is_told_only_to_who_would_see_the_same() {
    let host = session(Config::default());
    write(&host, "x", "1");
    set_readers(&host, "x", &[CHIEF]);
    let hidden = write(&host, "other", "").0;
    set_readers(&host, "x", &["*"]);
    assert!(matches!(read_since(&host, "subagent:b", hidden), Ok(Reply::Entry(_))));
    assert!(matches!(read_since(&host, CHIEF, hidden), Ok(Reply::Entry(_))), "its lists changed");
    assert_eq!(read_since(&host, CHIEF, hidden + 1), Ok(Reply::Unchanged));
    assert!(matches!(read_since(&host, CHIEF, hidden + 2), Ok(Reply::Entry(_))), "not reached yet");
}

/// The session of a name may be another one, made from an older document.
#[test]
fn a_revision_of_an_earlier_life_tells_nothing_of_this_one() {
    let host = session(Config::default());
    write(&host, "x", "old");
    let document = crate::export(&host);
    let seen = write(&host, "x", "new").0;
    ask(&host, "admin", &Command::DeleteSession);
    ask(&host, "admin", &Command::Import(document));
    let Ok(Reply::Entry(it)) = read_since(&host, CHIEF, seen) else { panic!("it is another") };
    assert_eq!(it.value, "old");
}

/// A snapshot shows nobody what is hidden from them now, or was then.
#[test]
fn a_snapshot_opens_nothing() {
    let host = session(Config::default());
    write(&host, "was_open", "1");
    write(&host, "was_closed", "1");
    write(&host, "stays", "1");
    set_readers(&host, "was_closed", &[CHIEF]);
    take_snapshot(&host, "s");
    set_readers(&host, "was_open", &[CHIEF]);
    set_readers(&host, "was_closed", &["*"]);
    let seen = snapshot(&host, "subagent:b", "s");
    assert_eq!(seen, [("stays".to_owned(), "1".to_owned())]);
    let one = Command::ReadSnapshot { label: crate::label("s"), key: Some(key("was_open")) };
    assert_eq!(refused(&host, "subagent:b", &one), Code::KeyNotFound);
    let diff = Command::DiffSnapshots { from: crate::label("s"), to: None };
    let Reply::Diff(it) = ask(&host, "subagent:b", &diff).reply else { panic!() };
    let added: Vec<_> = it.diff.added.iter().map(|it| it.key.as_str()).collect();
    assert_eq!((added, it.diff.removed.len(), it.diff.unchanged), (vec!["was_closed"], 0, 1));
    delete(&host, "stays");
    assert_eq!(snapshot(&host, "subagent:b", "s").len(), 1, "of what is gone, what was shown");
}

/// A subagent once filled the store with entries that only it could read: the
/// orchestrator saw an empty list, and `STORE_FULL` named nothing. Now it sees the metadata
/// of every entry, never a value that is closed to it, and may delete each.
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
    let Reply::Listing(it) = ask(&host, CHIEF, &list).reply else { panic!() };
    let shown = |it: &Shown| (it.entry.key.to_string(), it.is_readable, it.is_read_only);
    let hidden = |key: &str| (key.to_owned(), false, true);
    let seen: Vec<_> = it.entries.iter().map(shown).collect();
    assert_eq!(seen, [hidden("a_hidden"), hidden("b_hidden")]);
    assert_eq!(keys(&host, "subagent:a"), Vec::<String>::new(), "others see nothing");

    let full = host.ask(CHIEF, &a_write("c", "", WriteOptions::default())).unwrap_err();
    let Error::StoreFull { largest, .. } = full else { panic!("{full}") };
    assert_eq!(
        largest.iter().map(|it| it.0.as_str()).collect::<Vec<_>>(),
        ["a_hidden", "b_hidden"]
    );
    assert_eq!(feed(&host, CHIEF, None).len(), 4, "with the two writes");
    let diff = Command::DiffSnapshots { from: crate::label("s"), to: None };
    let Reply::Diff(it) = ask(&host, CHIEF, &diff).reply else { panic!() };
    assert_eq!((it.diff.added.len(), it.diff.unchanged), (1, 1));

    let label = crate::label("s");
    for command in [
        Command::Read { key: key("a_hidden"), if_changed_since: None },
        Command::ReadHistory { key: key("b_hidden"), versions: Vec::new() },
        Command::ReadSnapshot { label: label.clone(), key: Some(key("a_hidden")) },
        a_write("a_hidden", "", WriteOptions::default()),
    ] {
        assert_eq!(refused(&host, CHIEF, &command), Code::Forbidden, "{command:?}");
    }
    let batch = Command::ReadBatch { keys: vec![key("a_hidden")], if_changed_since: None };
    let Reply::Entries(it) = ask(&host, CHIEF, &batch).reply else { panic!() };
    assert_eq!((it.entries.len(), it.missing.len()), (0, 1));
    assert_eq!(snapshot(&host, CHIEF, "s").len(), 0, "no value");

    set_readers(&host, "a_hidden", &["*"]);
    assert_eq!(read(&host, CHIEF, "a_hidden"), Some("a secret".to_owned()));
    let gone =
        |key_: &str| Delete { key: key(key_), condition: Condition::default(), request_id: None };
    ask(&host, CHIEF, &Command::Delete(gone("b_hidden")));
    ask(&host, "subagent:b", &a_write("b_2", "", WriteOptions::default()));
    let batch = Batch::new(Vec::new(), vec![gone("a_hidden"), gone("b_2")], None).unwrap();
    ask(&host, CHIEF, &Command::WriteBatch(batch));
    assert_eq!(keys(&host, CHIEF), Vec::<String>::new());
}
