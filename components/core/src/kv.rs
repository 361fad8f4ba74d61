//! Durable rows: the contract of the storage that a host brings.
//!
//! Hosts implement these traits; the core has one implementation of its own, in
//! memory ([`MemoryKv`](crate::memory_kv::MemoryKv)). The same contract stands in
//! `wit/kv.wit`, word for word, for hosts that are reached through the component.
//!
//! # Invariant
//!
//! [`Bucket::commit`] needs the bucket mutably and no other method does: code that
//! is given `&impl Bucket` can read and cannot commit.

use std::fmt;

/// How often a bucket was changed: 0 before the first commit, one more after
/// each. It never goes back, not even when every row is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(pub u64);

impl Revision {
    /// Creates the revision after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Durable storage: named buckets of rows.
pub trait Kv {
    /// One bucket, open for one request.
    type Bucket: Bucket;

    /// Opens the bucket called `name`, as it is now. A bucket that was never
    /// written to is empty and has revision 0.
    fn open(&self, name: &str) -> Result<Self::Bucket, KvError>;
}

/// The rows of one bucket, ordered by name (bytewise).
///
/// # Guarantees a host gives
///
/// - **Snapshot.** All reads through one `Bucket` that succeed see the rows of
///   one revision, the one [`Bucket::revision`] names.
/// - **Atomic.** A commit happens whole or not at all.
/// - **Durable.** When a commit's success becomes visible outside of the host,
///   no crash can undo it.
/// - **Linear.** A commit succeeds only if the bucket still has the revision it
///   expects; of two commits that expect the same revision one gets a conflict.
pub trait Bucket {
    /// The revision these reads are of.
    fn revision(&self) -> Revision;

    /// Returns the row called `row`, or `None`.
    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError>;

    /// At most `limit` rows whose names start with `prefix`, in order, those
    /// after the row `after` when it is given.
    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError>;

    /// Applies `changes` in order and raises the revision by 1, if it still is
    /// `expected`. The bucket is spent: open it again to read what it holds now.
    fn commit(&mut self, expected: Revision, changes: Vec<Change>)
    -> Result<Revision, CommitError>;
}

/// A row: its name and its bytes.
pub type Row = (String, Vec<u8>);

/// One change to a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Sets a row.
    Put(String, Vec<u8>),
    /// Removes a row; nothing happens when it is absent.
    Delete(String),
    /// Removes every row whose name starts with this; all rows for `""`.
    DeletePrefix(String),
}

impl Change {
    /// Returns the change that sets `row`.
    pub(crate) fn put(row: impl Into<String>, value: Vec<u8>) -> Self {
        Self::Put(row.into(), value)
    }
}

/// The host could not read. The text is for the log, not for agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KvError(pub String);

impl fmt::Display for KvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KvError {}

/// Why a read did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// The bucket has changed since it was opened, and the host cannot tell any
    /// more how it was: open it again. Hosts whose reads are those of a transaction
    /// never answer this; the others must, in time, read a bucket that changes all
    /// the while.
    Moved,
    /// The host failed.
    Failed(KvError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Moved => f.write_str("the bucket has changed since it was opened"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<KvError> for ReadError {
    fn from(error: KvError) -> Self {
        Self::Failed(error)
    }
}

/// Why a commit did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitError {
    /// The bucket has another revision than the expected one; nothing changed.
    Conflict,
    /// The host failed before it began to commit; nothing changed.
    Unchanged(KvError),
    /// The host failed. Whether the changes happened is not known.
    Failed(KvError),
}

impl<T: Kv + ?Sized> Kv for &T {
    type Bucket = T::Bucket;

    fn open(&self, name: &str) -> Result<Self::Bucket, KvError> {
        (**self).open(name)
    }
}
