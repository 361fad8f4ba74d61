//! The first write of any instance creates the tables, beside those of the app.

use std::{path::Path, thread};

use shared_context_core::port::{Bucket, Kv, Revision};
use shared_context_spin_storage::sqlite::{Sql, SqliteKv};

use crate::support::{Database, all, commit, put};

#[test]
fn reading_creates_no_table() {
    let database = Database::in_memory();
    let kv = SqliteKv::new(database.clone());
    assert_eq!(all(&kv, "a"), []);
    assert_eq!(kv.revision("a"), Ok(Revision(0)));
    assert_eq!(kv.names("", None, 9), Ok(vec![]));
    assert_eq!(database.one::<i64>("SELECT count(*) FROM sqlite_schema"), 0);
}

#[test]
fn all_tables_have_the_prefix() {
    let database = Database::in_memory();
    database.batch("CREATE TABLE bucket (name); CREATE TABLE row (x); INSERT INTO row VALUES (1)");
    let kv = SqliteKv::new(database.clone());
    commit(&kv, "a", vec![put("meta", "1")]);
    let others = "SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'shared_context_%'";
    assert_eq!(database.one::<i64>(others), 2);
    assert_eq!(database.one::<i64>("SELECT count(*) FROM row"), 1);
}

/// The creation of the tables may be interrupted at any point.
#[test]
fn partially_created_tables_are_completed() {
    let made = Database::in_memory();
    commit(&SqliteKv::new(made.clone()), "a", vec![]);
    let statement = |nth: usize| -> String {
        made.one(&format!("SELECT sql FROM sqlite_schema WHERE sql <> '' LIMIT 1 OFFSET {nth}"))
    };
    for some in 0..=4 {
        let database = Database::in_memory();
        (0..some).for_each(|nth| database.batch(&statement(nth)));
        let kv = SqliteKv::new(database);
        assert_eq!(all(&kv, "a"), []);
        assert_eq!(commit(&kv, "a", vec![put("meta", "1")]), Revision(1));
        assert_eq!(all(&kv, "a").len(), 1);
    }
}

#[test]
fn an_emptied_database_starts_from_the_beginning() {
    let database = Database::in_memory();
    let kv = SqliteKv::new(database.clone());
    commit(&kv, "a", vec![put("meta", "1")]);
    let mut bucket = kv.open("a").unwrap();
    database.batch(
        "DROP VIEW shared_context_commit; DROP TABLE shared_context_row; \
         DROP TABLE shared_context_bucket",
    );
    assert!(bucket.commit(Revision(1), vec![put("meta", "2")]).is_err());
    assert_eq!(all(&kv, "a"), []);
    assert_eq!(commit(&kv, "a", vec![put("meta", "3")]), Revision(1));
}

/// Creates the bucket `nth` in the file `path`.
fn create_bucket(path: &Path, nth: usize) {
    let kv = SqliteKv::new(Database::in_file(path));
    assert_eq!(commit(&kv, &format!("session/{nth}"), vec![put("meta", "1")]), Revision(1));
}

#[test]
fn tables_can_be_created_concurrently() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sqlite_db.db");
        thread::scope(|scope| {
            for nth in 0..8 {
                let path = &path;
                scope.spawn(move || create_bucket(path, nth));
            }
        });
        let database = Database::in_file(&path);
        assert_eq!(database.one::<String>("PRAGMA journal_mode"), "wal");
        let kv = SqliteKv::new(database.clone());
        assert_eq!(kv.names("session/", None, 99).unwrap().len(), 8);
        assert_eq!(database.one::<i64>("SELECT count(*) FROM sqlite_schema WHERE sql <> ''"), 4);
    }
}

/// The app may have set these pragmas for its own tables.
#[test]
fn settings_of_the_app_change_nothing() {
    let database = Database::in_memory();
    database.batch(
        "PRAGMA recursive_triggers = ON; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; \
         PRAGMA case_sensitive_like = ON; PRAGMA count_changes = ON",
    );
    let kv = SqliteKv::new(database.clone());
    commit(&kv, "a", vec![put("k/a", "1"), put("k/b", "1")]);
    commit(&kv, "a", vec![put("k/a", "2")]);
    assert_eq!(all(&kv, "a").len(), 2);
    assert!(database.execute("SELECT * FROM shared_context_commit", vec![]).unwrap().is_empty());
}
