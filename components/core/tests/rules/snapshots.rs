//! Tests of snapshots: the rows they hold, and restoring them.

use shared_context_core::{Code, Command, Config, WriteOptions, config::Retention};

use crate::{
    ORCHESTRATOR, ask, delete, delete_snapshot, error_code, feed, key, keys, label, past, read,
    restore, session, set_readers, snapshot, support::TestHost, take_snapshot, ttl, values, write,
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
    assert_eq!(rows, 32 * 3, "the metadata, the entries, the change");
    let one_more = Command::TakeSnapshot { label: label("32"), note: None };
    assert_eq!(error_code(&host, ORCHESTRATOR, &one_more), Code::SnapshotLimit);
    let again = Command::TakeSnapshot { label: label("31"), note: None };
    assert_eq!(error_code(&host, ORCHESTRATOR, &again), Code::SnapshotExists);
}

/// Three snapshots of one version are deleted in various orders: the value stays as long
/// as one of them exists, and no longer.
#[test]
fn a_value_is_stored_while_a_snapshot_holds_it() {
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
            for remaining in &order[nth..] {
                assert_eq!(snapshot(&host, ORCHESTRATOR, remaining)[0].1, "old", "{order:?}");
            }
            delete_snapshot(&host, name);
        }
        assert_eq!(values(&host).len(), 2, "{order:?}");
    }
}

#[test]
fn deleting_a_snapshot_leaves_entries_and_history() {
    let host = session(Config::default());
    write(&host, "kept", "1");
    write(&host, "past", "1");
    write(&host, "gone", "1");
    take_snapshot(&host, "s");
    write(&host, "past", "2");
    delete(&host, "gone");
    delete_snapshot(&host, "s");
    assert_eq!(read(&host, ORCHESTRATOR, "kept"), Some("1".to_owned()));
    assert_eq!(
        (past(&host, ORCHESTRATOR, "past"), past(&host, ORCHESTRATOR, "gone")),
        (vec!["1".into()], vec!["1".into()])
    );
    assert_eq!(values(&host).len(), 4);
}

#[test]
fn a_version_removed_from_history_stays_in_its_snapshot() {
    let retention = Retention { history_versions_max: 1, ..Retention::default() };
    let host = session(Config { retention, ..Config::default() });
    write(&host, "x", "1");
    take_snapshot(&host, "s");
    for value in ["2", "3", "4"] {
        write(&host, "x", value);
    }
    assert_eq!(past(&host, ORCHESTRATOR, "x"), ["3"]);
    assert_eq!(snapshot(&host, ORCHESTRATOR, "s"), pairs(&[("x", "1")]));
    assert_eq!(values(&host).len(), 3);
    delete_snapshot(&host, "s");
    assert_eq!(values(&host).len(), 2);
}

/// Covers an entry that expires in the commit that takes or deletes a snapshot.
#[test]
fn an_expired_entry_stays_only_in_earlier_snapshots() {
    let host = without_history();
    write_with(&host, "x", "brief", ttl(1));
    write(&host, "y", "long");
    take_snapshot(&host, "before");
    host.now.set(1_001_000);
    take_snapshot(&host, "after");
    assert_eq!(snapshot(&host, ORCHESTRATOR, "before"), pairs(&[("x", "brief"), ("y", "long")]));
    assert_eq!(snapshot(&host, ORCHESTRATOR, "after"), pairs(&[("y", "long")]));
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
fn a_restore_writes_new_versions_in_one_commit() {
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
    let expected = ["restore_snapshot s", "delete added", "write deleted", "write changed"];
    assert_eq!(feed(&host, ORCHESTRATOR, Some(since)), expected);
    let Ok(done) =
        host.ask(ORCHESTRATOR, &Command::Read { key: key("changed"), if_changed_since: None })
    else {
        panic!()
    };
    let shared_context_core::Reply::Entry(it) = done.reply else { panic!() };
    assert_eq!((it.value.as_str(), it.shown.entry.written_by.as_str()), ("1", ORCHESTRATOR));
    assert_eq!(it.shown.entry.revision.0, since.0 + 1);
    assert_eq!(past(&host, ORCHESTRATOR, "changed"), ["1", "2"]);
    assert_eq!(past(&host, ORCHESTRATOR, "added"), ["2"]);
    assert_eq!(snapshot(&host, ORCHESTRATOR, "s").len(), 3, "it can be restored again");
}

#[test]
fn a_restore_also_restores_lists_and_expiry() {
    let host = session(Config::default());
    write_with(&host, "x", "1", ttl(10));
    write_with(&host, "y", "1", ttl(2));
    set_readers(&host, "x", &[ORCHESTRATOR]);
    take_snapshot(&host, "s");
    set_readers(&host, "x", &["*"]);
    assert_eq!(keys(&host, "subagent:b"), ["x", "y"]);
    host.now.set(1_002_000);
    assert_eq!(restore(&host, "s").unchanged, 1);
    assert_eq!(keys(&host, "subagent:b"), Vec::<String>::new(), "closed again");
    write(&host, "x", "2");
    restore(&host, "s");
    assert_eq!(keys(&host, ORCHESTRATOR), ["x"], "y has expired for good");
    host.now.set(1_009_999);
    assert_eq!(read(&host, ORCHESTRATOR, "x"), Some("1".to_owned()));
    host.now.set(1_010_000);
    assert_eq!(read(&host, ORCHESTRATOR, "x"), None, "at the instant it had");
    assert_eq!(restore(&host, "s").written, []);
}

#[test]
fn a_deleted_snapshot_cannot_be_used() {
    let host = session(Config::default());
    take_snapshot(&host, "s");
    delete_snapshot(&host, "s");
    for command in [
        Command::RestoreSnapshot(label("s")),
        Command::DeleteSnapshot(label("s")),
        Command::ReadSnapshot { label: label("s"), key: None },
        Command::DiffSnapshots { from: label("s"), to: None },
    ] {
        assert_eq!(error_code(&host, ORCHESTRATOR, &command), Code::SnapshotNotFound);
    }
    take_snapshot(&host, "s");
    assert_eq!(snapshot(&host, ORCHESTRATOR, "s"), []);
}
