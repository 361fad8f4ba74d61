//! The tables, and the checksums over all their content.
//!
//! `SQLite` detects pages of the wrong shape, but not an altered byte of a value. Here
//! every row has a checksum. The record of a bucket counts its rows and sums up their
//! checksums. The single record of `state` does the same for all buckets, and counts the
//! commits. So altered data is detected when it is read; missing data, or data of another
//! moment, when everything is verified (`check`). Invariant: a transaction that changes a
//! row also updates its bucket's record and `state`.
//!
//! The table `expiry` is an index of when to look at which bucket. It has no checksums:
//! without it nothing is served that should not be.

use std::fmt;

use rusqlite::{Connection, OptionalExtension, params};
use twox_hash::XxHash3_64;

use super::{Fault, mark::Position};
use crate::StartError;

/// The value of `PRAGMA user_version`: the format of the tables below. A newer one is
/// rejected, an older one is upgraded.
pub(super) const FORMAT: u32 = 3;
/// The format before checksums. It is upgraded by building another file.
pub(super) const FORMAT_WITHOUT_CHECKSUMS: u32 = 1;
/// The format before the table `expiry`. It is upgraded in its file.
pub(super) const FORMAT_WITHOUT_EXPIRY: u32 = 2;

/// The tables and the index, each with the first format that has it.
///
/// A bucket without rows keeps its record, so that its revision never goes back. The
/// checksum of a row comes before its value, so that it can be read without the value.
pub(super) const TABLES: &[(u32, &str, &str)] = &[
    (
        1,
        "bucket",
        "CREATE TABLE bucket(
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL,
        row_count INTEGER NOT NULL,
        row_sum INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT",
    ),
    (
        1,
        "row",
        "CREATE TABLE row(
        bucket INTEGER NOT NULL,
        name TEXT NOT NULL,
        checksum INTEGER NOT NULL,
        value BLOB NOT NULL,
        PRIMARY KEY (bucket, name)
    ) STRICT, WITHOUT ROWID",
    ),
    (
        2,
        "state",
        "CREATE TABLE state(
        line INTEGER PRIMARY KEY CHECK (line = 1),
        id BLOB NOT NULL,
        commit_count INTEGER NOT NULL,
        bucket_count INTEGER NOT NULL,
        bucket_sum INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT",
    ),
    (
        3,
        "expiry",
        "CREATE TABLE expiry(
        bucket INTEGER PRIMARY KEY,
        at INTEGER NOT NULL
    ) STRICT",
    ),
    (3, "expiry_in_order", "CREATE INDEX expiry_in_order ON expiry(at)"),
];

/// A database's identity, unique from its creation on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct DatabaseId(pub(super) [u8; 16]);

impl DatabaseId {
    pub(super) fn new() -> Result<Self, StartError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|it| StartError::new(format!("the system gives no random bytes: {it}")))?;
        Ok(Self(bytes))
    }
}

impl fmt::Debug for DatabaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Returns the checksum of a named list of numbers.
fn checksum(name: &[u8], numbers: &[i64]) -> i64 {
    let name = XxHash3_64::oneshot(name);
    let fold = |seed, number: &i64| XxHash3_64::oneshot_with_seed(seed, &number.to_le_bytes());
    numbers.iter().fold(name, fold).cast_signed()
}

/// Returns the checksum of the row `name` in the bucket with the id `bucket`.
pub(super) fn row_checksum(bucket: i64, name: &str, value: &[u8]) -> i64 {
    let name = XxHash3_64::oneshot_with_seed(bucket.cast_unsigned(), name.as_bytes());
    XxHash3_64::oneshot_with_seed(name, value).cast_signed()
}

/// Returns the checksum of the name of the bucket with the id `bucket`.
pub(super) fn name_checksum(bucket: i64, name: &str) -> i64 {
    checksum(name.as_bytes(), &[bucket])
}

/// A count and a sum of checksums, independent of their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) count: i64,
    pub(super) sum: i64,
}

impl Tally {
    pub(super) fn add(&mut self, checksum: i64) {
        self.count = self.count.wrapping_add(1);
        self.sum = self.sum.wrapping_add(checksum);
    }

    pub(super) fn remove(&mut self, checksum: i64) {
        self.count = self.count.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(checksum);
    }
}

/// The record of a bucket: its row in the table `bucket`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BucketRecord {
    pub(super) id: i64,
    pub(super) revision: i64,
    pub(super) rows: Tally,
}

impl BucketRecord {
    /// Selects a record and its checksum, with the columns in the order of
    /// [`BucketRecord::of`].
    pub(super) const FIND: &str =
        "SELECT id, revision, row_count, row_sum, checksum FROM bucket WHERE name = ?1";

    pub(super) fn checksum(&self, name: &str) -> i64 {
        let Self { id, revision, rows } = self;
        checksum(name.as_bytes(), &[*id, *revision, rows.count, rows.sum])
    }

    /// Reads the record of the bucket `name` from the columns of `row`, and verifies it.
    pub(super) fn of(name: &str, row: &rusqlite::Row<'_>) -> Result<Self, Fault> {
        let rows = Tally { count: row.get(2)?, sum: row.get(3)? };
        let record = Self { id: row.get(0)?, revision: row.get(1)?, rows };
        let is_sound = record.checksum(name) == row.get::<_, i64>(4)? && record.revision > 0;
        is_sound.then_some(record).ok_or_else(|| Fault::bucket_record(name))
    }

    /// Returns the record of the bucket `name`, if it was ever written to.
    pub(super) fn find(connection: &Connection, name: &str) -> Result<Option<Self>, Fault> {
        let mut find = connection.prepare_cached(Self::FIND)?;
        let mut found = find.query([name])?;
        found.next()?.map(|row| Self::of(name, row)).transpose()
    }

    pub(super) fn insert(&self, connection: &Connection, name: &str) -> rusqlite::Result<()> {
        const INSERT: &str = "INSERT INTO bucket (id, name, revision, row_count, row_sum, \
             checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let Self { id, revision, rows } = self;
        let values = params![id, name, revision, rows.count, rows.sum, self.checksum(name)];
        connection.prepare_cached(INSERT)?.execute(values).map(drop)
    }

    pub(super) fn update(&self, connection: &Connection, name: &str) -> Result<(), Fault> {
        const UPDATE: &str = "UPDATE bucket SET revision = ?2, row_count = ?3, row_sum = ?4, \
             checksum = ?5 WHERE id = ?1";
        let Self { id, revision, rows } = self;
        let values = params![id, revision, rows.count, rows.sum, self.checksum(name)];
        match connection.prepare_cached(UPDATE)?.execute(values)? {
            1 => Ok(()),
            _ => Err(Fault::bucket_record(name)),
        }
    }
}

/// The record of the whole database: the only row of the table `state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    pub(super) id: DatabaseId,
    /// The number of commits, which is the number of the last one.
    pub(super) commits: i64,
    pub(super) buckets: Tally,
}

impl State {
    pub(super) fn new(id: DatabaseId) -> Self {
        Self { id, commits: 0, buckets: Tally::default() }
    }

    /// Returns the position that the mark stores.
    pub(super) fn position(&self) -> Position {
        Position { id: self.id, commits: self.commits }
    }

    fn checksum(&self) -> i64 {
        let Self { id, commits, buckets } = self;
        checksum(&id.0, &[*commits, buckets.count, buckets.sum])
    }

    pub(super) fn read(connection: &Connection) -> Result<Self, Fault> {
        const READ: &str =
            "SELECT id, commit_count, bucket_count, bucket_sum, checksum FROM state WHERE line = 1";
        let mut read = connection.prepare_cached(READ)?;
        let found = read.query_row([], |row| {
            let buckets = Tally { count: row.get(2)?, sum: row.get(3)? };
            let state = Self { id: DatabaseId(row.get(0)?), commits: row.get(1)?, buckets };
            let is_sound = state.checksum() == row.get::<_, i64>(4)? && state.commits >= 0;
            Ok(is_sound.then_some(state))
        });
        let damaged = || Fault::Damaged("the line of its table state".to_owned());
        found.optional()?.flatten().ok_or_else(damaged)
    }

    pub(super) fn insert(&self, connection: &Connection) -> rusqlite::Result<()> {
        const INSERT: &str = "INSERT INTO state (line, id, commit_count, bucket_count, \
             bucket_sum, checksum) VALUES (1, ?1, ?2, ?3, ?4, ?5)";
        self.write(connection, INSERT)
    }

    pub(super) fn update(&self, connection: &Connection) -> rusqlite::Result<()> {
        const UPDATE: &str = "UPDATE state SET id = ?1, commit_count = ?2, bucket_count = ?3, \
             bucket_sum = ?4, checksum = ?5 WHERE line = 1";
        self.write(connection, UPDATE)
    }

    fn write(&self, connection: &Connection, statement: &str) -> rusqlite::Result<()> {
        let Self { id, commits, buckets } = self;
        let values = params![id.0, commits, buckets.count, buckets.sum, self.checksum()];
        connection.prepare_cached(statement)?.execute(values).map(drop)
    }
}
