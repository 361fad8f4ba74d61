//! Promises of the storage on disk only: data survives a restart, one sync serves many
//! commits, and a failed commit does not affect others.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use shared_context_core::port::{Bucket, Change, CommitError, Kv, Revision};
use tempfile::tempdir;

use super::{commit, open, put, rows};
use crate::sqlite::{NextExpiry, SqliteKv, SqliteOptions};

#[test]
fn commits_survive_a_restart() {
    let folder = tempdir().unwrap();
    for round in 1..4 {
        let kv = open(folder.path());
        assert_eq!(kv.open("a").unwrap().revision(), Revision(round - 1));
        commit(&kv, "a", vec![put(&round.to_string(), "x")]).unwrap();
        assert_eq!(rows(&kv, "a").len(), usize::try_from(round).unwrap());
    }
}

#[test]
fn commits_survive_a_crash() {
    let (folder, copy) = (tempdir().unwrap(), tempdir().unwrap());
    let kv = open(folder.path());
    for n in 0..100 {
        commit(&kv, &format!("{n}"), vec![put("x", "1")]).unwrap();
    }
    // The files as a crash leaves them: the log is not copied.
    for file in ["shared-context.db", "shared-context.db-wal", "shared-context.mark"] {
        std::fs::copy(folder.path().join(file), copy.path().join(file)).unwrap();
    }
    assert_eq!(open(copy.path()).names(None, 1000).unwrap().len(), 100);
}

#[test]
fn a_closed_storage_rejects_calls_and_unlocks() {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    commit(&kv, "a", vec![put("x", "1")]).unwrap();
    let mut bucket = kv.open("a").unwrap();
    kv.close();
    assert!(kv.open("a").is_err());
    assert!(kv.names(None, 1).is_err());
    assert!(matches!(bucket.commit(Revision(1), vec![]), Err(CommitError::Failed(_))));
    kv.close();
    assert_eq!(rows(&open(folder.path()), "a").len(), 1);
    assert!(!folder.path().join("shared-context.db-wal").exists(), "the log was copied");
}

#[test]
fn commits_of_many_threads_are_all_stored() {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    thread::scope(|scope| {
        for bucket in 0..64 {
            let kv = &kv;
            scope.spawn(move || {
                for n in 0..10_u8 {
                    commit(kv, &format!("{bucket}"), vec![put(&n.to_string(), [n])]).unwrap();
                }
            });
        }
    });
    drop(kv);
    let kv = open(folder.path());
    for bucket in 0..64 {
        assert_eq!(rows(&kv, &format!("{bucket}")).len(), 10);
    }
}

#[test]
fn names_lists_buckets_with_rows_in_order() {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    for bucket in ["c", "a", "d", "b"] {
        commit(&kv, bucket, vec![put("x", "1")]).unwrap();
    }
    commit(&kv, "b", vec![Change::DeletePrefix(String::new())]).unwrap();
    assert_eq!(kv.names(None, 2).unwrap(), ["a", "c"]);
    assert_eq!(kv.names(Some("a"), 9).unwrap(), ["c", "d"]);
    assert_eq!(kv.names(Some("b"), 1).unwrap(), ["c"]);
    assert_eq!(kv.names(Some("d"), 9).unwrap(), [""; 0]);
}

#[test]
fn a_full_disk_fails_only_the_commit() {
    let folder = tempdir().unwrap();
    let options = SqliteOptions { bytes_max: Some(64 << 10), ..SqliteOptions::default() };
    let kv = SqliteKv::open(folder.path(), &options).unwrap();
    commit(&kv, "a", vec![put("small", "x")]).unwrap();
    let too_much = commit(&kv, "a", vec![put("small", "y"), put("large", vec![0; 100 << 10])]);
    assert!(matches!(&too_much, Err(CommitError::Unchanged(it)) if it.0.contains("full")));
    assert_eq!(rows(&kv, "a"), vec![("small".to_owned(), b"x".to_vec())]);
    assert_eq!(commit(&kv, "a", vec![put("small", "z")]), Ok(Revision(2)));
    assert_eq!(commit(&kv, "a", vec![put("large", vec![0; 20 << 10])]), Ok(Revision(3)));
    assert_eq!(commit(&kv, "a", vec![Change::DeletePrefix(String::new())]), Ok(Revision(4)));
}

/// Otherwise the mark would be ahead of a database that lacks a commit that was never
/// acknowledged, and the next start would fail.
#[test]
fn a_failed_commit_does_not_prevent_the_next_start() {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    commit(&kv, "a", vec![put("x", "1")]).unwrap();
    drop(with_trap(folder.path(), "committed"));
    assert!(matches!(commit(&kv, "bad", vec![put("x", "1")]), Err(CommitError::Failed(_))));
    drop(kv);
    assert_eq!(open(folder.path()).names(None, 9).unwrap(), ["a"]);
}

/// Queues several commits while another program locks the database, so that they share one
/// transaction. Returns their outcomes.
fn in_one_transaction(
    kv: &SqliteKv,
    database: &Connection,
    buckets: &[&str],
) -> Vec<Result<Revision, CommitError>> {
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let outcomes: Vec<_> = buckets
        .iter()
        .map(|bucket| {
            let (done, outcome) = mpsc::channel();
            let changes = vec![put("x", "1")];
            kv.submit(bucket, Revision(0), changes, NextExpiry::Unknown, move |it| {
                done.send(it).unwrap();
            });
            outcome
        })
        .collect();
    thread::sleep(Duration::from_millis(50));
    database.execute_batch("ROLLBACK").unwrap();
    outcomes.into_iter().map(|it| it.recv().unwrap()).collect()
}

/// Adds a trigger that fails commits to the bucket `bad`: when the row is applied, or only
/// when the whole transaction is committed.
fn with_trap(folder: &std::path::Path, when: &str) -> Connection {
    let database = Connection::open(folder.join("shared-context.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE parent(id INTEGER PRIMARY KEY) STRICT;
             CREATE TABLE child(
                 parent INTEGER REFERENCES parent(id) DEFERRABLE INITIALLY DEFERRED
             ) STRICT;",
        )
        .unwrap();
    let trap = match when {
        "applied" => "SELECT RAISE(FAIL, 'sabotage')",
        _ => "INSERT INTO child VALUES (1)",
    };
    database
        .execute_batch(&format!(
            "CREATE TRIGGER trap AFTER INSERT ON bucket WHEN NEW.name = 'bad'
             BEGIN {trap}; END;"
        ))
        .unwrap();
    database
}

#[test]
fn only_the_bad_commit_of_a_transaction_fails() {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    let database = with_trap(folder.path(), "applied");
    let outcomes = in_one_transaction(&kv, &database, &["a", "b", "bad", "c", "a"]);
    let [
        Ok(Revision(1)),
        Ok(Revision(1)),
        Err(CommitError::Unchanged(why)),
        Ok(Revision(1)),
        Err(CommitError::Conflict),
    ] = outcomes.as_slice()
    else {
        panic!("{outcomes:?}");
    };
    assert!(why.0.contains("sabotage"));
    assert_eq!(kv.names(None, 9).unwrap(), ["a", "b", "c"]);
    assert_eq!(kv.open("bad").unwrap().revision(), Revision(0));
}

#[test]
fn a_failed_transaction_does_not_affect_the_next() {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    let database = with_trap(folder.path(), "committed");
    let outcomes = in_one_transaction(&kv, &database, &["first", "a", "bad", "b"]);
    let failed = outcomes.iter().filter(|it| matches!(it, Err(CommitError::Failed(_)))).count();
    assert!(failed >= 3, "{outcomes:?}");
    assert_eq!(kv.open("bad").unwrap().revision(), Revision(0));
    assert_eq!(commit(&kv, "after", vec![put("x", "1")]), Ok(Revision(1)));
    drop(kv);
    assert!(open(folder.path()).names(None, 9).unwrap().contains(&"after".to_owned()));
}

#[test]
fn the_log_stays_bounded_with_readers() {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    let end = Instant::now() + Duration::from_secs(20);
    let kv = &kv;
    thread::scope(|scope| {
        let write = scope.spawn(|| {
            for n in (0..=u8::MAX).cycle().take(1500) {
                commit(kv, "a", vec![put(&(n % 10).to_string(), vec![n; 100 << 10])]).unwrap();
            }
        });
        scope.spawn(move || {
            while !write.is_finished() && Instant::now() < end {
                assert!(rows(kv, "a").len() <= 10);
            }
        });
    });
    let log = std::fs::metadata(folder.path().join("shared-context.db-wal")).unwrap().len();
    assert!(log < 80 << 20, "{log} bytes");
}

#[test]
fn a_permanent_reader_does_not_stop_the_writer() {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    commit(&kv, "a", vec![put("x", "1")]).unwrap();
    let reader = kv.open("a").unwrap();
    let log = || std::fs::metadata(folder.path().join("shared-context.db-wal")).unwrap().len();
    // Unchanged pages are not written, so each value differs.
    let mut write =
        (0..=u8::MAX).cycle().map(|n| commit(&kv, "b", vec![put("x", vec![n; 1 << 20])]));
    // The log grows past the length at which writing waits for readers, twice.
    while log() < 80 << 20 {
        write.next().unwrap().unwrap();
    }
    assert_eq!(reader.get("x").unwrap(), Some(b"1".to_vec()));
    drop(reader);
    let grown = log();
    for _ in 0..50 {
        write.next().unwrap().unwrap();
    }
    assert!(log() <= grown + (10 << 20), "once it has left, the log begins anew");
}
