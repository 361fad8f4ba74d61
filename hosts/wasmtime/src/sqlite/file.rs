//! The database file: created whole, opened only when it is whole.
//!
//! Not here: reading and writing rows. Invariant: a file that is missing a part,
//! or is not ours, is refused at the start and never written to.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::{StartError, folder::DATABASE_FILE};

/// How the database is kept.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// The most bytes the database file may have; a commit that needs more fails
    /// as on a full disk. `None`: as many as the disk holds.
    pub bytes_max: Option<u64>,
}

/// In `PRAGMA application_id`: "sctx".
const APPLICATION: u32 = 0x7363_7478;
/// In `PRAGMA user_version`: the tables below. A newer one is refused.
const FORMAT: u32 = 1;
/// A bucket keeps its line when its last row goes: its revision never goes back.
const TABLES: &str = "
    CREATE TABLE bucket(
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE row(
        bucket INTEGER NOT NULL,
        name TEXT NOT NULL,
        value BLOB NOT NULL,
        PRIMARY KEY (bucket, name)
    ) STRICT, WITHOUT ROWID;
";
const PAGE_BYTES: u32 = 4096;
/// Pages kept in memory by each connection, in KiB (negative: that is how
/// `PRAGMA cache_size` wants it). The system's own cache stands behind.
const READER_CACHE_KIB: i32 = -2048;
const WRITER_CACHE_KIB: i32 = -8192;
/// How long to wait for a foreign program, such as a backup, to let go.
pub(super) const BUSY_TIME_MAX: Duration = Duration::from_secs(5);

/// Makes sure that `folder` holds a whole database of a known format, and opens
/// the connection that writes it.
pub(super) fn prepare(
    folder: &Path,
    options: &SqliteOptions,
) -> Result<(PathBuf, Connection), StartError> {
    let path = folder.join(DATABASE_FILE);
    let is_there = path.try_exists().map_err(|it| StartError::file("look for", &path, &it))?;
    if !is_there {
        if wal_bytes(&path) > 0 {
            return Err(damaged(&path, "it is gone, but its write-ahead log is still there"));
        }
        create(folder, &path)?;
    }
    check(&path)?;
    let connection = connect_writer(&path, options).map_err(|it| not_opened(&path, &it))?;
    Ok((path, connection))
}

/// Opens the connection that writes.
pub(super) fn connect_writer(path: &Path, options: &SqliteOptions) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(BUSY_TIME_MAX)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "cache_size", WRITER_CACHE_KIB)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    if let Some(bytes) = options.bytes_max {
        let pages = i64::try_from(bytes / u64::from(PAGE_BYTES)).unwrap_or(i64::MAX).max(1);
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(connection)
}

/// Opens a connection that reads.
pub(super) fn connect_reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(BUSY_TIME_MAX)?;
    connection.pragma_update(None, "cache_size", READER_CACHE_KIB)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

/// Creates the database under another name and renames it when it is whole, so
/// that a crash in between leaves nothing that looks like a database.
fn create(folder: &Path, path: &Path) -> Result<(), StartError> {
    let unfinished = folder.join(format!("{DATABASE_FILE}.new"));
    for leftover in ["", "-journal", "-wal", "-shm"] {
        match fs::remove_file(with_suffix(&unfinished, leftover)) {
            Err(it) if it.kind() != io::ErrorKind::NotFound => {
                return Err(StartError::file("remove", &unfinished, &it));
            }
            _ => {}
        }
    }
    create_private(&unfinished).map_err(|it| StartError::file("create", &unfinished, &it))?;
    let fill = || -> rusqlite::Result<()> {
        let connection = Connection::open(&unfinished)?;
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.pragma_update(None, "user_version", FORMAT)?;
        connection.execute_batch(TABLES)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.close().map_err(|(_, error)| error)
    };
    fill().map_err(|it| not_opened(&unfinished, &it))?;
    fs::rename(&unfinished, path)
        .and_then(|()| File::open(folder)?.sync_all())
        .map_err(|it| StartError::file("create", path, &it))
}

/// Checks that the file is ours, of a known format, and whole. `SQLite` would
/// take a file without bytes for a new database, and one that was cut while its
/// log held commits for a whole one. Reads the file itself, because a connection
/// may change what it opens.
fn check(path: &Path) -> Result<(), StartError> {
    const HEADER_BYTES: usize = 100;
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|it| StartError::file("open", path, &it))?;
    let length = file.metadata().map_err(|it| StartError::file("open", path, &it))?.len();
    let mut header = [0; HEADER_BYTES];
    match file.read_exact(&mut header) {
        Err(it) if it.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(damaged(path, &format!("it has only {length} bytes")));
        }
        Err(it) => return Err(StartError::file("read", path, &it)),
        Ok(()) => {}
    }
    if !header.starts_with(b"SQLite format 3\0") {
        return Err(damaged(path, "it is not an SQLite database"));
    }
    if number_at(&header, 68) != APPLICATION {
        return Err(damaged(path, "it is another program's database"));
    }
    let format = number_at(&header, 60);
    if format != FORMAT {
        return Err(StartError::new(format!(
            "the database {} has format {format}, this version of shared-context knows \
             format {FORMAT}; start the version that wrote it, or choose another data folder",
            path.display()
        )));
    }
    let whole = u64::from(number_at(&header, 28)) * u64::from(PAGE_BYTES);
    if length >= whole {
        return Ok(());
    }
    if wal_bytes(path) == 0 {
        return Err(damaged(path, &format!("it has {length} bytes of {whole}")));
    }
    // A crash while the log was being copied into the file leaves a short file
    // and a log that holds the rest.
    let check = || connect_reader(path)?.query_row("PRAGMA quick_check(1)", [], |it| it.get(0));
    let verdict: String = check().map_err(|it| not_opened(path, &it))?;
    if verdict != "ok" {
        return Err(damaged(path, "it is too short and its write-ahead log lacks the rest"));
    }
    Ok(())
}

/// The number in the database's header at byte `at`.
fn number_at(header: &[u8], at: usize) -> u32 {
    header.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |it| u32::from_be_bytes(*it))
}

fn not_opened(path: &Path, error: &rusqlite::Error) -> StartError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            damaged(path, &error.to_string())
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            let denied = io::Error::from(io::ErrorKind::PermissionDenied);
            StartError::file("open", path, &denied)
        }
        Some(ErrorCode::DiskFull) => {
            let full = io::Error::from(io::ErrorKind::StorageFull);
            StartError::file("open", path, &full)
        }
        _ => StartError::new(format!("cannot open the database {}: {error}", path.display())),
    }
}

fn damaged(path: &Path, what: &str) -> StartError {
    StartError::new(format!(
        "the database {} is damaged: {what}; nothing was changed. Restore it from a backup \
         together with its -wal file, or move it away to begin with an empty one",
        path.display()
    ))
}

fn create_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

fn wal_bytes(path: &Path) -> u64 {
    fs::metadata(with_suffix(path, "-wal")).map_or(0, |it| it.len())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
