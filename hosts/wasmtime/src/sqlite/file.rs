//! The database file: its creation, its connections and checks of the file itself.
//!
//! Rows are read and written elsewhere, and `start` decides whether to serve the file.
//! Invariant: a file that is incomplete, or not ours, is never written to.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{
    Fault,
    format::{FORMAT, FORMAT_WITHOUT_CHECKSUMS, TABLES},
};
use crate::{
    StartError,
    folder::{DATABASE_FILE, MARK_FILE},
};

/// The options of the database.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// The maximum size of the database file in bytes. A commit that needs more fails as on
    /// a full disk. `None` for no limit.
    pub bytes_max: Option<u64>,
    /// Whether to start although acknowledged commits are missing or damaged, which is an
    /// error otherwise. The loss is logged, and a damaged file is kept under another name.
    pub accepts_loss: bool,
    /// The size in bytes up to which all of a database is verified before it is served. Of a
    /// larger one, the records of its buckets are; the rows of a bucket are verified when it is
    /// first opened, and the rest meanwhile by a thread that leaves most of its time to others.
    pub verified_first_bytes_max: u64,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { bytes_max: None, accepts_loss: false, verified_first_bytes_max: 256 << 20 }
    }
}

/// The value of `PRAGMA application_id`: "sctx".
const APPLICATION: u32 = 0x7363_7478;
const PAGE_BYTES: u32 = 4096;
/// The page cache of each connection in KiB, negative as `PRAGMA cache_size` expects it.
/// The system has a cache besides. A reader's holds what a search among 10,000 memories reads.
const READER_CACHE_KIB: i32 = -6144;
const WRITER_CACHE_KIB: i32 = -8192;
/// How long to wait for a lock of another program, such as a backup.
pub(super) const BUSY_TIME_MAX: Duration = Duration::from_secs(5);

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
    if let Some(pages) = pages_max(options) {
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(connection)
}

/// Returns the maximum number of pages of the database, if there is a limit.
pub(super) fn pages_max(options: &SqliteOptions) -> Option<i64> {
    let pages = options.bytes_max? / u64::from(PAGE_BYTES);
    Some(i64::try_from(pages).unwrap_or(i64::MAX).max(1))
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

/// Creates a database at `path`, replacing one that is there. `fill` writes the rows of its
/// tables.
pub(super) fn build(
    folder: &Path,
    path: &Path,
    fill: impl FnOnce(&Connection) -> Result<(), Fault>,
) -> Result<(), StartError> {
    let unfinished = fill_unfinished(folder, fill)?;
    finish(folder, &unfinished, path)
}

/// Creates a database under a temporary name and syncs it, so that a crash in between
/// leaves nothing that looks like a database.
pub(super) fn fill_unfinished(
    folder: &Path,
    fill: impl FnOnce(&Connection) -> Result<(), Fault>,
) -> Result<PathBuf, StartError> {
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
    let fill = || -> Result<(), Fault> {
        let connection = Connection::open(&unfinished)?;
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        // An interrupted creation starts over, and the file is synced as a whole.
        connection.pragma_update(None, "journal_mode", "off")?;
        connection.pragma_update(None, "synchronous", "off")?;
        connection.execute_batch("BEGIN")?;
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.pragma_update(None, "user_version", FORMAT)?;
        for (.., table) in TABLES {
            connection.execute_batch(table)?;
        }
        fill(&connection)?;
        connection.execute_batch("COMMIT")?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        Ok(connection.close().map_err(|(_, error)| error)?)
    };
    fill().map_err(|it| match it {
        Fault::Sqlite(error) => not_opened(&unfinished, &error),
        Fault::Damaged(what) => damaged(&unfinished, &what),
    })?;
    File::open(&unfinished)
        .and_then(|it| it.sync_all())
        .map_err(|it| StartError::file("write", &unfinished, &it))?;
    Ok(unfinished)
}

/// Renames a synced database to `path`.
pub(super) fn finish(folder: &Path, unfinished: &Path, path: &Path) -> Result<(), StartError> {
    fs::rename(unfinished, path)
        .and_then(|()| File::open(folder)?.sync_all())
        .map_err(|it| StartError::file("create", path, &it))
}

/// Checks that the file is ours, of a known format, and complete, and returns its format.
/// `SQLite` would take an empty file for a new database, and a file that was cut while its
/// log held commits for a complete one. Reads the file itself, because a connection may
/// change the file it opens.
pub(super) fn check(path: &Path) -> Result<u32, StartError> {
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
    if !(FORMAT_WITHOUT_CHECKSUMS..=FORMAT).contains(&format) {
        return Err(StartError::new(format!(
            "the database {} has format {format}, this version of shared-context knows \
             formats up to {FORMAT}; start the version that wrote it, or choose another data \
             folder",
            path.display()
        )));
    }
    let whole = u64::from(number_at(&header, 28)) * u64::from(PAGE_BYTES);
    if length >= whole {
        return Ok(format);
    }
    if wal_bytes(path) == 0 {
        return Err(damaged(path, &format!("it has {length} bytes of {whole}")));
    }
    // A crash while the log was being copied into the file leaves a short file and a log
    // with the rest.
    let check = || connect_reader(path)?.query_row("PRAGMA quick_check(1)", [], |it| it.get(0));
    let verdict: String = check().map_err(|it| not_opened(path, &it))?;
    if verdict != "ok" {
        return Err(damaged(path, "it is too short and its write-ahead log lacks the rest"));
    }
    Ok(format)
}

/// Returns the number at byte `at` of the database's header.
fn number_at(header: &[u8], at: usize) -> u32 {
    header.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |it| u32::from_be_bytes(*it))
}

pub(super) fn not_opened(path: &Path, error: &rusqlite::Error) -> StartError {
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

pub(super) fn damaged(path: &Path, what: &str) -> StartError {
    let damaged = format!("the database {} is damaged: {what}", path.display());
    StartError::new(damaged + "; nothing was changed")
        .next(restore() + "; or move these away to begin with an empty one")
}

/// Returns the advice for a damaged or incomplete database.
pub(super) fn restore() -> String {
    format!(
        "restore from a backup what was kept together: {DATABASE_FILE}, its -wal file if there \
         was one, {MARK_FILE}"
    )
}

fn create_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

pub(super) fn wal_bytes(path: &Path) -> u64 {
    fs::metadata(with_suffix(path, "-wal")).map_or(0, |it| it.len())
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Runs `read` on a read-only connection, and leaves no new file behind. Meanwhile the data
/// folder must be locked, or another process must have the database open.
pub(super) fn inspect<T>(path: &Path, read: impl FnOnce(&Connection) -> T) -> rusqlite::Result<T> {
    let beside = ["-wal", "-shm"].map(|suffix| with_suffix(path, suffix));
    let is_open = beside.iter().any(|it| it.exists());
    let seen = connect_reader(path).map(|connection| read(&connection));
    if !is_open && wal_bytes(path) == 0 {
        for file in beside {
            // A leftover does no harm.
            drop(fs::remove_file(file));
        }
    }
    seen
}
