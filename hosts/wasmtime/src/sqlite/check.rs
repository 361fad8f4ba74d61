//! Verifies a database: every page, every checksum, every tally; or the records of its
//! buckets; or the rows of one bucket.
//!
//! The consequences are in `start`, and `verify` decides when. Invariants: verification
//! changes nothing, its report names buckets and rows, never values, and its memory does not
//! grow with the number of buckets.

use std::{
    collections::BTreeSet,
    fmt,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OptionalExtension, types::ValueRef};

use super::{
    Fault,
    format::{BucketRecord, FORMAT, State, TABLES, Tally, name_checksum, row_checksum},
};

/// The interval of progress reports.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);
/// The number of rows between two looks at the time.
const PROGRESS_ROWS: u64 = 1024;
/// How many damaged buckets are named.
const NAMES_MAX: usize = 5;

/// The summary of an undamaged database.
#[derive(Debug, Clone, Copy)]
pub(super) struct Summary {
    /// Its format, also where only the write-ahead log knows it.
    pub(super) format: u32,
    pub(super) state: State,
}

/// The failure of a check.
#[derive(Debug)]
pub(super) enum CheckError {
    /// The database is damaged.
    Damaged(Damage),
    /// The database could not be read.
    Unreadable(rusqlite::Error),
}

/// The damage found in a database.
#[derive(Debug, Default)]
pub(super) struct Damage {
    /// The report of `SQLite` about its pages, or the error of an unreadable part.
    pages: Option<String>,
    /// The buckets with altered or missing rows.
    buckets: BTreeSet<String>,
    altered: u64,
    missing: i64,
    /// True if records of buckets are altered or missing, or belong to another moment.
    is_inconsistent: bool,
}

impl From<Fault> for CheckError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Sqlite(error) => Self::from(error),
            Fault::Damaged(what) => Self::Damaged(Damage::pages(format!("{what} is altered"))),
        }
    }
}

impl From<rusqlite::Error> for CheckError {
    fn from(error: rusqlite::Error) -> Self {
        use ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, OutOfMemory, PermissionDenied,
            ReadOnly,
        };
        match error.sqlite_error_code() {
            Some(
                CannotOpen | DatabaseBusy | DatabaseLocked | DiskFull | OutOfMemory
                | PermissionDenied | ReadOnly,
            ) => Self::Unreadable(error),
            // Including errors of our own statements on a damaged schema.
            _ => Self::Damaged(Damage::pages(error.to_string())),
        }
    }
}

impl Damage {
    pub(super) fn pages(what: String) -> Self {
        Self { pages: Some(what), ..Self::default() }
    }

    fn is_none(&self) -> bool {
        self.pages.is_none() && self.buckets.is_empty() && !self.is_inconsistent
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.pages.clone());
        if self.altered > 0 {
            parts.push(format!("altered rows: {}", self.altered));
        }
        if self.missing > 0 {
            parts.push(format!("missing rows: {}", self.missing));
        }
        if !self.buckets.is_empty() {
            let named: Vec<_> = self.buckets.iter().take(NAMES_MAX).map(String::as_str).collect();
            let more = match self.buckets.len().saturating_sub(NAMES_MAX) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            parts.push(format!("hurt: {}{more}", named.join(", ")));
        }
        if self.is_inconsistent {
            parts.push("sessions are missing, or parts of it are of different moments".to_owned());
        }
        f.write_str(&parts.join("; "))
    }
}

/// Checks the pages and the schema, with the means of `SQLite`.
pub(super) fn pages(connection: &Connection) -> Result<(), CheckError> {
    let verdict: String =
        connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        let report: Vec<_> = verdict.split_whitespace().filter(|it| *it != "***").collect();
        return Err(CheckError::Damaged(Damage::pages(report.join(" "))));
    }
    Ok(())
}

/// Checks that the tables are as the format has them, and that there are none of a later one.
/// Returns the format.
fn schema(connection: &Connection) -> Result<u32, CheckError> {
    let format = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if format > FORMAT {
        let what = format!("its log is of format {format}, which a later version wrote");
        return Err(CheckError::Damaged(Damage::pages(what)));
    }
    for (since, name, sql) in TABLES {
        let mut find = connection.prepare("SELECT sql FROM sqlite_schema WHERE name = ?1")?;
        let found: Option<String> = find.query_row([name], |row| row.get(0)).optional()?;
        if found.as_deref() != Some(*sql).filter(|_| *since <= format) {
            let what = format!("its table {name} is not as it was made");
            return Err(CheckError::Damaged(Damage::pages(what)));
        }
    }
    Ok(format)
}

/// Selects the records of all buckets in the order of their ids: the columns of
/// [`BucketRecord::of`] and the name.
const RECORDS: &str =
    "SELECT id, revision, row_count, row_sum, checksum, name FROM bucket ORDER BY id";

/// Checks the records of all buckets of a database that has checksums, and that each is found by
/// its name, but no row.
pub(super) fn records(connection: &Connection) -> Result<Summary, CheckError> {
    let format = schema(connection)?;
    let state = State::read(connection)?;
    let (mut found, mut named) = (Tally::default(), Tally::default());
    let mut damage = Damage::default();
    let mut records = connection.prepare(RECORDS)?;
    let mut records = records.query([])?;
    let mut last_id = 0;
    while let Some(row) = records.next()? {
        found.add(row.get(4)?);
        let bucket = Bucket::of(row)?;
        damage.is_inconsistent |= bucket.id <= last_id;
        last_id = bucket.id;
        named.add(name_checksum(bucket.id, &bucket.name));
        if bucket.is_altered {
            damage.buckets.insert(bucket.name);
        }
    }
    damage.is_inconsistent |= found != state.buckets || names(connection)? != Some(named);
    if damage.is_none() { Ok(Summary { format, state }) } else { Err(CheckError::Damaged(damage)) }
}

/// Sums up the index of the buckets' names. Returns `None` if it is out of order, so that not
/// every name is found.
fn names(connection: &Connection) -> rusqlite::Result<Option<Tally>> {
    const NAMES: &str = "SELECT name, id FROM bucket ORDER BY name";
    let mut found = Tally::default();
    let mut names = connection.prepare(NAMES)?;
    let mut names = names.query([])?;
    let mut last: Option<String> = None;
    while let Some(row) = names.next()? {
        let (name, id): (String, i64) = (row.get(0)?, row.get(1)?);
        found.add(name_checksum(id, &name));
        if last.is_some_and(|last| last >= name) {
            return Ok(None);
        }
        last = Some(name);
    }
    Ok(Some(found))
}

/// Checks all of a database that has checksums. Also returns the number of rows.
pub(super) fn whole(connection: &Connection) -> Result<(Summary, u64), CheckError> {
    pages(connection)?;
    let format = schema(connection)?;
    let state = State::read(connection)?;
    let mut damage = Damage::default();
    let rows = rows(connection, &state, &mut damage)?;
    if damage.is_none() {
        Ok((Summary { format, state }, rows))
    } else {
        Err(CheckError::Damaged(damage))
    }
}

/// Checks the rows of the bucket with this `record`. Returns false if any is altered or missing,
/// or would not be found by its name.
pub(super) fn bucket_is_whole(
    connection: &Connection,
    record: &BucketRecord,
) -> rusqlite::Result<bool> {
    const ROWS: &str = "SELECT name, checksum, value FROM row WHERE bucket = ?1 ORDER BY name";
    const BACKWARDS: &str = "SELECT checksum FROM row WHERE bucket = ?1 ORDER BY name DESC";
    let mut found = Tally::default();
    {
        let mut rows = connection.prepare_cached(ROWS)?;
        let mut rows = rows.query([record.id])?;
        let mut last: Option<String> = None;
        while let Some(row) = rows.next()? {
            let checksum = row.get(1)?;
            if !is_sound(record.id, row.get_ref(0)?, checksum, row.get_ref(2)?) {
                return Ok(false);
            }
            let name: String = row.get(0)?;
            if last.is_some_and(|last| last >= name) {
                return Ok(false);
            }
            last = Some(name);
            found.add(checksum);
        }
    }
    if found != record.rows {
        return Ok(false);
    }
    // From both ends the same rows in order: then every search between the ends is right.
    let mut backwards = Tally::default();
    let mut rows = connection.prepare_cached(BACKWARDS)?;
    let mut rows = rows.query([record.id])?;
    while let Some(row) = rows.next()? {
        backwards.add(row.get(0)?);
    }
    Ok(backwards == found)
}

/// Returns true if a row is as it was written.
fn is_sound(bucket: i64, name: ValueRef<'_>, checksum: i64, value: ValueRef<'_>) -> bool {
    match (name.as_str(), value.as_blob()) {
        (Ok(name), Ok(value)) => row_checksum(bucket, name, value) == checksum,
        _ => false,
    }
}

/// Returns the buckets of a damaged database that are incomplete, as far as their records
/// are readable.
pub(super) fn incomplete_buckets(connection: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let mut incomplete = BTreeSet::new();
    let mut records = connection.prepare(RECORDS)?;
    let mut records = records.query([])?;
    while let Some(row) = records.next()? {
        let name: String = row.get(5)?;
        let is_whole = BucketRecord::of(&name, row)
            .is_ok_and(|it| bucket_is_whole(connection, &it).unwrap_or(false));
        if !is_whole {
            incomplete.insert(name);
        }
    }
    Ok(incomplete)
}

/// The state of a bucket during a check.
struct Bucket {
    id: i64,
    name: String,
    promised: Tally,
    found: Tally,
    is_altered: bool,
}

impl Bucket {
    /// Reads a row of [`RECORDS`], and verifies it.
    fn of(row: &rusqlite::Row<'_>) -> Result<Self, CheckError> {
        let (id, name): (i64, String) = (row.get(0)?, row.get(5)?);
        let (promised, is_altered) = match BucketRecord::of(&name, row) {
            Ok(record) => (record.rows, false),
            Err(Fault::Damaged(_)) => (Tally::default(), true),
            Err(Fault::Sqlite(error)) => return Err(error.into()),
        };
        Ok(Self { id, name, promised, found: Tally::default(), is_altered })
    }

    /// Adds what was found of the bucket to `damage`.
    fn finish(self, damage: &mut Damage) {
        let missing = self.promised.count.saturating_sub(self.found.count);
        damage.missing = damage.missing.saturating_add(missing.max(0));
        if self.is_altered || self.promised != self.found {
            damage.buckets.insert(self.name);
        }
    }
}

/// Checks all records and all rows. Both are read in the order of the buckets' ids, so that
/// one bucket is in memory at a time. Returns the number of rows.
fn rows(connection: &Connection, state: &State, damage: &mut Damage) -> Result<u64, CheckError> {
    const ROWS: &str = "SELECT bucket, name, checksum, value FROM row ORDER BY bucket, name";
    const PROMISED: &str = "SELECT sum(row_count) FROM bucket";
    let promised: Option<i64> = connection.query_row(PROMISED, [], |row| row.get(0))?;
    let promised = promised.and_then(|it| u64::try_from(it).ok()).unwrap_or_default().max(1);
    let mut progress = Progress::new(promised);

    let mut records = connection.prepare(RECORDS)?;
    let mut records = records.query([])?;
    let mut buckets = Tally::default();
    let mut next = |damage: &mut Damage, last: Option<Bucket>| -> Result<_, CheckError> {
        if let Some(last) = last {
            last.finish(damage);
        }
        let Some(row) = records.next()? else { return Ok(None) };
        buckets.add(row.get(4)?);
        Bucket::of(row).map(Some)
    };
    let mut bucket = next(damage, None)?;

    let mut rows = connection.prepare(ROWS)?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        progress.count();
        let (id, checksum) = (row.get(0)?, row.get(2)?);
        while bucket.as_ref().is_some_and(|it| it.id < id) {
            bucket = next(damage, bucket)?;
        }
        let is_sound = is_sound(id, row.get_ref(1)?, checksum, row.get_ref(3)?);
        damage.altered += u64::from(!is_sound);
        match &mut bucket {
            Some(bucket) if bucket.id == id => {
                bucket.found.add(checksum);
                bucket.is_altered |= !is_sound;
            }
            _ => damage.is_inconsistent = true,
        }
    }
    while bucket.is_some() {
        bucket = next(damage, bucket)?;
    }
    damage.is_inconsistent |= buckets != state.buckets;
    Ok(progress.rows)
}

/// Reports the progress of a long check.
struct Progress {
    rows: u64,
    promised: u64,
    reported_at: Instant,
}

impl Progress {
    fn new(promised: u64) -> Self {
        Self { rows: 0, promised, reported_at: Instant::now() }
    }

    /// Counts a row.
    fn count(&mut self) {
        self.rows += 1;
        if self.rows.is_multiple_of(PROGRESS_ROWS) && self.reported_at.elapsed() >= PROGRESS_EVERY {
            self.reported_at = Instant::now();
            let percent = self.rows.saturating_mul(100) / self.promised;
            tracing::info!(percent, rows = self.rows, "checking the database");
        }
    }
}
