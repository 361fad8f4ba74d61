//! A failure is never reported as a conflict or as a missing row, and its text contains advice for
//! operators.

use shared_context_core::port::{Bucket, CommitError, Kv, KvError, ReadError, Revision};
use shared_context_spin_storage::{
    key_value::{KeyValueKv, StoreError},
    sqlite::{SqlError, SqliteKv},
};

use crate::support::{Database, FaultPoint, MemoryStore, all, commit, put, try_commit};

fn io(text: &str) -> SqlError {
    SqlError::Io(text.to_owned())
}

/// Asserts that every operation fails with `warning` in its text.
#[track_caller]
fn check(error: &SqlError, warning: &str) {
    let database = Database::in_memory();
    let kv = SqliteKv::new(database.clone());
    commit(&kv, "a", vec![put("meta", "1")]);
    let mut bucket = kv.open("a").unwrap();
    database.set_fault(Some((FaultPoint::Before, error.clone())));
    let KvError(text) = kv.open("a").map(drop).unwrap_err();
    assert!(text.contains(warning), "{text}");
    let failed = || KvError(text.clone());
    assert_eq!(bucket.get("k/a"), Err(ReadError::Failed(failed())));
    assert_eq!(bucket.scan("", None, 9), Err(ReadError::Failed(failed())));
    assert_eq!(kv.names("", None, 9), Err(failed()));
    assert_eq!(kv.revision("a"), Err(failed()));
    let done = try_commit(&mut bucket, vec![put("meta", "2")]);
    assert_eq!(done, Err(CommitError::Failed(failed())));
    database.set_fault(None);
    assert_eq!(all(&kv, "a"), [("meta".to_owned(), b"1".to_vec())]);
}

#[test]
fn errors_of_spin_name_the_file_and_setting_to_change() {
    check(&SqlError::NoSuchDatabase, "define [sqlite_database.default]");
    check(&SqlError::AccessDenied, "give the component sqlite_databases = [\"default\"]");
    check(&SqlError::AccessDenied, "inherit_configuration = [\"sqlite_databases\"]");
    check(&SqlError::AccessDenied, "dependencies_inherit_configuration = true");
    check(&SqlError::InvalidConnection, "look at url and token");
    check(&SqlError::DatabaseFull, "give it more room");
}

#[test]
fn errors_of_sqlite_are_shown_with_advice() {
    for (text, warning) in [
        ("database or disk is full", "free space"),
        ("database is locked", "what else holds the database"),
        ("attempt to write a readonly database", "let Spin write"),
        ("unable to open database file: /x/sqlite_db.db", "let Spin write"),
        ("database disk image is malformed", "from a backup"),
        ("file is not a database", "from a backup"),
        ("query result exceeds limit of 134217728 bytes", "keep less of its past"),
        ("disk I/O error", "look at the disk, or at the server"),
    ] {
        check(&io(text), text);
        check(&io(text), warning);
    }
}

#[test]
fn a_lost_reply_is_a_failure_and_not_a_conflict() {
    let database = Database::in_memory();
    let kv = SqliteKv::new(database.clone());
    commit(&kv, "a", vec![put("meta", "1")]);
    let mut bucket = kv.open("a").unwrap();
    database.set_fault(Some((FaultPoint::After, io("disk I/O error"))));
    let done = try_commit(&mut bucket, vec![put("meta", "2")]);
    assert!(matches!(done, Err(CommitError::Failed(_))), "{done:?}");
    database.set_fault(None);
    assert_eq!(kv.revision("a"), Ok(Revision(2)));
}

#[test]
fn tables_that_cannot_be_created_are_a_failure() {
    let database = Database::in_memory();
    database.batch("PRAGMA query_only = ON");
    let kv = SqliteKv::new(database);
    let done = try_commit(&mut kv.open("a").unwrap(), vec![put("meta", "1")]);
    let Err(CommitError::Failed(KvError(text))) = done else { panic!("{done:?}") };
    assert!(text.contains("readonly") && text.contains("let Spin write"), "{text}");
}

#[test]
fn rows_written_by_other_programs_are_rejected() {
    for damage in [
        "UPDATE shared_context_bucket SET revision = 'x'",
        "UPDATE shared_context_bucket SET revision = -1",
        "UPDATE shared_context_bucket SET revision = 1.5",
        "UPDATE shared_context_row SET value = 'text'",
    ] {
        let database = Database::in_memory();
        let kv = SqliteKv::new(database.clone());
        commit(&kv, "a", vec![put("meta", "1")]);
        database.batch(damage);
        let KvError(text) = kv.open("a").map(drop).unwrap_err();
        assert!(text.contains("restore the database from a backup"), "{damage}: {text}");
    }
}

#[test]
fn errors_of_the_key_value_store_say_what_to_do() {
    for (error, warning) in [
        (StoreError::StoreTableFull, "close those"),
        (StoreError::NoSuchStore, "define [key_value_store.default]"),
        (StoreError::AccessDenied, "key_value_stores = [\"default\"]"),
        (StoreError::AccessDenied, "inherit_configuration = [\"key_value_stores\"]"),
        (StoreError::Other("value too large".to_owned()), "failed: value too large: look at"),
    ] {
        let store = MemoryStore::default();
        let kv = KeyValueKv::new(store.clone());
        let mut bucket = kv.open("a").unwrap();
        store.fault.replace(Some(error));
        let KvError(text) = kv.open("a").map(drop).unwrap_err();
        assert!(text.contains(warning), "{text}");
        let failed = || KvError(text.clone());
        assert_eq!(kv.names("", None, 9), Err(failed()));
        assert_eq!(kv.revision("a"), Err(failed()));
        let done = try_commit(&mut bucket, vec![put("meta", "1")]);
        assert_eq!(done, Err(CommitError::Unchanged(failed())));
    }
}
