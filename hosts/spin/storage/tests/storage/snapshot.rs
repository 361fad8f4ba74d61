//! All reads through one open bucket see one revision, or report that the bucket has moved.

use shared_context_core::port::{Bucket, CommitError, Kv, ReadError, Revision};
use shared_context_spin_storage::sqlite::SqliteKv;

use crate::support::{Database, all, commit, delete_prefix, put, try_commit};

/// Returns two instances over one database. The bucket has `meta`, `k/a` and `k/b`, all
/// with the same value.
fn two_instances() -> (SqliteKv<Database>, SqliteKv<Database>, Database) {
    let database = Database::in_memory();
    let (ours, theirs) = (SqliteKv::new(database.clone()), SqliteKv::new(database.clone()));
    write(&theirs, "1");
    (ours, theirs, database)
}

fn write(kv: &SqliteKv<Database>, value: &str) {
    commit(kv, "a", ["meta", "k/a", "k/b"].map(|name| put(name, value)).into());
}

#[test]
fn a_moved_bucket_reports_it() {
    let (ours, theirs, _) = two_instances();
    let bucket = ours.open("a").unwrap();
    assert_eq!(bucket.get("k/a"), Ok(Some(b"1".to_vec())));
    write(&theirs, "2");
    assert_eq!(bucket.get("k/a"), Err(ReadError::Moved));
    assert_eq!(bucket.get("nothing"), Err(ReadError::Moved));
    assert_eq!(bucket.scan("k/", None, 9), Err(ReadError::Moved));
    assert_eq!(bucket.scan("x", None, 0), Err(ReadError::Moved));
    // This row was read when the bucket was opened.
    assert_eq!(bucket.get("meta"), Ok(Some(b"1".to_vec())));
    assert_eq!(bucket.revision(), Revision(1));
}

#[test]
fn a_deleted_bucket_has_moved_too() {
    let (ours, theirs, _) = two_instances();
    let bucket = ours.open("a").unwrap();
    commit(&theirs, "a", vec![delete_prefix("")]);
    assert_eq!(bucket.get("k/a"), Err(ReadError::Moved));
    assert_eq!(bucket.scan("", None, 9), Err(ReadError::Moved));
}

/// Otherwise writers could force a reader to retry without end.
#[test]
fn a_bucket_reopened_after_a_move_stays_readable() {
    let (ours, theirs, database) = two_instances();
    let bucket = ours.open("a").unwrap();
    write(&theirs, "2");
    assert_eq!(bucket.get("k/a"), Err(ReadError::Moved));
    let (bucket, statements) = database.count(|| ours.open("a").unwrap());
    assert_eq!(statements, 1);
    for value in ["3", "4", "5"] {
        write(&theirs, value);
        let read = || {
            assert_eq!(bucket.get("k/a"), Ok(Some(b"2".to_vec())));
            assert_eq!(bucket.get("nothing"), Ok(None));
            let rows = bucket.scan("", None, 9).unwrap();
            assert_eq!(rows.len(), 3);
            assert!(rows.iter().all(|(_, value)| value == b"2"), "{rows:?}");
            assert_eq!(bucket.scan("k/", Some("k/a"), 9).unwrap(), rows[1..2]);
        };
        assert_eq!(database.count(read).1, 0);
    }
}

#[test]
fn only_a_moved_bucket_is_read_as_a_whole() {
    let (ours, theirs, database) = two_instances();
    commit(&theirs, "b", vec![put("k/a", "1")]);
    let bucket = ours.open("a").unwrap();
    write(&theirs, "2");
    assert_eq!(bucket.get("k/a"), Err(ReadError::Moved));
    let other = ours.open("b").unwrap();
    assert_eq!(database.count(|| other.get("k/a").unwrap()).1, 1);
    let whole = ours.open("a").unwrap();
    assert_eq!(database.count(|| whole.get("k/a").unwrap()).1, 0);
    let next = ours.open("a").unwrap();
    assert_eq!(database.count(|| next.get("k/a").unwrap()).1, 1);
}

#[test]
fn a_retrying_writer_reads_the_whole_bucket_until_it_commits() {
    let (ours, theirs, database) = two_instances();
    let bucket = ours.open("a").unwrap();
    write(&theirs, "2");
    assert_eq!(bucket.get("k/a"), Err(ReadError::Moved));
    for value in ["3", "4"] {
        let mut bucket = ours.open("a").unwrap();
        write(&theirs, value);
        assert_eq!(database.count(|| bucket.get("k/a").unwrap()).1, 0);
        assert_eq!(try_commit(&mut bucket, vec![put("k/a", "x")]), Err(CommitError::Conflict));
    }
    let mut bucket = ours.open("a").unwrap();
    assert_eq!(database.count(|| bucket.get("k/a").unwrap()).1, 0);
    assert_eq!(try_commit(&mut bucket, vec![put("k/a", "x")]), Ok(Revision(5)));
}

#[test]
fn a_new_bucket_is_read_without_further_statements() {
    let database = Database::in_memory();
    let kv = SqliteKv::new(database.clone());
    let read = || {
        let bucket = kv.open("a").unwrap();
        assert_eq!(bucket.revision(), Revision(0));
        assert_eq!(bucket.get("meta"), Ok(None));
        assert_eq!(bucket.scan("", None, 9), Ok(vec![]));
    };
    assert_eq!(database.count(read).1, 1);
    commit(&kv, "b", vec![put("meta", "1")]);
    assert_eq!(database.count(read).1, 1);
}

#[test]
fn a_spent_bucket_has_moved() {
    let (ours, _, _) = two_instances();
    let mut bucket = ours.open("a").unwrap();
    try_commit(&mut bucket, vec![put("meta", "2")]).unwrap();
    assert_eq!(bucket.get("meta"), Err(ReadError::Moved));
    assert_eq!(all(&ours, "a")[2], ("meta".to_owned(), b"2".to_vec()));
}
