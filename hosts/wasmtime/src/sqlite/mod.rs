//! The durable [`Kv`]: one `SQLite` database per data folder.
//!
//! `start` decides whether a database may be served. `file` handles the file itself,
//! `format` its tables, `check` verifies them, `mark` stores the last acknowledged commit
//! beside it, and `rebuild` upgrades it or writes a new file from it. `read` serves
//! snapshots, many at a time. `write` is the only thread that commits. `verify` verifies what
//! was not before the start. `expiry` finds the buckets in which something expires. `health`
//! records whether the storage works. The meaning of rows is the core's.
//!
//! # Invariants
//!
//! - One process uses a data folder: the lock is taken before the database is touched and
//!   held until the last commit is done.
//! - One thread writes. A transaction holds as many of the waiting commits as fit, so that
//!   one sync of the disk serves many commits.
//! - Acknowledged data is read as it was written, or the read fails: altered data fails its
//!   read, missing data fails the start or the first read of its bucket
//!   (`docs/decisions/0013`, `0063`).
//! - No reader holds a connection while it waits for the disk's sync.

mod check;
mod expiry;
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
mod verify;
mod write;

use std::{path::Path, sync::Arc};

use shared_context_core::{
    port::{Change, CommitError, Kv, KvError, Revision},
    time::Timestamp,
};

pub(crate) use self::{
    expiry::{DueBucket, NextExpiry},
    write::QUEUE_MAX,
};
pub use self::{
    file::SqliteOptions,
    read::SqliteBucket,
    start::{Contents, Examined},
    verify::Verification,
};
use self::{
    format::DatabaseId,
    health::Health,
    read::Readers,
    reserve::Reserve,
    verify::{VerifiedBuckets, Verifier},
    write::{Commit, Work, Writer},
};
use crate::{
    StartError,
    folder::{Lock, RESERVE_FILE},
};

/// The buckets in the database of a data folder. Clones share them.
///
/// Dropping the last clone waits for the commits under way, then closes the
/// database.
#[derive(Debug, Clone)]
pub struct SqliteKv {
    shared: Arc<Shared>,
}

/// The shared parts in drop order: readers first, so that the writer closes the database
/// last and leaves no write-ahead log behind.
#[derive(Debug)]
struct Shared {
    readers: Readers,
    writer: Writer,
    health: Arc<Health>,
    database: DatabaseId,
    verified: VerifiedBuckets,
    verifier: Verifier,
}

impl SqliteKv {
    /// Opens the database in the data folder `folder`. Creates both if they are missing.
    ///
    /// # Errors
    ///
    /// The folder is not writable; another process (or another `SqliteKv`) uses it; the
    /// database file is damaged, not a database, or of a newer format; acknowledged commits
    /// are missing from it.
    pub fn open(folder: impl AsRef<Path>, options: &SqliteOptions) -> Result<Self, StartError> {
        let folder = folder.as_ref();
        let lock = Lock::take(folder)?;
        let reserve = Reserve::find(folder.join(RESERVE_FILE));
        let opened = start::open(folder, options)?;
        let (path, database) = (opened.path.clone(), opened.mark.database());
        let is_verified = opened.is_verified;
        let verified = VerifiedBuckets::new(is_verified);
        let health = Arc::new(Health::new(&path)?);
        let writer = Writer::start(opened, reserve, options.clone(), Arc::clone(&health), lock)?;
        let readers = Readers::new(path, Arc::clone(&health));
        let verifier = Verifier::default();
        let shared = Arc::new(Shared { readers, writer, health, database, verified, verifier });
        if is_verified {
            verify::forget(folder);
        } else {
            verify::start(&shared, folder)?;
        }
        Ok(Self { shared })
    }

    /// Returns the identity of the database: 32 hexadecimal digits, unique to it. A copy
    /// keeps it; an accepted loss gives the database a new one.
    pub fn identity(&self) -> String {
        format!("{:?}", self.shared.database)
    }

    /// Verifies everything stored in the data folder `folder`, without changes. A server
    /// may be using it. Returns `None` if there is no database.
    ///
    /// # Errors
    ///
    /// Every error of [`SqliteKv::open`] that is caused by the folder's content.
    pub fn examine(folder: impl AsRef<Path>) -> Result<Option<Examined>, StartError> {
        start::examine(folder.as_ref())
    }

    /// Returns why the storage does not work, if it does not: the last transaction failed,
    /// or the files are gone. The text is safe to publish.
    pub fn failure(&self) -> Option<&'static str> {
        self.shared.health.failure()
    }

    /// Queues a commit and returns at once. When the outcome is known, the writing thread
    /// calls `done`, which must not block.
    ///
    /// After [`CommitError::Failed`] it is called once more if the commit turns out to be
    /// made, and dropped if not.
    ///
    /// If the storage is closed, `done` is dropped without a call.
    pub(crate) fn submit(
        &self,
        bucket: &str,
        expected: Revision,
        changes: Vec<Change>,
        next_expiry: NextExpiry,
        done: impl FnMut(Result<Revision, CommitError>) + Send + 'static,
    ) {
        let (bucket, done) = (bucket.to_owned(), Box::new(done));
        let work = Work::Changes(expected, changes);
        self.shared.writer.submit(Commit { bucket, work, next_expiry, done });
    }

    /// Queues a correction of the next expiry of a bucket, which is no commit: nobody learns of
    /// it. When it is stored, the writing thread calls `done`, as for [`SqliteKv::submit`].
    pub(crate) fn expect(
        &self,
        bucket: &str,
        next: Option<Timestamp>,
        done: impl FnMut(Result<Revision, CommitError>) + Send + 'static,
    ) {
        let (bucket, done) = (bucket.to_owned(), Box::new(done));
        let next_expiry = NextExpiry::Known(next);
        self.shared.writer.submit(Commit { bucket, work: Work::None, next_expiry, done });
    }

    /// Returns the first `limit` buckets in which something expires, or may, in the order of the
    /// instants.
    pub(crate) fn first_expiries(&self, limit: usize) -> Result<Vec<DueBucket>, KvError> {
        self.shared.readers.read("find what expires", |it| Ok(expiry::first(it, limit)?))
    }

    /// Returns at most `limit` names of buckets that hold rows, those after `after`, in
    /// bytewise order.
    ///
    /// # Errors
    ///
    /// The database could not be read.
    pub fn names(&self, after: Option<&str>, limit: usize) -> Result<Vec<String>, KvError> {
        self.shared.readers.names(after, limit)
    }

    /// Waits for the commits under way, closes the database and unlocks the data folder.
    /// Later calls fail.
    pub fn close(&self) {
        self.shared.readers.close();
        self.shared.verifier.close();
        self.shared.writer.close();
    }
}

impl Kv for SqliteKv {
    type Bucket = SqliteBucket;

    fn open(&self, name: &str) -> Result<SqliteBucket, KvError> {
        SqliteBucket::open(self.clone(), name)
    }
}

/// The failure of an operation on the database.
#[derive(Debug)]
enum Fault {
    Sqlite(rusqlite::Error),
    /// This part of it is altered or missing.
    Damaged(String),
}

impl Fault {
    /// Creates the fault of a damaged bucket record.
    fn bucket_record(bucket: &str) -> Self {
        Self::Damaged(format!("the line of the bucket {bucket:?}"))
    }

    /// Creates the fault of a bucket of which rows are altered or missing.
    fn rows(bucket: &str) -> Self {
        Self::Damaged(format!("the content of the bucket {bucket:?}"))
    }

    /// Creates the fault of a damaged row.
    fn row(bucket: &str, row: &str) -> Self {
        Self::Damaged(format!("the row {row:?} of the bucket {bucket:?}"))
    }
}

impl Fault {
    /// Creates the fault of a disk with no free space except the reserve.
    fn full() -> Self {
        let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
        let what = "the disk is full: only what makes room is stored";
        Self::Sqlite(rusqlite::Error::SqliteFailure(full, Some(what.to_owned())))
    }

    /// Returns true if the disk is full.
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

/// Converts `fault` to the storage error that is logged.
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
