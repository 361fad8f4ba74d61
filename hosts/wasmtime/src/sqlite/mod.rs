//! The durable [`Kv`]: one `SQLite` database per data folder.
//!
//! `start` decides whether the database may be served: `file` is the file as such,
//! `format` its tables, `check` looks at all of them, `mark` remembers the last
//! commit beside them, `rebuild` makes a new file of an old one. `read` answers from
//! snapshots, many at a time; `write` is the one thread that commits; `health` knows
//! how the last of it went. Not here: what the rows mean.
//!
//! # Invariants
//!
//! - One process uses a data folder: the lock is taken before the database is
//!   touched and held until the last commit is done.
//! - One thread writes. Of what it was given, a transaction holds as much as was
//!   waiting, so that one sync of the disk serves many commits.
//! - What was acknowledged is read as it was written, or not at all: what is altered
//!   fails the read, what is missing is missed at the start (`docs/decisions/0013`).
//! - No reader holds a connection while it waits for the disk's sync.

mod check;
mod file;
mod format;
mod health;
mod mark;
mod read;
mod rebuild;
mod reserve;
mod start;
#[cfg(test)]
mod tests;
mod write;

use std::{path::Path, sync::Arc};

use shared_context_core::port::{Change, CommitError, Kv, KvError, Revision};

pub(crate) use self::write::QUEUE_MAX;
pub use self::{
    file::SqliteOptions,
    read::SqliteBucket,
    start::{Contents, Examined},
};
use self::{
    format::DatabaseId,
    health::Health,
    read::Readers,
    reserve::Reserve,
    write::{Commit, Writer},
};
use crate::{
    StartError,
    folder::{Lock, RESERVE_FILE},
};

/// Buckets in the database of a data folder. Clones share them.
///
/// Dropping the last clone waits for the commits under way, then closes the
/// database.
#[derive(Debug, Clone)]
pub struct SqliteKv {
    shared: Arc<Shared>,
}

/// In the order of dropping: the readers go first, so that the writer is the
/// last to close the database and leaves no write-ahead log behind.
#[derive(Debug)]
struct Shared {
    readers: Readers,
    writer: Writer,
    health: Arc<Health>,
    database: DatabaseId,
}

impl SqliteKv {
    /// Opens the database in the data folder `folder`; creates both when they
    /// are not there yet.
    ///
    /// # Errors
    ///
    /// The folder cannot be written; another process (or another `SqliteKv`)
    /// uses it; the database file is damaged, is none, or is of a newer format;
    /// commits that were acknowledged are missing from it.
    pub fn open(folder: impl AsRef<Path>, options: &SqliteOptions) -> Result<Self, StartError> {
        let folder = folder.as_ref();
        let lock = Lock::take(folder)?;
        let reserve = Reserve::find(folder.join(RESERVE_FILE));
        let opened = start::open(folder, options)?;
        let (path, database) = (opened.path.clone(), opened.mark.database());
        let health = Arc::new(Health::new(&path)?);
        let writer = Writer::start(opened, reserve, options.clone(), Arc::clone(&health), lock)?;
        let readers = Readers::new(path, Arc::clone(&health));
        Ok(Self { shared: Arc::new(Shared { readers, writer, health, database }) })
    }

    /// Returns the identity of the database: 32 hexadecimal digits that no other
    /// database has. A copy keeps it; an accepted loss gives the database a new one.
    pub fn identity(&self) -> String {
        format!("{:?}", self.shared.database)
    }

    /// Looks at all that is stored in the data folder `folder`, and changes nothing;
    /// a server may be using it. `None` when there is no database.
    ///
    /// # Errors
    ///
    /// What [`SqliteKv::open`] refuses for what is in the folder.
    pub fn examine(folder: impl AsRef<Path>) -> Result<Option<Examined>, StartError> {
        start::examine(folder.as_ref())
    }

    /// Returns why the storage cannot be relied on, if it cannot: what the last
    /// transaction met, or that the files are gone. The text is for everyone.
    pub fn failure(&self) -> Option<&'static str> {
        self.shared.health.failure()
    }

    /// Queues a commit and returns at once; `done` is called, from the writing
    /// thread, when the outcome is known. It must not block.
    ///
    /// After [`CommitError::Failed`] it may be called once more, when it is known
    /// that the commit was made all the same; it is dropped when it was not.
    ///
    /// When the storage is closed `done` is dropped without being called.
    pub(crate) fn submit(
        &self,
        bucket: &str,
        expected: Revision,
        changes: Vec<Change>,
        done: impl FnMut(Result<Revision, CommitError>) + Send + 'static,
    ) {
        let bucket = bucket.to_owned();
        self.shared.writer.submit(Commit { bucket, expected, changes, done: Box::new(done) });
    }

    /// Returns the names of the buckets that hold rows, those after `after`, in bytewise
    /// order, at most `limit`.
    ///
    /// # Errors
    ///
    /// The database could not be read.
    pub fn names(&self, after: Option<&str>, limit: usize) -> Result<Vec<String>, KvError> {
        self.shared.readers.names(after, limit)
    }

    /// Waits for the commits under way, closes the database and gives the data
    /// folder free. Later calls fail.
    pub fn close(&self) {
        self.shared.readers.close();
        self.shared.writer.close();
    }
}

impl Kv for SqliteKv {
    type Bucket = SqliteBucket;

    fn open(&self, name: &str) -> Result<SqliteBucket, KvError> {
        SqliteBucket::open(self.clone(), name)
    }
}

/// Why the database did not do what it was asked.
#[derive(Debug)]
enum Fault {
    Sqlite(rusqlite::Error),
    /// This part of it is not as it was written.
    Damaged(String),
}

impl Fault {
    /// The line of this bucket is damaged.
    fn line(bucket: &str) -> Self {
        Self::Damaged(format!("the line of the bucket {bucket:?}"))
    }

    /// A row of this bucket is damaged.
    fn row(bucket: &str, row: &str) -> Self {
        Self::Damaged(format!("the row {row:?} of the bucket {bucket:?}"))
    }
}

impl Fault {
    /// There is no room on the disk but what is set aside.
    fn full() -> Self {
        let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
        let what = "the disk is full: only what makes room is stored";
        Self::Sqlite(rusqlite::Error::SqliteFailure(full, Some(what.to_owned())))
    }

    /// Returns whether there was no room on the disk.
    fn is_full(&self) -> bool {
        let Self::Sqlite(error) = self else { return false };
        error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Returns the same for the log.
fn failed(doing: &str, path: &Path, fault: &Fault) -> KvError {
    let path = path.display();
    KvError(match fault {
        Fault::Sqlite(error) => format!("could not {doing}: {error} ({path})"),
        Fault::Damaged(what) => format!(
            "could not {doing}: {what} in {path} is damaged: its checksum is another one; \
             restore the data folder from a backup"
        ),
    })
}
