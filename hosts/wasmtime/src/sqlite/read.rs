//! Reading: each open bucket is one read transaction, which is one snapshot.
//!
//! Commits are passed to the writer. Invariant: a connection in `idle` is in no
//! transaction, and a connection that failed is never reused.

use std::{
    cell::Cell,
    fmt, mem,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
};

use rusqlite::{Connection, params};
use shared_context_core::port::{Bucket, Change, CommitError, KvError, ReadError, Revision, Row};

use super::{
    Fault, NextExpiry, SqliteKv, failed, file,
    format::{BucketRecord, row_checksum},
    health::Health,
};

/// The connections that read. A bucket opens a new one if none is idle; connections beyond
/// the limit are closed after use.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    health: Arc<Health>,
    idle: Mutex<Idle>,
    idle_max: usize,
}

#[derive(Debug, Default)]
struct Idle {
    connections: Vec<Connection>,
    is_closed: bool,
}

impl Readers {
    pub(super) fn new(path: PathBuf, health: Arc<Health>) -> Self {
        let idle_max = thread::available_parallelism().map_or(2, Into::into).min(8);
        Self { path, health, idle: Mutex::default(), idle_max }
    }

    pub(super) fn names(&self, after: Option<&str>, limit: usize) -> Result<Vec<String>, KvError> {
        const NAMES: &str = "SELECT id, revision, row_count, row_sum, checksum, name FROM bucket \
             WHERE name >= ?1 AND row_count > 0 ORDER BY name LIMIT ?2";
        self.read("list the buckets", |connection| {
            let mut find = connection.prepare_cached(NAMES)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let from = after.map(next).unwrap_or_default();
            let mut found = find.query(params![from, limit])?;
            let mut names = Vec::new();
            while let Some(row) = found.next()? {
                let name: String = row.get(5)?;
                BucketRecord::of(&name, row)?;
                names.push(name);
            }
            Ok(names)
        })
    }

    /// Reads with a connection, outside of any transaction. `doing` is for the error.
    pub(super) fn read<T>(
        &self,
        doing: &str,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, KvError> {
        let connection = self.take()?;
        let seen = read(&connection).map_err(|it| self.failed(doing, &it))?;
        self.put(connection);
        Ok(seen)
    }

    /// Closes the idle connections. Those in use are closed when they are returned.
    pub(super) fn close(&self) {
        let mut idle = self.idle();
        idle.is_closed = true;
        idle.connections.clear();
    }

    pub(super) fn take(&self) -> Result<Connection, KvError> {
        {
            let mut idle = self.idle();
            if idle.is_closed {
                return Err(KvError("the storage is closed".to_owned()));
            }
            if let Some(connection) = idle.connections.pop() {
                return Ok(connection);
            }
        }
        // A file that replaced ours holds something else.
        let connect =
            || Ok(self.health.check_files().map(|()| file::connect_reader(&self.path))??);
        connect().map_err(|it| self.failed("open the database", &it))
    }

    pub(super) fn failed(&self, doing: &str, fault: &Fault) -> KvError {
        self.health.note_damage(fault);
        failed(doing, &self.path, fault)
    }

    pub(super) fn put(&self, connection: Connection) {
        let mut idle = self.idle();
        if !idle.is_closed && idle.connections.len() < self.idle_max {
            idle.connections.push(connection);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One bucket of a [`SqliteKv`], as it was when opened.
///
/// While it is open, the write-ahead log cannot be truncated. Do not hold it longer than
/// one request.
pub struct SqliteBucket {
    kv: SqliteKv,
    name: String,
    revision: Revision,
    rows: Rows,
    has_failed: Cell<bool>,
}

/// The rows of the snapshot.
enum Rows {
    /// The bucket did not exist when it was opened.
    None,
    /// The read transaction, and the bucket's id in it.
    In(Connection, i64),
    /// None any more: the bucket was committed.
    Spent,
}

impl SqliteBucket {
    pub(super) fn open(kv: SqliteKv, name: &str) -> Result<Self, KvError> {
        let connection = kv.shared.readers.take()?;
        let begin = || -> Result<Option<BucketRecord>, Fault> {
            connection.prepare_cached("BEGIN")?.execute([])?;
            let found = BucketRecord::find(&connection, name)?;
            if let Some(record) = &found {
                kv.shared.verified.verify(&connection, name, record)?;
            }
            Ok(found)
        };
        let found = begin().map_err(|it| kv.shared.readers.failed("open a bucket", &it))?;
        let (revision, rows) = if let Some(record) = found {
            (record.revision, Rows::In(connection, record.id))
        } else {
            end(&kv, connection);
            (0, Rows::None)
        };
        let revision = Revision(u64::try_from(revision).unwrap_or_default());
        Ok(Self { kv, name: name.to_owned(), revision, rows, has_failed: Cell::new(false) })
    }

    /// Returns the bucket's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Ends the snapshot. Nothing can be read afterwards.
    pub(crate) fn spend(&mut self) {
        match mem::replace(&mut self.rows, Rows::Spent) {
            Rows::In(connection, _) if !self.has_failed.get() => end(&self.kv, connection),
            _ => {}
        }
    }

    /// Returns the value of a row, if its checksum matches.
    fn value(&self, id: i64, row: &str, checksum: i64, value: Vec<u8>) -> Result<Vec<u8>, Fault> {
        let is_sound = row_checksum(id, row, &value) == checksum;
        is_sound.then_some(value).ok_or_else(|| Fault::row(&self.name, row))
    }

    fn read<T>(
        &self,
        nothing: T,
        read: impl FnOnce(&Connection, i64) -> Result<T, Fault>,
    ) -> Result<T, KvError> {
        match &self.rows {
            Rows::None => Ok(nothing),
            Rows::In(connection, id) => read(connection, *id).map_err(|it| {
                self.has_failed.set(true);
                self.kv.shared.readers.failed("read a row", &it)
            }),
            Rows::Spent => Err(KvError("the bucket is spent; open it again".to_owned())),
        }
    }
}

/// The limit on the bytes that one scan reads into memory: far more than any operation
/// needs, and as much as an instance of the component can hold.
const SCAN_BYTES_MAX: usize = 128 << 20;
const TOO_BIG: rusqlite::ffi::Error = rusqlite::ffi::Error {
    code: rusqlite::ErrorCode::TooBig,
    extended_code: rusqlite::ffi::SQLITE_TOOBIG,
};

fn starts_with(row: &rusqlite::Row<'_>, prefix: &str) -> rusqlite::Result<bool> {
    Ok(row.get_ref(0)?.as_str()?.starts_with(prefix))
}

/// Returns the text that comes directly after `text`.
fn next(text: &str) -> String {
    format!("{text}\0")
}

/// Ends a read transaction and returns its connection to the idle ones.
fn end(kv: &SqliteKv, connection: Connection) {
    let is_ended = connection.prepare_cached("COMMIT").and_then(|mut it| it.execute([])).is_ok();
    if is_ended {
        kv.shared.readers.put(connection);
    }
}

impl Bucket for SqliteBucket {
    fn revision(&self) -> Revision {
        self.revision
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        const GET: &str = "SELECT checksum, value FROM row WHERE bucket = ?1 AND name = ?2";
        let found = self.read(None, |connection, id| {
            let mut get = connection.prepare_cached(GET)?;
            let mut found = get.query(params![id, row])?;
            found.next()?.map(|it| self.value(id, row, it.get(0)?, it.get(1)?)).transpose()
        });
        Ok(found?)
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        const SCAN: &str = "SELECT name, checksum, value FROM row \
             WHERE bucket = ?1 AND name >= ?2 ORDER BY name LIMIT ?3";
        let after = after.map(next).filter(|after| after.as_str() > prefix);
        let from = after.as_deref().unwrap_or(prefix);
        let found = self.read(Vec::new(), |connection, id| {
            let mut scan = connection.prepare_cached(SCAN)?;
            let mut found = scan.query(params![id, from, limit])?;
            let mut rows = Vec::new();
            let mut bytes = 0_usize;
            while let Some(row) = found.next()? {
                if !starts_with(row, prefix)? {
                    break;
                }
                let name: String = row.get(0)?;
                let value = self.value(id, &name, row.get(1)?, row.get(2)?)?;
                bytes = bytes.saturating_add(value.len());
                if bytes > SCAN_BYTES_MAX {
                    return Err(rusqlite::Error::SqliteFailure(TOO_BIG, None).into());
                }
                rows.push((name, value));
            }
            Ok(rows)
        });
        Ok(found?)
    }

    /// Blocks until the commit is on the disk.
    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        self.spend();
        let (done, outcome) = mpsc::sync_channel(1);
        // Only the first outcome is reported to the waiting caller.
        let done = move |it| drop(done.try_send(it));
        self.kv.submit(&self.name, expected, changes, NextExpiry::Unknown, done);
        outcome.recv().unwrap_or_else(|_| {
            Err(CommitError::Failed(KvError("the storage is closed".to_owned())))
        })
    }
}

impl Drop for SqliteBucket {
    fn drop(&mut self) {
        self.spend();
    }
}

impl fmt::Debug for SqliteBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteBucket")
            .field("name", &self.name)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}
