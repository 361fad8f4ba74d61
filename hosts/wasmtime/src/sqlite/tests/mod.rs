//! Tests of the storage: the contract of every `Kv`, the additional promises of the durable
//! one, and failures of the disk or the file.

mod contract;
mod crashes;
mod damage;
mod durable;
mod expiry;
mod images;
mod large;
mod loss;
mod recording;

use std::path::Path;

use shared_context_core::port::{Bucket, Change, CommitError, Kv, Revision};

use super::{SqliteKv, SqliteOptions};

pub(super) fn open(folder: &Path) -> SqliteKv {
    SqliteKv::open(folder, &SqliteOptions::default()).unwrap()
}

pub(super) fn put(row: &str, value: impl Into<Vec<u8>>) -> Change {
    Change::Put(row.to_owned(), value.into())
}

/// Commits `changes` at the present revision of the bucket.
pub(super) fn commit(
    kv: &impl Kv,
    bucket: &str,
    changes: Vec<Change>,
) -> Result<Revision, CommitError> {
    let mut bucket = kv.open(bucket).map_err(CommitError::Failed)?;
    let revision = bucket.revision();
    bucket.commit(revision, changes)
}

pub(super) fn rows(kv: &impl Kv, bucket: &str) -> Vec<(String, Vec<u8>)> {
    kv.open(bucket).unwrap().scan("", None, u32::MAX).unwrap()
}
