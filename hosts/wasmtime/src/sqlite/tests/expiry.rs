//! The index of what expires when.

use rusqlite::Connection;
use shared_context_core::{
    port::{Bucket, Change, Kv, Revision},
    time::Timestamp,
};
use tempfile::tempdir;

use super::{
    commit, open, put,
    recording::{DATABASE, Image},
    rows,
};
use crate::sqlite::{NextExpiry, SqliteKv};

fn due(kv: &SqliteKv, now: u64, limit: usize) -> Vec<(String, bool)> {
    let first = kv.first_expiries(limit).unwrap().into_iter();
    let due = first.filter(|it| it.at <= Timestamp(now));
    due.map(|it| (it.name.clone(), it.is_known())).collect()
}

fn first_expiry(kv: &SqliteKv) -> Option<Timestamp> {
    kv.first_expiries(1).unwrap().first().map(|it| it.at)
}

/// Commits to a bucket with this next expiry, and waits for it.
fn commit_with(kv: &SqliteKv, bucket: &str, next: NextExpiry) {
    let revision = kv.open(bucket).unwrap().revision();
    let (done, outcome) = std::sync::mpsc::channel();
    let done = move |it| done.send(it).unwrap();
    kv.submit(bucket, revision, vec![put("x", "1")], next, done);
    outcome.recv().unwrap().unwrap();
}

fn expect(kv: &SqliteKv, bucket: &str, next: Option<u64>) {
    let (done, outcome) = std::sync::mpsc::channel();
    kv.expect(bucket, next.map(Timestamp), move |it| done.send(it).unwrap());
    outcome.recv().unwrap().unwrap();
}

fn at(at: u64) -> NextExpiry {
    NextExpiry::Known(Some(Timestamp(at)))
}

#[test]
fn buckets_are_due_in_the_order_of_their_instants() {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    for (bucket, next) in [("c", at(30)), ("a", at(10)), ("b", at(20)), ("d", at(u64::MAX))] {
        commit_with(&kv, bucket, next);
    }
    commit_with(&kv, "never", NextExpiry::Known(None));
    let known =
        |names: &[&str]| names.iter().map(|it| ((*it).to_owned(), true)).collect::<Vec<_>>();
    assert_eq!(first_expiry(&kv), Some(Timestamp(10)));
    assert_eq!(due(&kv, 9, 10), known(&[]));
    assert_eq!(due(&kv, 20, 10), known(&["a", "b"]));
    assert_eq!(due(&kv, 30, 2), known(&["a", "b"]));
    // The last commit of a bucket decides, and it is stored with it.
    commit_with(&kv, "a", at(40));
    commit_with(&kv, "b", NextExpiry::Known(None));
    drop(kv);
    let kv = open(folder.path());
    assert_eq!(due(&kv, 40, 10), known(&["c", "a"]));
    // So does a correction, which is no commit.
    expect(&kv, "c", None);
    expect(&kv, "a", Some(50));
    expect(&kv, "unknown", Some(1));
    assert_eq!(due(&kv, 49, 10), known(&[]));
    assert_eq!(first_expiry(&kv), Some(Timestamp(50)));
    assert_eq!(kv.open("a").unwrap().revision(), Revision(2));
    assert_eq!(kv.open("unknown").unwrap().revision(), Revision(0));
}

/// A program that uses the storage alone says nothing of what expires.
#[test]
fn a_bucket_of_which_nothing_is_known_is_due_at_once() {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    commit_with(&kv, "a", at(10));
    commit(&kv, "b", vec![put("x", "1")]).unwrap();
    assert_eq!(due(&kv, 10, 9), [("b".to_owned(), false), ("a".to_owned(), true)]);
    expect(&kv, "b", None);
    assert_eq!(due(&kv, 10, 9), [("a".to_owned(), true)]);
    // A conflict stores nothing.
    let (done, outcome) = std::sync::mpsc::channel();
    let done = move |it| done.send(it).unwrap();
    kv.submit("a", Revision(9), Vec::new(), NextExpiry::Unknown, done);
    outcome.recv().unwrap().unwrap_err();
    assert_eq!(due(&kv, 10, 9), [("a".to_owned(), true)]);
}

/// Returns the schema, and the number of rows of the index.
fn schema(folder: &std::path::Path) -> (Vec<String>, i64) {
    let database = Connection::open(folder.join(DATABASE)).unwrap();
    let mut sql =
        database.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY 1").unwrap();
    let sql = sql.query_map([], |it| it.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    (sql, database.query_row("SELECT count(*) FROM expiry", [], |it| it.get(0)).unwrap())
}

/// Every start had each session opened, to know when something expires in it.
#[test]
fn a_database_of_format_2_is_upgraded_in_its_file() {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    commit_with(&kv, "a", at(10));
    commit_with(&kv, "b", NextExpiry::Known(None));
    commit(&kv, "c", vec![Change::DeletePrefix(String::new())]).unwrap();
    let identity = kv.identity();
    drop(kv);
    let (made, _) = schema(folder.path());
    let database = Connection::open(folder.path().join(DATABASE)).unwrap();
    database.execute_batch("DROP TABLE expiry; PRAGMA user_version = 2").unwrap();
    drop(database);
    let examined = SqliteKv::examine(folder.path()).unwrap().unwrap();
    assert_eq!((examined.format, examined.contents.unwrap().rows), (2, 2));
    let kv = open(folder.path());
    assert_eq!(kv.identity(), identity);
    assert_eq!(due(&kv, 0, 9), [("a".to_owned(), false), ("b".to_owned(), false)]);
    assert_eq!(rows(&kv, "a").len(), 1);
    // Killed before the log is copied: only the log knows the new format.
    let killed = tempdir().unwrap();
    Image::of(folder.path()).write(killed.path());
    assert_eq!(rows(&open(killed.path()), "a").len(), 1);
    drop(kv);
    assert_eq!(schema(folder.path()), (made, 2));
    let examined = SqliteKv::examine(folder.path()).unwrap().unwrap();
    assert_eq!((examined.format, examined.contents.unwrap().commits), (3, 3));
}
