//! Tests concurrent instances, each with its own connection to one file.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use shared_context_core::port::{Bucket, CommitError, Kv, ReadError, Revision};
use shared_context_spin_storage::sqlite::{SqliteBucket, SqliteKv};

use crate::support::{Database, commit, print, put};

const WRITERS: usize = 6;
const COMMITS: u64 = 40;

/// Returns the number in `meta`, and asserts that `k/…` has the same, as at each revision.
fn number(bucket: &SqliteBucket<Database>) -> Result<u64, ReadError> {
    let meta = bucket.get("meta")?.map_or(0, |it| u64::from_le_bytes(it.try_into().unwrap()));
    // Gives other writers time to commit, as each call to Spin does.
    thread::sleep(Duration::from_micros(500));
    for (name, value) in bucket.scan("k/", None, 99)? {
        assert_eq!(value, meta.to_le_bytes(), "{name}");
    }
    let last = bucket.get("k/8")?.map_or(0, |it| u64::from_le_bytes(it.try_into().unwrap()));
    assert_eq!((last, meta), (meta, bucket.revision().0));
    Ok(meta)
}

/// Increments the number [`COMMITS`] times. Returns how often a read found the bucket moved,
/// and how often a commit got a conflict.
fn increment(path: &Path) -> (u64, u64) {
    let (mut moved, mut conflicts) = (0, 0);
    for _ in 0..COMMITS {
        // An instance lives for one request.
        let kv = SqliteKv::new(Database::in_file(path));
        let mut moved_now = 0;
        loop {
            let mut bucket = kv.open("a").unwrap();
            let next = match number(&bucket) {
                Ok(number) => number + 1,
                Err(ReadError::Moved) => {
                    moved_now += 1;
                    assert_eq!(moved_now, 1, "a reader must retry at most once");
                    continue;
                }
                Err(ReadError::Failed(error)) => panic!("{error}"),
            };
            let names = ["meta", "k/1", "k/2", "k/3", "k/4", "k/5", "k/6", "k/7", "k/8"];
            let changes = names.map(|name| put(name, next.to_le_bytes()));
            match bucket.commit(bucket.revision(), changes.into()) {
                Ok(revision) => {
                    assert_eq!(revision, Revision(next));
                    break;
                }
                Err(CommitError::Conflict) => conflicts += 1,
                Err(CommitError::Unchanged(error) | CommitError::Failed(error)) => {
                    panic!("{error}")
                }
            }
            moved += moved_now;
            moved_now = 0;
        }
    }
    (moved, conflicts)
}

#[test]
fn every_acknowledged_commit_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sqlite_db.db");
    let start = Instant::now();
    let retries: Vec<_> = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(|| increment(&path))).collect();
        writers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let all = COMMITS * u64::try_from(WRITERS).unwrap();
    let kv = SqliteKv::new(Database::in_file(&path));
    assert_eq!(kv.revision("a"), Ok(Revision(all)));
    assert_eq!(number(&kv.open("a").unwrap()), Ok(all));
    let (moved, conflicts) = retries.iter().fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    let time = start.elapsed();
    print(&format!(
        "{WRITERS} writers, {all} commits to one bucket in {time:?}: {moved} times moved, \
         {conflicts} conflicts"
    ));
}

#[test]
fn a_bucket_can_be_read_while_it_changes_constantly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sqlite_db.db");
    commit(&SqliteKv::new(Database::in_file(&path)), "a", vec![]);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let kv = SqliteKv::new(Database::in_file(&path));
            for nth in 2..=300_u64 {
                let names = ["meta", "k/1", "k/2", "k/8"];
                let changes = names.map(|name| put(name, nth.to_le_bytes()));
                commit(&kv, "a", changes.into());
            }
        });
        while !writer.is_finished() {
            let kv = SqliteKv::new(Database::in_file(&path));
            let read = || kv.open("a").unwrap();
            let first = read();
            // The first commit wrote nothing.
            if first.revision() == Revision(1) {
                continue;
            }
            if number(&first) == Err(ReadError::Moved) {
                assert!(number(&read()).is_ok());
            }
        }
    });
}
