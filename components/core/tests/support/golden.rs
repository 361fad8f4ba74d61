//! The rows of a session as text, one row per line: its name, a space, and its bytes in
//! hexadecimal.

use std::{fs, path::PathBuf};

use shared_context_core::port::{Bucket, Change, Kv};

use crate::support::TestHost;

/// The revision of the bucket of the session in `format-2.txt`.
pub(crate) const FORMAT_2_REVISION: u64 = 11;

/// Returns the path of the file with the rows of `format`.
pub(crate) fn path(format: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{format}.txt"))
}

/// Returns a host with the rows of `format`, in a session at `revision`.
pub(crate) fn host_with(format: &str, revision: u64) -> TestHost {
    host_with_bucket("session/s", format, revision)
}

/// Returns a host with the rows of `format`, in a bucket at `revision`.
pub(crate) fn host_with_bucket(name: &str, format: &str, revision: u64) -> TestHost {
    let host = TestHost::default();
    let text = fs::read_to_string(path(format)).unwrap();
    let rows = text.lines().map(|line| {
        let (row, hex) = line.rsplit_once(' ').unwrap();
        let bytes = hex.as_bytes().chunks(2);
        let bytes = bytes.map(|it| u8::from_str_radix(str::from_utf8(it).unwrap(), 16).unwrap());
        Change::Put(row.to_owned(), bytes.collect())
    });
    let mut changes: Vec<Change> = rows.collect();
    for _ in 0..revision {
        let mut bucket = host.kv.open(name).unwrap();
        bucket.commit(bucket.revision(), std::mem::take(&mut changes)).unwrap();
    }
    host
}
