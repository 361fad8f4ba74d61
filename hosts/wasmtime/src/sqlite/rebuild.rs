//! Upgrades a database: adds a table to it, or builds a new file from it. A new file is also
//! built to leave out damaged buckets.
//!
//! `start` decides when. Invariants: a table is added in one transaction, and a new file is
//! complete and synced before it replaces the old one; a crash at any moment leaves the old
//! database or the new one.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, TransactionBehavior, params};

use super::{
    Fault, expiry,
    file::{self, SqliteOptions},
    format::{
        BucketRecord, DatabaseId, FORMAT, FORMAT_WITHOUT_EXPIRY, State, TABLES, Tally, row_checksum,
    },
};
use crate::{StartError, folder::DATABASE_FILE};

/// Upgrades a database of format 1 to the present format. Format 1 has rows without
/// checksums, and no state.
pub(super) fn upgrade(folder: &Path, path: &Path) -> Result<(), StartError> {
    let not_opened = |it: &rusqlite::Error| file::not_opened(path, it);
    // Closing it copies its log into it and removes the log.
    let old =
        file::connect_writer(path, &SqliteOptions::default()).map_err(|it| not_opened(&it))?;
    old.close().map_err(|(_, it)| not_opened(&it))?;
    if file::wal_bytes(path) > 0 {
        return Err(StartError::new(format!(
            "the database {} has to be brought to a new format, but another program has it \
             open; close that one",
            path.display()
        )));
    }
    let state = State::new(DatabaseId::new()?);
    let fill = |old: &Connection| {
        file::fill_unfinished(folder, |new| copy(old, new, state, &BTreeSet::new()))
    };
    let unfinished = file::inspect(path, fill).map_err(|it| not_opened(&it))??;
    file::finish(folder, &unfinished, path)
}

/// Upgrades a database of format 2: adds the table `expiry`, in which all buckets are due.
pub(super) fn add_expiry(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (.., sql) in TABLES.iter().filter(|(since, ..)| *since > FORMAT_WITHOUT_EXPIRY) {
        transaction.execute_batch(sql)?;
    }
    expiry::forget_all(&transaction)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// Builds a database without the rows of the buckets `lost`. Keeps the damaged one under
/// another name, which is returned.
pub(super) fn without(
    folder: &Path,
    path: &Path,
    lost: &BTreeSet<String>,
    commits: i64,
) -> Result<PathBuf, StartError> {
    let state = State { commits, ..State::new(DatabaseId::new()?) };
    let fill = |old: &Connection| file::fill_unfinished(folder, |new| copy(old, new, state, lost));
    let unfinished = file::inspect(path, fill).map_err(|it| file::not_opened(path, &it))??;
    let aside = aside(folder)?;
    let mut log = aside.clone().into_os_string();
    log.push("-wal");
    let wal = file::with_suffix(path, "-wal");
    let move_aside = || -> io::Result<()> {
        keep(path, &aside)?;
        if wal.try_exists()? {
            keep(&wal, Path::new(&log))?;
            fs::remove_file(&wal)?;
        }
        Ok(())
    };
    move_aside().map_err(|it| StartError::file("keep the damaged", path, &it))?;
    file::finish(folder, &unfinished, path)?;
    Ok(aside)
}

/// Returns an unused name beside the database.
fn aside(folder: &Path) -> Result<PathBuf, StartError> {
    let mut names = (1..).map(|nth: u32| {
        let mut name = OsString::from(DATABASE_FILE);
        name.push(format!(".damaged-{nth}"));
        folder.join(name)
    });
    let free = names.find(|it| !it.exists());
    free.ok_or_else(|| StartError::new("there is no free name for the damaged database"))
}

/// Links a file to a second name, or copies it if links are not supported.
fn keep(file: &Path, name: &Path) -> io::Result<()> {
    fs::hard_link(file, name).or_else(|_| fs::copy(file, name).map(drop))
}

/// Copies buckets and rows, which both formats have. A bucket in `lost` keeps its record,
/// so that its revision does not go back.
fn copy(
    old: &Connection,
    new: &Connection,
    mut state: State,
    lost: &BTreeSet<String>,
) -> Result<(), Fault> {
    let mut buckets = old.prepare("SELECT id, name, revision FROM bucket ORDER BY id")?;
    let mut rows_of = old.prepare("SELECT name, value FROM row WHERE bucket = ?1 ORDER BY name")?;
    let mut insert =
        new.prepare("INSERT INTO row (bucket, name, checksum, value) VALUES (?1, ?2, ?3, ?4)")?;
    let mut buckets = buckets.query([])?;
    while let Some(bucket) = buckets.next()? {
        let (old_id, name, revision): (i64, String, i64) =
            (bucket.get(0)?, bucket.get(1)?, bucket.get(2)?);
        let id = state.buckets.count + 1;
        let mut record = BucketRecord { id, revision: revision.max(1), rows: Tally::default() };
        if !lost.contains(&name) {
            let mut rows = rows_of.query([old_id])?;
            while let Some(row) = rows.next()? {
                let (name, value): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
                let checksum = row_checksum(id, &name, &value);
                insert.execute(params![id, name, checksum, value])?;
                record.rows.add(checksum);
            }
        }
        record.insert(new, &name)?;
        state.buckets.add(record.checksum(&name));
    }
    expiry::forget_all(new)?;
    Ok(state.insert(new)?)
}
