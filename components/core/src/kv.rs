//! Durable rows: the storage contract that a host implements.
//!
//! Hosts implement these traits. The core has one implementation, in memory
//! ([`MemoryKv`](crate::memory_kv::MemoryKv)). `wit/kv.wit` states the same contract for
//! hosts that use the component.
//!
//! # Invariant
//!
//! Only [`Bucket::commit`] takes the bucket mutably. Code that receives `&impl Bucket`
//! can read but not commit.

use std::fmt;

/// The number of commits to a bucket: 0 before the first. It never decreases, not even
/// when every row is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(pub u64);

impl Revision {
    /// Returns the next revision.
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

    /// Opens the bucket `name` at its current revision. A bucket that was never written
    /// to is empty and has revision 0.
    fn open(&self, name: &str) -> Result<Self::Bucket, KvError>;
}

/// The rows of one bucket, ordered by name (bytewise).
///
/// # Guarantees of a host
///
/// - **Snapshot.** All reads through one `Bucket` that succeed see the rows of one
///   revision, the one [`Bucket::revision`] returns.
/// - **Atomic.** A commit happens whole or not at all.
/// - **Durable.** When a commit's success becomes visible outside of the host,
///   no crash can undo it.
/// - **Linear.** A commit succeeds only if the bucket still has the revision it
///   expects; of two commits that expect the same revision one gets a conflict.
pub trait Bucket {
    /// Returns the revision that these reads see.
    fn revision(&self) -> Revision;

    /// Returns the row called `row`, or `None`.
    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError>;

    /// Returns at most `limit` rows whose names start with `prefix`, in order. With
    /// `after`, only rows after that one.
    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError>;

    /// Applies `changes` in order and raises the revision by 1, if the revision still is
    /// `expected`. The bucket cannot be used afterwards: open it again to read the new
    /// rows.
    fn commit(&mut self, expected: Revision, changes: Vec<Change>)
    -> Result<Revision, CommitError>;
}

/// Returns the end of the range of names that start with `prefix`: the first text after all of
/// them, or `None` if no text is.
pub fn prefix_end(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return Some(end);
        }
    }
    None
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

/// A storage failure of the host. The text is for the log, not for agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KvError(pub String);

impl fmt::Display for KvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KvError {}

/// The error of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// The bucket has changed since it was opened, and the host can no longer show the
    /// earlier revision: open it again. Hosts that read inside a transaction never return
    /// this. The others must ensure that reads of a constantly changing bucket succeed
    /// eventually.
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

/// The error of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitError {
    /// The bucket has another revision than the expected one; nothing changed.
    Conflict,
    /// The host failed before it began to commit; nothing changed.
    Unchanged(KvError),
    /// The host failed. It is unknown if the changes were made.
    Failed(KvError),
}

impl<T: Kv + ?Sized> Kv for &T {
    type Bucket = T::Bucket;

    fn open(&self, name: &str) -> Result<Self::Bucket, KvError> {
        (**self).open(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prefix: &str, end: Option<&str>) {
        assert_eq!(prefix_end(prefix).as_deref(), end);
    }

    #[test]
    fn a_prefix_ends_at_its_successor() {
        check("k/", Some("k0"));
        check("k", Some("l"));
        check("é", Some("ê"));
        check("\0", Some("\u{1}"));
        check("\u{7f}", Some("\u{80}"));
        check("\u{7ff}", Some("\u{800}"));
        check("\u{ffff}", Some("\u{10000}"));
    }

    #[test]
    fn surrogates_are_skipped() {
        check("\u{d7ff}", Some("\u{e000}"));
    }

    #[test]
    fn the_largest_character_carries_to_the_one_before() {
        check("k\u{10ffff}", Some("l"));
        check("k\u{10ffff}\u{10ffff}", Some("l"));
    }

    #[test]
    fn the_range_of_all_names_has_no_end() {
        check("", None);
        check("\u{10ffff}", None);
        check("\u{10ffff}\u{10ffff}", None);
    }
}
