//! Snapshots: which rows they hold, and what comes back from them.

use shared_context_core::{Code, Command, Config, WriteOptions, config::Retention};

use crate::{
    CHIEF, ask, delete, delete_snapshot, feed, key, keys, label, past, read, refused, restore,
    session, set_readers, snapshot, support::TestHost, take_snapshot, ttl, values, write,
    write_with,
};

/// Returns a session without history, so that only entries and snapshots hold values.
fn without_history() -> TestHost {
    let retention = Retention { history_versions_max: 0, ..Retention::default() };
    session(Config { retention, ..Config::default() })
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn taking_a_snapshot_copies_no_value() {
    let host = session(Config::default());
    for nth in 0..200 {
        write(&host, &format!("key_{nth}"), "value");
    }
    let before = host.rows("").len();
    for nth in 0..32 {
        take_snapshot(&host, &nth.to_string());
    }
    assert_eq!(values(&host).len(), 200);
    let rows = host.rows("").len() - before;
    assert_eq!(rows, 32 * 3, "what is known, the pointers, the change");
    let one_more = Command::TakeSnapshot { label: label("32"), note: None };
    assert_eq!(refused(&host, CHIEF, &one_more), Code::SnapshotLimit);
    let again = Command::TakeSnapshot { label: label("31"), note: None };
    assert_eq!(refused(&host, CHIEF, &again), Code::SnapshotExists);
}

/// Three snapshots of one version, the middle, the first, the last deleted first:
/// the value stays as long as one of them is there, and no longer.
#[test]
fn a_value_stays_while_a_snapshot_holds_it() {
    for order in [["a", "b", "c"], ["b", "a", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
        let host = without_history();
        write(&host, "x", "old");
        for name in ["a", "b", "c"] {
            take_snapshot(&host, name);
            write(&host, "y", name);
        }
        write(&host, "x", "new");
        assert_eq!(values(&host).len(), 1 + 1 + 3, "{order:?}");
        for (nth, name) in order.iter().enumerate() {
            for kept in &order[nth..] {
                assert_eq!(snapshot(&host, CHIEF, kept)[0].1, "old", "{order:?}");
            }
            delete_snapshot(&host, name);
        }
        assert_eq!(values(&host).len(), 2, "{order:?}");
    }
}

#[test]
fn a_deleted_snapshot_leaves_what_entries_and_history_hold() {
    let host = session(Config::default());
    write(&host, "kept", "1");
    write(&host, "past", "1");
    write(&host, "gone", "1");
    take_snapshot(&host, "s");
    write(&host, "past", "2");
    delete(&host, "gone");
    delete_snapshot(&host, "s");
    assert_eq!(read(&host, CHIEF, "kept"), Some("1".to_owned()));
    assert_eq!(
        (past(&host, CHIEF, "past"), past(&host, CHIEF, "gone")),
        (vec!["1".into()], vec!["1".into()])
    );
    assert_eq!(values(&host).len(), 4);
}

#[test]
fn a_version_that_history_forgets_stays_in_its_snapshot() {
    let retention = Retention { history_versions_max: 1, ..Retention::default() };
    let host = session(Config { retention, ..Config::default() });
    write(&host, "x", "1");
    take_snapshot(&host, "s");
    for value in ["2", "3", "4"] {
        write(&host, "x", value);
    }
    assert_eq!(past(&host, CHIEF, "x"), ["3"]);
    assert_eq!(snapshot(&host, CHIEF, "s"), pairs(&[("x", "1")]));
    assert_eq!(values(&host).len(), 3);
    delete_snapshot(&host, "s");
    assert_eq!(values(&host).len(), 2);
}

/// An entry that expires in the commit that takes or deletes a snapshot.
#[test]
fn what_expires_is_not_in_a_snapshot_taken_then_and_stays_in_an_earlier_one() {
    let host = without_history();
    write_with(&host, "x", "brief", ttl(1));
    write(&host, "y", "long");
    take_snapshot(&host, "before");
    host.now.set(1_001_000);
    take_snapshot(&host, "after");
    assert_eq!(snapshot(&host, CHIEF, "before"), pairs(&[("x", "brief"), ("y", "long")]));
    assert_eq!(snapshot(&host, CHIEF, "after"), pairs(&[("y", "long")]));
    delete_snapshot(&host, "before");
    assert_eq!(values(&host), ["v/y/0000000000000003"]);

    let host = without_history();
    write_with(&host, "x", "brief", ttl(1));
    take_snapshot(&host, "s");
    host.now.set(1_001_000);
    delete_snapshot(&host, "s");
    assert_eq!((values(&host).len(), host.rows("k/").len()), (0, 0));
}

#[test]
fn a_restore_makes_new_versions_in_one_commit_by_the_restorer() {
    let host = session(Config::default());
    for (key, value) in [("changed", "1"), ("deleted", "1"), ("same", "1")] {
        ask(&host, "subagent:a", &crate::a_write(key, value, WriteOptions::default()));
    }
    take_snapshot(&host, "s");
    write(&host, "changed", "2");
    delete(&host, "deleted");
    let since = write(&host, "added", "2");
    let restored = restore(&host, "s");
    assert_eq!(restored.written, [(key("changed"), 3), (key("deleted"), 1)]);
    assert_eq!((restored.deleted, restored.unchanged), (vec![key("added")], 1));
    let told = ["restore_snapshot s", "delete added", "write deleted", "write changed"];
    assert_eq!(feed(&host, CHIEF, Some(since)), told);
    let Ok(done) = host.ask(CHIEF, &Command::Read { key: key("changed"), if_changed_since: None })
    else {
        panic!()
    };
    let shared_context_core::Reply::Entry(it) = done.reply else { panic!() };
    assert_eq!((it.value.as_str(), it.shown.entry.written_by.as_str()), ("1", CHIEF));
    assert_eq!(it.shown.entry.revision.0, since.0 + 1);
    assert_eq!(past(&host, CHIEF, "changed"), ["1", "2"]);
    assert_eq!(past(&host, CHIEF, "added"), ["2"]);
    assert_eq!(snapshot(&host, CHIEF, "s").len(), 3, "it can be restored again");
}

#[test]
fn a_restore_brings_back_lists_and_expiry_with_the_value_or_without() {
    let host = session(Config::default());
    write_with(&host, "x", "1", ttl(10));
    write_with(&host, "y", "1", ttl(2));
    set_readers(&host, "x", &[CHIEF]);
    take_snapshot(&host, "s");
    set_readers(&host, "x", &["*"]);
    assert_eq!(keys(&host, "subagent:b"), ["x", "y"]);
    host.now.set(1_002_000);
    assert_eq!(restore(&host, "s").unchanged, 1);
    assert_eq!(keys(&host, "subagent:b"), Vec::<String>::new(), "closed again");
    write(&host, "x", "2");
    restore(&host, "s");
    assert_eq!(keys(&host, CHIEF), ["x"], "y has expired for good");
    host.now.set(1_009_999);
    assert_eq!(read(&host, CHIEF, "x"), Some("1".to_owned()));
    host.now.set(1_010_000);
    assert_eq!(read(&host, CHIEF, "x"), None, "at the instant it had");
    assert_eq!(restore(&host, "s").written, []);
}

#[test]
fn a_snapshot_that_is_gone_cannot_be_used() {
    let host = session(Config::default());
    take_snapshot(&host, "s");
    delete_snapshot(&host, "s");
    for command in [
        Command::RestoreSnapshot(label("s")),
        Command::DeleteSnapshot(label("s")),
        Command::ReadSnapshot { label: label("s"), key: None },
        Command::DiffSnapshots { from: label("s"), to: None },
    ] {
        assert_eq!(refused(&host, CHIEF, &command), Code::SnapshotNotFound);
    }
    take_snapshot(&host, "s");
    assert_eq!(snapshot(&host, CHIEF, "s"), []);
}
