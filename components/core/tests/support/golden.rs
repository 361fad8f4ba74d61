//! The rows of a session as text, a row a line: its name, a blank, and its bytes
//! in hexadecimal.

use std::{fs, path::PathBuf};

use shared_context_core::port::{Bucket, Change, Kv};

use crate::support::TestHost;

/// How often the bucket of the session in `format-2.txt` was changed.
pub(crate) const FORMAT_2_REVISION: u64 = 11;

/// Returns where the rows that `format` wrote are kept.
pub(crate) fn path(format: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{format}.txt"))
}

/// Returns a host that has the rows that `format` wrote, in a bucket that was changed
/// `revision` times.
pub(crate) fn opened(format: &str, revision: u64) -> TestHost {
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
        let mut bucket = host.kv.open("session/s").unwrap();
        bucket.commit(bucket.revision(), std::mem::take(&mut changes)).unwrap();
    }
    host
}
