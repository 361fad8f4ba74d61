//! Large databases, whose rows are verified while they are served. `images` tries each of its
//! images as one, too.

use std::{fs, path::Path, thread, time::Duration};

use rusqlite::Connection;
use shared_context_core::port::Kv;

use super::{
    commit,
    loss::{accepting, alter, rejection, two_buckets},
    put,
    recording::DATABASE,
    rows,
};
use crate::{
    folder::VERIFICATION_FILE,
    sqlite::{SqliteKv, SqliteOptions, Verification},
};

/// Opens a database as a large one.
fn open_large(folder: &Path) -> SqliteKv {
    let options = SqliteOptions { verified_first_bytes_max: 0, ..SqliteOptions::default() };
    SqliteKv::open(folder, &options).unwrap()
}

/// Waits for the end of the pass over all buckets.
fn verified(folder: &Path) -> Verification {
    loop {
        match Verification::read(folder) {
            Some(it) if it.is_finished() => return it,
            _ => thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Starting took 6 minutes for 100 GB, because every row was read before the first was served.
#[test]
fn a_damaged_bucket_is_not_served_and_the_others_are() {
    let folder = two_buckets();
    alter(folder.path(), "session/a keeps x secret");
    let kv = open_large(folder.path());
    let error = kv.open("session/a").unwrap_err().0;
    assert!(error.contains("session/a") && error.contains("backup"), "{error}");
    assert!(!error.contains("secret"), "{error}");
    // Also a row that is intact: others may be missing.
    kv.open("session/a").unwrap_err();
    assert_eq!(rows(&kv, "session/b").len(), 2);
    commit(&kv, "session/b", vec![put("k/x", "new")]).unwrap();
    assert!(kv.failure().unwrap().contains("damaged"));
}

#[test]
fn a_bucket_without_some_of_its_rows_is_not_served() {
    let folder = two_buckets();
    let database = Connection::open(folder.path().join(DATABASE)).unwrap();
    database.execute("DELETE FROM row WHERE bucket = 1 AND name = 'k/x'", []).unwrap();
    drop(database);
    let kv = open_large(folder.path());
    kv.open("session/a").unwrap_err();
    assert_eq!(rows(&kv, "session/b").len(), 2);
}

#[test]
fn missing_records_prevent_the_start_of_a_large_one_too() {
    let folder = two_buckets();
    let database = Connection::open(folder.path().join(DATABASE)).unwrap();
    database.execute("DELETE FROM bucket WHERE id = 1", []).unwrap();
    drop(database);
    let options = SqliteOptions { verified_first_bytes_max: 0, ..SqliteOptions::default() };
    let error = SqliteKv::open(folder.path(), &options).unwrap_err().to_string();
    assert!(error.contains("sessions are missing"), "{error}");
}

#[test]
fn damage_is_found_that_nobody_reads() {
    let folder = two_buckets();
    alter(folder.path(), "session/a keeps x secret");
    let kv = open_large(folder.path());
    let found = verified(folder.path());
    assert!(found.has_found_damage);
    assert_eq!((found.verified, found.of), (2, 2));
    assert!(kv.failure().unwrap().contains("damaged"));
    drop(kv);
    // From then on nothing is served until the loss is accepted.
    let options = SqliteOptions { verified_first_bytes_max: 0, ..SqliteOptions::default() };
    let error = SqliteKv::open(folder.path(), &options).unwrap_err().to_string();
    assert!(error.contains("hurt: session/a"), "{error}");
    assert_eq!(rejection(folder.path()), error);
    let kv = SqliteKv::open(folder.path(), &accepting()).unwrap();
    assert_eq!(kv.names(None, 9).unwrap(), ["session/b"]);
    assert_eq!(Verification::read(folder.path()), None);
}

/// A server that is restarted often would otherwise never come to the end of a large database.
#[test]
fn a_pass_continues_after_a_restart() {
    let folder = two_buckets();
    let kv = open_large(folder.path());
    let finished = verified(folder.path());
    drop(kv);
    let path = folder.path().join(VERIFICATION_FILE);
    let stored = serde_json::to_string_pretty(&finished).unwrap();
    let stored = stored.replace(r#""verified": 2"#, r#""verified": 1"#);
    let stored = stored.replace(r#""last_id": 2"#, r#""last_id": 1"#);
    fs::write(&path, stored).unwrap();
    alter(folder.path(), "session/a keeps x secret");
    let kv = open_large(folder.path());
    let found = verified(folder.path());
    assert!(!found.has_found_damage, "it began anew: {found:?}");
    // What is read is verified in any case, and a pass that begins anew finds it.
    kv.open("session/a").unwrap_err();
    drop(kv);
    fs::write(&path, "{}").unwrap();
    let _kv = open_large(folder.path());
    assert!(verified(folder.path()).has_found_damage);
}

#[test]
fn what_was_stored_of_another_database_is_ignored() {
    let (folder, other) = (two_buckets(), two_buckets());
    let kv = open_large(folder.path());
    let stored = verified(folder.path());
    drop(kv);
    let unfinished = Verification { verified: 1, last_id: 2, ..stored.clone() };
    for content in [serde_json::to_vec(&unfinished).unwrap(), b"{".to_vec()] {
        fs::write(other.path().join(VERIFICATION_FILE), content).unwrap();
        let kv = open_large(other.path());
        let found = verified(other.path());
        assert_ne!(found.database, stored.database);
        assert_eq!(found.database, kv.identity());
        assert_eq!(found.verified, 2);
    }
}
