//! The durable [`Kv`]: one `SQLite` database per data folder.
//!
//! `file` creates, checks and opens the database file; `read` answers from
//! snapshots, many at a time; `write` is the one thread that commits. Not here:
//! what the rows mean.
//!
//! # Invariants
//!
//! - One process uses a data folder: the lock is taken before the database is
//!   touched and held until the last commit is done.
//! - One thread writes. Of what it was given, a transaction holds as much as was
//!   waiting, so that one sync of the disk serves many commits.
//! - No reader holds a connection while it waits for the disk's sync.

mod file;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::{path::Path, sync::Arc};

use shared_context_core::port::{Change, CommitError, Kv, KvError, Revision};

pub use self::{file::SqliteOptions, read::SqliteBucket};
use self::{
    read::Readers,
    write::{Commit, Writer},
};
use crate::{StartError, folder::Lock};

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
}

impl SqliteKv {
    /// Opens the database in the data folder `folder`; creates both when they
    /// are not there yet.
    ///
    /// # Errors
    ///
    /// The folder cannot be written; another process (or another `SqliteKv`)
    /// uses it; the database file is damaged, is none, or is of a newer format.
    pub fn open(folder: impl AsRef<Path>, options: &SqliteOptions) -> Result<Self, StartError> {
        let folder = folder.as_ref();
        let lock = Lock::take(folder)?;
        let (path, connection) = file::prepare(folder, options)?;
        let writer = Writer::start(path.clone(), connection, options.clone(), lock)?;
        Ok(Self { shared: Arc::new(Shared { readers: Readers::new(path), writer }) })
    }

    /// Queues a commit and returns at once; `done` is called, from the writing
    /// thread, when the outcome is known. It must not block.
    ///
    /// When the storage is closed `done` is dropped without being called.
    pub(crate) fn submit(
        &self,
        bucket: &str,
        expected: Revision,
        changes: Vec<Change>,
        done: impl FnOnce(Result<Revision, CommitError>) + Send + 'static,
    ) {
        let bucket = bucket.to_owned();
        self.shared.writer.submit(Commit { bucket, expected, changes, done: Box::new(done) });
    }

    /// The names of the buckets that hold rows, those after `after`, in bytewise
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

/// Why the database did not do what it was asked, for the log.
fn failed(doing: &str, error: &rusqlite::Error) -> KvError {
    KvError(format!("could not {doing}: {error}"))
}
