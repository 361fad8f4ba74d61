//! Asserts the number of statements of each operation, and prints their durations.

use std::{
    fmt::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use shared_context_core::port::{Bucket, Kv};
use shared_context_spin_storage::sqlite::SqliteKv;

use crate::support::{self, Database, commit, put};

/// A single statement is atomic, so no operation can be interrupted half-way.
#[test]
fn a_read_is_one_statement_and_so_is_a_commit() {
    let database = Database::in_memory();
    let kv = SqliteKv::new(database.clone());
    let changes = || ["meta", "k/a", "k/b", "v/a/1"].map(|name| put(name, "1")).to_vec();
    // The commit that finds no tables, the creation of the tables, and the commit again.
    assert_eq!(database.count(|| commit(&kv, "a", changes())).1, 1 + (1 + 1 + 4 + 1));
    let (mut bucket, statements) = database.count(|| kv.open("a").unwrap());
    assert_eq!(statements, 1);
    // Opening the bucket has read `meta`.
    assert_eq!(database.count(|| bucket.get("meta").unwrap()).1, 0);
    assert_eq!(database.count(|| bucket.get("k/a").unwrap()).1, 1);
    assert_eq!(database.count(|| bucket.scan("k/", None, 9).unwrap()).1, 1);
    assert_eq!(database.count(|| bucket.commit(bucket.revision(), changes())).1, 1);
    let conflict = || assert!(bucket.commit(bucket.revision(), changes()).is_err());
    assert_eq!(database.count(conflict).1, 1);
    assert_eq!(database.count(|| kv.names("", None, 9).unwrap()).1, 1);
    assert_eq!(database.count(|| kv.revision("a").unwrap()).1, 1);
}

/// Returns the median duration of `step`, called with the result of `prepare`.
fn median<T>(mut prepare: impl FnMut() -> T, mut step: impl FnMut(&mut T)) -> Duration {
    let mut times: Vec<_> = (0..51)
        .map(|_| {
            let mut prepared = prepare();
            let start = Instant::now();
            step(&mut prepared);
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[25]
}

fn report_durations(path: &Path, about: &str) {
    let instance = || SqliteKv::new(Database::in_file(path));
    let used = || {
        let kv = instance();
        drop(kv.open("b").unwrap());
        kv
    };
    let mut lines = String::new();
    let mut line = |step: &str, time: Duration| {
        write!(lines, "\n  {step:<44} {:>8.1} µs", time.as_secs_f64() * 1e6).unwrap();
    };
    line("connect and open", median(|| (), |()| drop(instance().open("a").unwrap())));
    line("open", median(used, |kv| drop(kv.open("a").unwrap())));
    let opened = || used().open("a").unwrap();
    line("get", median(opened, |it| drop(it.get("k/000017").unwrap())));
    line("scan 40 rows", median(opened, |it| drop(it.scan("k/0000", None, 40).unwrap())));
    let changes = || {
        let rows = ["meta", "k/000017", "v/a/1", "c/1", "q/1"];
        rows.map(|name| put(name, vec![7; 300])).to_vec()
    };
    line("commit 5 rows", median(opened, |it| _ = it.commit(it.revision(), changes()).unwrap()));
    let request = |(): &mut ()| {
        let kv = instance();
        let mut bucket = kv.open("a").unwrap();
        drop(bucket.get("k/000017").unwrap());
        bucket.commit(bucket.revision(), changes()).unwrap();
    };
    line("connect, open, get, commit, close", median(|| (), request));
    let read = |(): &mut ()| {
        let bucket = instance().open("a").unwrap();
        drop((bucket.get("k/000017").unwrap(), bucket.get("k/000018").unwrap()));
    };
    line("connect, open, get, get, close", median(|| (), read));
    support::print(&format!("{about}:{lines}"));
}

#[test]
fn durations_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sqlite_db.db");
    let kv = SqliteKv::new(Database::in_file(&path));
    let rows = (0..1_000).map(|nth| put(&format!("k/{nth:06}"), vec![7; 300]));
    commit(&kv, "a", rows.chain([put("meta", vec![7; 200])]).collect());
    report_durations(&path, "WAL, another connection stays open");
    drop(kv);
    report_durations(&path, "WAL, no other connection");
    Database::in_file(&path).batch("PRAGMA journal_mode = DELETE");
    report_durations(&path, "a rollback journal");
}
