//! Tests the effect of commits on rows in `SQLite`.

use std::time::Instant;

use shared_context_core::port::{Bucket, CommitError, Kv, Revision};
use shared_context_spin_storage::sqlite::SqliteKv;

use crate::support::{self, Database, all, commit, delete, delete_prefix, put, try_commit};

fn kv() -> SqliteKv<Database> {
    SqliteKv::new(Database::in_memory())
}

/// Returns the names of the bucket's rows, separated by spaces.
fn names(kv: &SqliteKv<Database>) -> String {
    all(kv, "a").into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_stale_commit_changes_nothing() {
    let kv = kv();
    commit(&kv, "a", vec![put("k/a", "1")]);
    let mut stale = kv.open("a").unwrap();
    commit(&kv, "a", vec![put("k/a", "2")]);
    let before = all(&kv, "a");
    let changes = vec![put("k/b", "3"), delete("k/a"), delete_prefix("")];
    assert_eq!(try_commit(&mut stale, changes.clone()), Err(CommitError::Conflict));
    for expected in [0, 1, 3, u64::MAX] {
        let done = kv.open("a").unwrap().commit(Revision(expected), changes.clone());
        assert_eq!(done, Err(CommitError::Conflict));
    }
    assert_eq!(all(&kv, "a"), before);
    assert_eq!(kv.revision("a"), Ok(Revision(2)));
}

#[test]
fn of_two_first_commits_to_a_bucket_one_gets_a_conflict() {
    let kv = kv();
    let (mut first, mut second) = (kv.open("a").unwrap(), kv.open("a").unwrap());
    assert_eq!(try_commit(&mut first, vec![put("k/a", "1")]), Ok(Revision(1)));
    assert_eq!(try_commit(&mut second, vec![put("k/b", "2")]), Err(CommitError::Conflict));
    assert_eq!(all(&kv, "a"), [("k/a".to_owned(), b"1".to_vec())]);
}

#[test]
fn a_conflict_creates_no_bucket() {
    let database = Database::in_memory();
    let kv = SqliteKv::new(database.clone());
    commit(&kv, "b", vec![]);
    let done = kv.open("a").unwrap().commit(Revision(1), vec![put("k/a", "1")]);
    assert_eq!(done, Err(CommitError::Conflict));
    let count: i64 = database.one("SELECT count(*) FROM shared_context_bucket WHERE name = 'a'");
    assert_eq!(count, 0);
}

/// Without pauses, eight clients writing to one session gave up 6 of 800 writes, each after
/// 16 conflicts in a row. With pauses of at most 128 ms, 32 clients on Spin still gave up
/// 7 of 100.
#[test]
fn pauses_grow_with_each_conflict_in_a_row() {
    let database = Database::in_memory();
    let kv = SqliteKv::new(database.clone());
    commit(&kv, "a", vec![]);
    for _ in 0..9 {
        let done = kv.open("a").unwrap().commit(Revision(0), vec![put("k/a", "1")]);
        assert_eq!(done, Err(CommitError::Conflict));
    }
    assert_eq!(database.take_pauses(), [32, 64, 128, 256, 512, 1024, 1024, 1024]);
    commit(&kv, "a", vec![put("k/a", "1")]);
    assert_eq!(database.take_pauses(), [1024]);
    commit(&kv, "a", vec![put("k/a", "2")]);
    assert_eq!(database.take_pauses(), [0_u128; 0]);
}

#[test]
fn changes_are_applied_in_order() {
    let kv = kv();
    commit(&kv, "a", vec![put("k/a", "1"), put("k/b", "1"), put("x", "1")]);
    let changes = vec![
        put("k/c", "2"),
        delete_prefix("k/"),
        put("k/d", "2"),
        delete("x"),
        put("x", "2"),
        put("y", "2"),
        delete("y"),
        delete_prefix("nothing"),
    ];
    commit(&kv, "a", changes);
    let rows = all(&kv, "a");
    assert_eq!(rows, [("k/d".to_owned(), b"2".to_vec()), ("x".to_owned(), b"2".to_vec())]);
    commit(&kv, "a", vec![put("k/e", "3"), delete_prefix(""), put("z", "3"), delete("k/d")]);
    assert_eq!(names(&kv), "z");
}

#[test]
fn buckets_do_not_affect_each_other() {
    let kv = kv();
    for name in ["a", "aa", "b"] {
        commit(&kv, name, vec![put("k/a", name)]);
    }
    commit(&kv, "a", vec![delete_prefix("")]);
    assert_eq!(all(&kv, "a"), []);
    for name in ["aa", "b"] {
        assert_eq!(all(&kv, name), [("k/a".to_owned(), name.into())]);
    }
}

#[test]
fn prefixes_are_compared_bytewise() {
    let kv = kv();
    let rows = ["c", "c/", "c/é", "c/\u{10ffff}", "c/\u{10ffff}x", "c0", "\u{10ffff}", "é"];
    commit(&kv, "a", rows.map(|name| put(name, "1")).into());
    let bucket = kv.open("a").unwrap();
    let scan = |prefix: &str, after| {
        let rows = bucket.scan(prefix, after, 99).unwrap();
        rows.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(scan("c/", None), ["c/", "c/é", "c/\u{10ffff}", "c/\u{10ffff}x"]);
    assert_eq!(scan("c/\u{10ffff}", None), ["c/\u{10ffff}", "c/\u{10ffff}x"]);
    assert_eq!(scan("c/", Some("c/é")), ["c/\u{10ffff}", "c/\u{10ffff}x"]);
    assert_eq!(scan("c/", Some("b")), scan("c/", None));
    assert_eq!(scan("c/", Some("d")), [""; 0]);
    assert_eq!(scan("\u{10ffff}", None), ["\u{10ffff}"]);
    assert_eq!(scan("", Some("c0")), ["é", "\u{10ffff}"]);
    commit(&kv, "a", vec![delete_prefix("c/\u{10ffff}"), delete_prefix("\u{10ffff}")]);
    assert_eq!(names(&kv), "c c/ c/é c0 é");
    commit(&kv, "a", vec![delete_prefix("c/"), delete_prefix("é")]);
    assert_eq!(names(&kv), "c c0");
}

#[test]
fn a_value_may_be_any_bytes() {
    let kv = kv();
    let every: Vec<u8> = (0..=255).collect();
    let large: Vec<u8> = every.iter().copied().cycle().take(2 << 20).collect();
    let values = [("1", vec![]), ("2", vec![0]), ("3", every), ("4", large), ("5", b"[]".to_vec())];
    commit(&kv, "a", values.clone().map(|(name, value)| put(name, value)).into());
    let bucket = kv.open("a").unwrap();
    for (name, value) in values {
        assert!(bucket.get(name).unwrap() == Some(value), "{name}");
    }
}

#[test]
fn a_deleted_bucket_keeps_its_revision() {
    let kv = kv();
    commit(&kv, "a", vec![put("meta", "1")]);
    assert_eq!(kv.names("", None, 9).unwrap(), ["a"]);
    assert_eq!(commit(&kv, "a", vec![delete_prefix("")]), Revision(2));
    assert_eq!(kv.names("", None, 9).unwrap(), [""; 0]);
    assert_eq!(kv.revision("a"), Ok(Revision(2)));
    assert_eq!(all(&kv, "a"), []);
    assert_eq!(commit(&kv, "a", vec![put("meta", "2")]), Revision(3));
}

#[test]
fn buckets_are_listed_in_order() {
    let kv = kv();
    for name in ["session/b", "session/a", "session", "session/é", "session0", "t"] {
        commit(&kv, name, vec![put("meta", "1")]);
    }
    let names = |prefix, after, limit| kv.names(prefix, after, limit).unwrap();
    assert_eq!(names("session/", None, 9), ["session/a", "session/b", "session/é"]);
    assert_eq!(names("session/", Some("session/a"), 1), ["session/b"]);
    assert_eq!(names("session/", Some("session/é"), 9), [""; 0]);
    assert_eq!(names("", Some("session0"), 9), ["t"]);
    assert_eq!(names("", None, 0), [""; 0]);
}

/// Restores and imports commit whole sessions. While each row takes constant time, this
/// takes less than a second.
#[test]
fn forty_thousand_rows_are_one_commit() {
    let kv = kv();
    let rows =
        |value: u8| (0..40_000).map(move |nth| put(&format!("k/{nth:06}"), vec![value; 400]));
    let timed_commit = |what: &str, changes| {
        let start = Instant::now();
        commit(&kv, "a", changes);
        support::print(&format!("40,000 rows of 400 bytes {what}: {:?}", start.elapsed()));
    };
    timed_commit("put", rows(1).collect());
    timed_commit("put again", rows(2).collect());
    assert_eq!(all(&kv, "a").len(), 40_000);
    timed_commit(
        "deleted one by one",
        (0..40_000).map(|nth| delete(&format!("k/{nth:06}"))).collect(),
    );
    assert_eq!(all(&kv, "a"), []);
    timed_commit("put", rows(3).collect());
    timed_commit("dropped and put", [delete_prefix("")].into_iter().chain(rows(4)).collect());
    let prefixes = (0..4_000).map(|nth| delete_prefix(&format!("k/{nth:05}")));
    timed_commit("dropped by 4,000 prefixes", prefixes.collect());
    assert_eq!(all(&kv, "a"), []);
}
