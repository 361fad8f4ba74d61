//! The health of the storage: the outcome of its last transaction, and whether its files
//! are still the ones that were opened.
//!
//! Failures are logged and returned elsewhere. Invariant: a reason is public, so it names
//! no path and nothing that is stored.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rusqlite::{Error, ErrorCode, ffi};

use super::{Fault, file::with_suffix};
use crate::StartError;

const FULL: &str = "the disk is full: changes that need room are rejected; make room";
const FAILING: &str =
    "the last change could not be stored: the disk or the database fails; read the server's log";
const DAMAGED: &str = "a part of the database is damaged: read the server's log, and restore the \
     data folder from a backup";
const GONE: &str = "the database was removed or replaced while the server ran: changes are \
     rejected; stop the server, put the data folder back and start it again";

/// The error of `SQLite` when it notices itself that its file has moved.
const MOVED: ffi::Error =
    ffi::Error { code: ErrorCode::ReadOnly, extended_code: ffi::SQLITE_READONLY_DBMOVED };

fn moved() -> Fault {
    let what = "the database or its write-ahead log was removed or replaced while it was open; \
                stop the server, put the data folder back as it was and start it again";
    Error::SqliteFailure(MOVED, Some(what.to_owned())).into()
}

/// The health of the files and of the last transactions.
#[derive(Debug)]
pub(super) struct Health {
    path: PathBuf,
    database: FileId,
    status: Mutex<Status>,
}

#[derive(Debug, Default)]
struct Status {
    /// The write-ahead log, once it was written to.
    log: Option<FileId>,
    /// Why the last transaction failed, if it did.
    failure: Option<&'static str>,
    /// True once a read found damage. It is never reset.
    is_damaged: bool,
}

impl Health {
    /// Creates the health of the open database at `path`.
    pub(super) fn new(path: &Path) -> Result<Self, StartError> {
        let database = FileId::of(path).map_err(|it| StartError::file("look for", path, &it))?;
        Ok(Self { path: path.to_owned(), database, status: Mutex::default() })
    }

    /// Returns why the storage does not work, if it does not.
    pub(super) fn failure(&self) -> Option<&'static str> {
        if self.check_files().is_err() {
            return Some(GONE);
        }
        let status = self.status();
        if status.is_damaged { Some(DAMAGED) } else { status.failure }
    }

    /// Returns true if the last transaction that wrote something succeeded.
    pub(super) fn takes_writes(&self) -> bool {
        self.status().failure.is_none()
    }

    /// Fails if the files are not the ones that were opened: writes to an unlinked file are
    /// lost.
    pub(super) fn check_files(&self) -> Result<(), Fault> {
        let is_same = |path: &Path, id: FileId| FileId::of(path).is_ok_and(|it| it == id);
        let log = self.status().log;
        let is_there = is_same(&self.path, self.database)
            && log.is_none_or(|it| is_same(&with_suffix(&self.path, "-wal"), it));
        if is_there { Ok(()) } else { Err(moved()) }
    }

    /// Notes which file is the write-ahead log of the writing connection. It must be in a
    /// transaction.
    pub(super) fn note_log(&self) -> Result<(), Fault> {
        let mut status = self.status();
        if status.log.is_none() {
            let id = FileId::of(&with_suffix(&self.path, "-wal")).map_err(|_| moved())?;
            status.log = Some(id);
        }
        Ok(())
    }

    /// Notes that the writing connection was closed, and its log perhaps removed.
    pub(super) fn forget_log(&self) {
        self.status().log = None;
    }

    /// Notes that a transaction is on the disk.
    pub(super) fn note_success(&self) {
        self.status().failure = None;
    }

    /// Notes that a transaction failed.
    pub(super) fn note_failure(&self, fault: &Fault) {
        self.note_damage(fault);
        self.status().failure = Some(match fault {
            Fault::Sqlite(error) if error.sqlite_error() == Some(&MOVED) => GONE,
            _ if fault.is_full() => FULL,
            Fault::Sqlite(_) | Fault::Damaged(_) => FAILING,
        });
    }

    /// Notes the fault of a read, if it is damage.
    pub(super) fn note_damage(&self, fault: &Fault) {
        let is_damage = match fault {
            Fault::Damaged(_) => true,
            Fault::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
            ),
        };
        if is_damage {
            self.status().is_damaged = true;
        }
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The identity of a file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    #[cfg(unix)]
    fn of(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::metadata(path)?;
        Ok(Self { device: metadata.dev(), number: metadata.ino() })
    }

    /// Returns one id for all files. Without inodes an open file cannot be removed, so its
    /// existence suffices.
    #[cfg(not(unix))]
    fn of(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|_| Self { device: 0, number: 0 })
    }
}
