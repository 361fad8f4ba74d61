//! Damaged and foreign files: each is rejected with an error that names the file and says
//! what to do, and none is changed.

use std::{
    fs::{self, OpenOptions},
    path::Path,
};

use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

use super::{commit, open, put, rows};
use crate::sqlite::{SqliteKv, SqliteOptions};

const DATABASE: &str = "shared-context.db";
const LOG: &str = "shared-context.db-wal";
const MARK: &str = "shared-context.mark";

/// Asserts that opening `folder` fails with all of `parts` in the error, and changes
/// nothing.
fn assert_rejected(folder: &Path, parts: &[&str]) {
    let before = fs::read(folder.join(DATABASE)).ok();
    let error = SqliteKv::open(folder, &SqliteOptions::default()).unwrap_err().to_string();
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in {error:?}");
    }
    assert!(fs::read(folder.join(DATABASE)).ok() == before, "the file was changed");
}

/// Creates a data folder with 100 rows of 1 KiB.
fn filled() -> TempDir {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    let row = |n| put(&format!("{n:03}"), vec![7; 1024]);
    commit(&kv, "a", (0..100).map(row).collect()).unwrap();
    folder
}

fn cut(path: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn a_cut_database_is_rejected() {
    let whole = fs::metadata(filled().path().join(DATABASE)).unwrap().len();
    for bytes in [0, 1, 99, 100, 4095, 4096, 8192, 10_000, whole / 2, whole - 4096, whole - 1] {
        let folder = filled();
        cut(&folder.path().join(DATABASE), bytes);
        assert_rejected(folder.path(), &[DATABASE, "damaged", "backup"]);
    }
}

/// A killed server leaves a log. `SQLite` trusts the log about the length of the database,
/// so a file that was cut then was once opened without an error.
#[test]
fn a_cut_database_with_a_log_is_rejected() {
    let (folder, killed) = (filled(), tempdir().unwrap());
    let kv = open(folder.path());
    commit(&kv, "b", vec![put("x", "1")]).unwrap();
    for file in [DATABASE, LOG, MARK] {
        fs::copy(folder.path().join(file), killed.path().join(file)).unwrap();
    }
    let database = killed.path().join(DATABASE);
    let whole = fs::metadata(&database).unwrap().len();
    cut(&database, whole / 2);
    assert_rejected(killed.path(), &[DATABASE, "damaged", "write-ahead log"]);
}

#[test]
fn a_log_without_its_database_is_rejected() {
    let folder = filled();
    let kv = open(folder.path());
    commit(&kv, "b", vec![put("x", "1")]).unwrap();
    let lost = tempdir().unwrap();
    fs::copy(folder.path().join(LOG), lost.path().join(LOG)).unwrap();
    assert_rejected(lost.path(), &[DATABASE, "gone"]);
}

#[test]
fn a_file_that_is_not_a_database_is_rejected() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join(DATABASE), "x".repeat(10_000)).unwrap();
    assert_rejected(folder.path(), &[DATABASE, "not an SQLite database"]);
}

#[test]
fn the_database_of_another_program_is_rejected() {
    let folder = tempdir().unwrap();
    let other = Connection::open(folder.path().join(DATABASE)).unwrap();
    other.execute_batch("CREATE TABLE row(x)").unwrap();
    assert_rejected(folder.path(), &[DATABASE, "another program"]);
}

#[test]
fn a_database_of_a_newer_format_is_rejected() {
    let folder = filled();
    let newer = Connection::open(folder.path().join(DATABASE)).unwrap();
    newer.pragma_update(None, "user_version", 4).unwrap();
    drop(newer);
    assert_rejected(folder.path(), &[DATABASE, "format 4", "start the version that wrote it"]);
}

#[test]
fn an_unfinished_database_is_created_anew() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("shared-context.db.new"), "half").unwrap();
    let kv = open(folder.path());
    commit(&kv, "a", vec![put("x", "1")]).unwrap();
    assert_eq!(rows(&kv, "a").len(), 1);
}

#[test]
fn a_second_user_of_the_data_folder_is_rejected() {
    let folder = filled();
    let first = open(folder.path());
    let path = folder.path().display().to_string();
    assert_rejected(folder.path(), &[&path, "another shared-context process", "choose another"]);
    drop(first);
    assert_eq!(rows(&open(folder.path()), "a").len(), 100);
}

#[test]
fn a_data_folder_that_cannot_be_created_is_rejected() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = SqliteKv::open(file.join("data"), &SqliteOptions::default()).unwrap_err();
    assert!(error.to_string().contains("cannot create the data folder"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_read_only_database_is_rejected() {
    use std::os::unix::fs::PermissionsExt;
    let folder = filled();
    let database = folder.path().join(DATABASE);
    fs::set_permissions(&database, fs::Permissions::from_mode(0o400)).unwrap();
    if OpenOptions::new().write(true).open(&database).is_ok() {
        return; // The superuser may write everywhere.
    }
    assert_rejected(folder.path(), &[DATABASE, "read and write"]);
}

#[cfg(unix)]
#[test]
fn a_read_only_data_folder_is_rejected() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(folder.path().join("probe"), "").is_ok() {
        return; // The superuser may write everywhere.
    }
    assert_rejected(folder.path(), &["lock", "choose another data folder"]);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_data_folder() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempdir().unwrap();
    let folder = parent.path().join("data");
    let kv = open(&folder);
    commit(&kv, "a", vec![put("x", "1")]).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}
