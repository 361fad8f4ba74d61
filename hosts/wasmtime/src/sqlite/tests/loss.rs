//! Damage while the storage is open, losses that an operator can accept, and databases of
//! older formats.

use std::{fs, path::Path};

use rusqlite::Connection;
use shared_context_core::port::{Bucket, Kv, ReadError, Revision};
use tempfile::{TempDir, tempdir};

use super::{
    commit, open, put,
    recording::{DATABASE, Image, LOG, MARK, scratch},
    rows,
};
use crate::sqlite::{Contents, SqliteKv, SqliteOptions};

/// Creates a folder with two buckets of two rows, and closes it.
pub(super) fn two_buckets() -> TempDir {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    for bucket in ["session/a", "session/b"] {
        let text = |row: &str| format!("{bucket} keeps {row} secret");
        commit(&kv, bucket, vec![put("k/x", text("x")), put("k/y", text("y"))]).unwrap();
    }
    folder
}

/// Alters the only occurrence of `text` in the database file.
pub(super) fn alter(folder: &Path, text: &str) {
    let path = folder.join(DATABASE);
    let mut bytes = fs::read(&path).unwrap();
    let places: Vec<_> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(text.as_bytes())).collect();
    let [at] = places[..] else { panic!("{text:?} stands at {places:?}") };
    bytes[at + text.len() - 1] ^= 1;
    fs::write(&path, bytes).unwrap();
}

pub(super) fn accepting() -> SqliteOptions {
    SqliteOptions { accepts_loss: true, ..SqliteOptions::default() }
}

pub(super) fn rejection(folder: &Path) -> String {
    let before = Image::of(folder);
    let rejection = SqliteKv::open(folder, &SqliteOptions::default()).unwrap_err().to_string();
    assert!(Image::of(folder) == before, "rejected, but changed: {rejection}");
    rejection
}

/// A bit that changes while the server runs fails only the requests that need it. `SQLite`
/// alone returns the altered value as if it had been written.
#[test]
fn an_altered_row_fails_only_its_reads() {
    let folder = two_buckets();
    let kv = open(folder.path());
    alter(folder.path(), "session/a keeps x secret");
    let bucket = kv.open("session/a").unwrap();
    let Err(ReadError::Failed(error)) = bucket.get("k/x") else { panic!() };
    for part in ["k/x", "session/a", &folder.path().join(DATABASE).display().to_string()] {
        assert!(error.0.contains(part), "{error}");
    }
    assert!(!error.0.contains("secret"), "{error}");
    assert!(matches!(bucket.scan("k/", None, 9), Err(ReadError::Failed(_))));
    assert_eq!(kv.open("session/a").unwrap().get("k/y").unwrap().unwrap().len(), 24);
    drop(bucket);
    assert_eq!(rows(&kv, "session/b").len(), 2);
    // A value that is written anew is valid.
    commit(&kv, "session/a", vec![put("k/x", "new")]).unwrap();
    assert_eq!(kv.open("session/a").unwrap().get("k/x").unwrap().unwrap(), b"new");
    drop(kv);
    assert_eq!(rows(&open(folder.path()), "session/a").len(), 2);
}

#[test]
fn an_altered_bucket_record_fails_only_its_bucket() {
    let folder = two_buckets();
    let kv = open(folder.path());
    let database = Connection::open(folder.path().join(DATABASE)).unwrap();
    database.execute("UPDATE bucket SET revision = 7 WHERE name = 'session/a'", []).unwrap();
    let error = kv.open("session/a").unwrap_err();
    assert!(error.0.contains("session/a") && error.0.contains("damaged"), "{error}");
    assert!(commit(&kv, "session/a", vec![put("k/x", "new")]).is_err());
    assert!(kv.names(None, 9).is_err(), "a list without it would hide it");
    assert_eq!(rows(&kv, "session/b").len(), 2);
    assert_eq!(commit(&kv, "session/b", vec![put("k/x", "new")]), Ok(Revision(2)));
}

/// Any change behind the storage's back, in any table, is reported at the next start, with
/// the session's name if there is one.
#[test]
fn alterations_are_reported_at_the_start() {
    for (change, part) in [
        ("UPDATE row SET value = X'00' WHERE bucket = 1 AND name = 'k/x'", "session/a"),
        ("UPDATE row SET name = 'k/z' WHERE bucket = 2 AND name = 'k/x'", "session/b"),
        ("UPDATE row SET bucket = 2, name = 'k/w' WHERE bucket = 1 AND name = 'k/x'", "session/a"),
        ("DELETE FROM row WHERE bucket = 1 AND name = 'k/y'", "missing rows: 1; hurt: session/a"),
        ("DELETE FROM row WHERE bucket = 1", "missing rows: 2"),
        (
            "INSERT INTO row SELECT bucket, 'k/w', checksum, value FROM row WHERE name = 'k/x'",
            "session/a, session/b",
        ),
        (
            "INSERT INTO row SELECT 3, name, checksum, value FROM row WHERE bucket = 1",
            "different moments",
        ),
        ("UPDATE bucket SET revision = 2 WHERE id = 1", "session/a"),
        ("UPDATE bucket SET name = 'session/c' WHERE id = 1", "session/c"),
        ("DELETE FROM bucket WHERE id = 2", "sessions are missing"),
        ("DELETE FROM row WHERE bucket = 2; DELETE FROM bucket WHERE id = 2", "are missing"),
        ("UPDATE state SET commit_count = 9", "state"),
        ("DELETE FROM state", "state"),
        ("DROP TABLE state", "table state is not as it was made"),
        ("ALTER TABLE row ADD COLUMN more TEXT", "table row is not as it was made"),
    ] {
        let folder = two_buckets();
        let database = Connection::open(folder.path().join(DATABASE)).unwrap();
        database.execute_batch(change).unwrap();
        drop(database);
        let message = rejection(folder.path());
        assert!(message.contains(part) && message.contains("damaged"), "{change}: {message}");
        assert!(!message.contains("secret"), "{message}");
        let examined = SqliteKv::examine(folder.path()).unwrap_err().to_string();
        assert_eq!(examined, message);
    }
}

#[test]
fn an_operator_may_start_with_the_intact_sessions() {
    let folder = two_buckets();
    alter(folder.path(), "session/a keeps x secret");
    let damaged = Image::of(folder.path());
    let message = rejection(folder.path());
    assert!(message.contains("altered rows: 1; hurt: session/a;"), "{message}");
    assert!(message.contains("--accept-loss"), "{message}");
    let kv = SqliteKv::open(folder.path(), &accepting()).unwrap();
    assert_eq!(kv.names(None, 9).unwrap(), ["session/b"]);
    assert_eq!(rows(&kv, "session/b").len(), 2);
    // Its revision does not go back.
    assert_eq!(commit(&kv, "session/a", vec![put("k/x", "new")]), Ok(Revision(2)));
    drop(kv);
    let aside = fs::read(folder.path().join("shared-context.db.damaged-1")).unwrap();
    assert!(aside == damaged.bytes(DATABASE));
    assert_eq!(open(folder.path()).names(None, 9).unwrap(), ["session/a", "session/b"]);
}

/// A loss is accepted once. Later writes are another history, which must not be mistaken
/// for the lost one.
#[test]
fn an_operator_may_start_without_lost_commits() {
    let folder = two_buckets();
    let before = Image::of(folder.path());
    let kv = open(folder.path());
    for n in 0..3_u8 {
        commit(&kv, "session/c", vec![put("x", [n])]).unwrap();
    }
    drop(kv);
    let lost = Image::of(folder.path());
    before.with(MARK, &lost).write(folder.path());
    let message = rejection(folder.path());
    assert!(message.contains("lacks the last 3 of 5 acknowledged commits"), "{message}");
    assert!(message.contains("--accept-loss"), "{message}");
    let kv = SqliteKv::open(folder.path(), &accepting()).unwrap();
    assert_eq!(kv.open("session/c").unwrap().revision(), Revision(0));
    commit(&kv, "session/d", vec![put("x", "1")]).unwrap();
    drop(kv);
    assert_eq!(open(folder.path()).names(None, 9).unwrap().len(), 3);
    fs::write(folder.path().join(DATABASE), lost.bytes(DATABASE)).unwrap();
    assert!(rejection(folder.path()).contains("not of the same server"));
}

#[test]
fn a_missing_mark_can_be_accepted() {
    let folder = two_buckets();
    fs::remove_file(folder.path().join(MARK)).unwrap();
    assert!(rejection(folder.path()).contains("is gone: whether the database"));
    drop(SqliteKv::open(folder.path(), &accepting()).unwrap());
    assert_eq!(open(folder.path()).names(None, 9).unwrap().len(), 2);
}

/// If both slots are invalid, the mark counts as missing.
#[test]
fn a_damaged_mark_is_rejected() {
    let folder = two_buckets();
    fs::write(folder.path().join(MARK), [0xa5; 8192]).unwrap();
    assert!(rejection(folder.path()).contains("is damaged: whether the database"));
    fs::remove_file(folder.path().join(DATABASE)).unwrap();
    assert!(rejection(folder.path()).contains("its mark is still there"));
}

/// A power failure while the mark is written may leave one slot torn. The other one holds
/// the commit before.
#[test]
fn a_mark_with_one_torn_slot_still_detects_a_loss() {
    let folder = two_buckets();
    let kv = open(folder.path());
    for n in 0..5_u8 {
        commit(&kv, "session/c", vec![put("x", [n])]).unwrap();
    }
    let killed = Image::of(folder.path());
    for slot in [0, 4096] {
        let copy = scratch();
        killed.changed(MARK, |it| it[slot + 20..slot + 40].fill(0xa5)).write(copy.path());
        fs::remove_file(copy.path().join(LOG)).unwrap();
        assert!(rejection(copy.path()).contains("lacks the last"), "{slot}");
    }
}

#[test]
fn a_missing_database_is_detected() {
    let folder = two_buckets();
    fs::remove_file(folder.path().join(DATABASE)).unwrap();
    assert!(rejection(folder.path()).contains("held 2 acknowledged commits"));
    let kv = SqliteKv::open(folder.path(), &accepting()).unwrap();
    commit(&kv, "session/c", vec![put("x", "1")]).unwrap();
    drop(kv);
    assert_eq!(open(folder.path()).names(None, 9).unwrap(), ["session/c"]);
}

#[test]
fn examining_summarizes_and_changes_nothing() {
    let folder = two_buckets();
    let files = || fs::read_dir(folder.path()).unwrap().count();
    let (before, count) = (Image::of(folder.path()), files());
    let examined = SqliteKv::examine(folder.path()).unwrap().unwrap();
    let contents = Contents { commits: 2, buckets: 2, rows: 4 };
    assert_eq!((examined.format, examined.contents), (3, Some(contents)));
    assert!(Image::of(folder.path()) == before);
    assert_eq!(files(), count);
    // It works while a server has the database open, too.
    let kv = open(folder.path());
    commit(&kv, "session/c", vec![put("x", "1")]).unwrap();
    let examined = SqliteKv::examine(folder.path()).unwrap().unwrap();
    assert_eq!(examined.contents.unwrap().commits, 3);
    assert_eq!(commit(&kv, "session/c", vec![put("x", "2")]), Ok(Revision(2)));
    assert_eq!(SqliteKv::examine(tempdir().unwrap().path()), Ok(None));
}

/// Copies a folder written by format 1, from `tests/system/golden`.
fn golden(end: &str) -> TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/system/golden/format-1");
    let folder = scratch();
    for file in [DATABASE, LOG] {
        let from = from.join(end).join(file);
        if from.exists() {
            fs::copy(from, folder.path().join(file)).unwrap();
        }
    }
    folder
}

/// The bucket, revision, row and value of a stored row.
type PlainRow = (String, i64, Option<String>, Option<Vec<u8>>);

/// Returns all rows as `SQLite` alone reads them, in any format.
fn plain_rows(folder: &Path) -> Vec<PlainRow> {
    let database = Connection::open(folder.join(DATABASE)).unwrap();
    let mut rows = database
        .prepare(
            "SELECT bucket.name, revision, row.name, value FROM bucket \
             LEFT JOIN row ON row.bucket = bucket.id ORDER BY 1, 3",
        )
        .unwrap();
    let rows = rows.query_map([], |it| Ok((it.get(0)?, it.get(1)?, it.get(2)?, it.get(3)?)));
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_database_of_format_1_is_upgraded_completely() {
    for (end, sessions) in [("stopped", 3), ("killed", 3)] {
        let folder = golden(end);
        let copy = golden(end);
        let before = plain_rows(copy.path());
        assert!(before.len() > 20, "{}", before.len());
        let examined = SqliteKv::examine(folder.path()).unwrap().unwrap();
        assert_eq!((examined.format, examined.contents), (1, None));
        let kv = open(folder.path());
        assert_eq!(kv.names(None, 9).unwrap().len(), sessions);
        drop(kv);
        assert_eq!(plain_rows(folder.path()), before);
        let examined = SqliteKv::examine(folder.path()).unwrap().unwrap();
        assert_eq!(examined.format, 3);
        open(folder.path());
    }
}

/// An interrupted upgrade leaves the old database or the new one.
#[test]
fn an_interrupted_upgrade_is_repeated() {
    let (folder, done) = (golden("killed"), golden("killed"));
    drop(open(done.path()));
    let new = fs::read(done.path().join(DATABASE)).unwrap();
    for half in [0, 100, new.len() / 2, new.len()] {
        fs::write(folder.path().join("shared-context.db.new"), &new[..half]).unwrap();
        let again = tempdir().unwrap();
        for file in fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), again.path().join(file.file_name())).unwrap();
        }
        assert_eq!(open(again.path()).names(None, 9).unwrap().len(), 3);
    }
    // It is renamed already, but the mark is missing.
    fs::remove_file(done.path().join(MARK)).unwrap();
    assert_eq!(open(done.path()).names(None, 9).unwrap().len(), 3);
}

/// A backup from before the upgrade, copied over newer data.
#[test]
fn an_old_format_beside_a_newer_mark_is_rejected() {
    let folder = golden("stopped");
    commit(&open(folder.path()), "session/new", vec![put("x", "1")]).unwrap();
    fs::copy(golden("stopped").path().join(DATABASE), folder.path().join(DATABASE)).unwrap();
    assert!(rejection(folder.path()).contains("older format than the mark"));
}
