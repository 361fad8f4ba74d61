//! Verifies a whole database: every page, every checksum, every tally.
//!
//! The consequences are in `start`. Invariants: verification changes nothing, and its
//! report names buckets and rows, never values.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OptionalExtension};

use super::{
    Fault,
    format::{BucketRecord, State, TABLES, Tally, row_checksum},
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
    pub(super) state: State,
    pub(super) rows: u64,
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

/// Checks all of a database of the present format.
pub(super) fn whole(connection: &Connection) -> Result<Summary, CheckError> {
    pages(connection)?;
    for (name, sql) in TABLES {
        let mut find = connection.prepare("SELECT sql FROM sqlite_schema WHERE name = ?1")?;
        let found: Option<String> = find.query_row([name], |row| row.get(0)).optional()?;
        if found.as_deref() != Some(*sql) {
            let what = format!("its table {name} is not as it was made");
            return Err(CheckError::Damaged(Damage::pages(what)));
        }
    }
    let state = State::read(connection)?;
    let mut damage = Damage::default();
    let mut buckets = records(connection, &state, &mut damage)?;
    let rows = rows(connection, &mut buckets, &mut damage)?;
    for bucket in buckets.into_values() {
        let missing = bucket.promised.count.saturating_sub(bucket.found.count);
        damage.missing = damage.missing.saturating_add(missing.max(0));
        if bucket.is_altered || bucket.promised != bucket.found {
            damage.buckets.insert(bucket.name);
        }
    }
    if damage.is_none() { Ok(Summary { state, rows }) } else { Err(CheckError::Damaged(damage)) }
}

/// Returns the buckets of a damaged database that are incomplete, as far as their records
/// are readable.
pub(super) fn incomplete_buckets(connection: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    const ROWS: &str = "SELECT name, checksum, value FROM row WHERE bucket = ?1";
    let mut rows = connection.prepare(ROWS)?;
    let mut is_whole = |record: BucketRecord| -> rusqlite::Result<bool> {
        let mut found = Tally::default();
        let mut rows = rows.query([record.id])?;
        while let Some(row) = rows.next()? {
            let (name, checksum, value): (String, i64, Vec<u8>) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            if row_checksum(record.id, &name, &value) != checksum {
                return Ok(false);
            }
            found.add(checksum);
        }
        Ok(found == record.rows)
    };
    let mut incomplete = BTreeSet::new();
    let mut records = connection.prepare(RECORDS)?;
    let mut records = records.query([])?;
    while let Some(row) = records.next()? {
        let name: String = row.get(5)?;
        let is_there = BucketRecord::of(&name, row).is_ok_and(|it| is_whole(it).unwrap_or(false));
        if !is_there {
            incomplete.insert(name);
        }
    }
    Ok(incomplete)
}

/// Selects the records of all buckets: the columns of [`BucketRecord::of`] and the name.
const RECORDS: &str = "SELECT id, revision, row_count, row_sum, checksum, name FROM bucket";

/// The state of a bucket during a check.
struct Bucket {
    name: String,
    promised: Tally,
    found: Tally,
    is_altered: bool,
}

/// Checks the records of all buckets.
fn records(
    connection: &Connection,
    state: &State,
    damage: &mut Damage,
) -> Result<BTreeMap<i64, Bucket>, CheckError> {
    let mut buckets = BTreeMap::new();
    let mut found = Tally::default();
    let mut records = connection.prepare(RECORDS)?;
    let mut records = records.query([])?;
    while let Some(row) = records.next()? {
        let (id, name): (i64, String) = (row.get(0)?, row.get(5)?);
        found.add(row.get(4)?);
        let (promised, is_altered) = match BucketRecord::of(&name, row) {
            Ok(record) => (record.rows, false),
            Err(Fault::Damaged(_)) => (Tally::default(), true),
            Err(Fault::Sqlite(error)) => return Err(error.into()),
        };
        buckets.insert(id, Bucket { name, promised, found: Tally::default(), is_altered });
    }
    damage.is_inconsistent = found != state.buckets;
    Ok(buckets)
}

/// Checks all rows. Returns their number.
fn rows(
    connection: &Connection,
    buckets: &mut BTreeMap<i64, Bucket>,
    damage: &mut Damage,
) -> Result<u64, CheckError> {
    const ROWS: &str = "SELECT bucket, name, checksum, value FROM row";
    let promised: i64 = buckets.values().map(|it| it.promised.count).sum();
    let promised = u64::try_from(promised).unwrap_or_default().max(1);
    let mut reported_at = Instant::now();
    let mut count = 0_u64;
    let mut rows = connection.prepare(ROWS)?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        count += 1;
        if count.is_multiple_of(PROGRESS_ROWS) && reported_at.elapsed() >= PROGRESS_EVERY {
            reported_at = Instant::now();
            let percent = count.saturating_mul(100) / promised;
            tracing::info!(percent, rows = count, "checking the database");
        }
        let (id, checksum) = (row.get(0)?, row.get(2)?);
        let (name, value) = (row.get_ref(1)?, row.get_ref(3)?);
        let is_sound = match (name.as_str(), value.as_blob()) {
            (Ok(name), Ok(value)) => row_checksum(id, name, value) == checksum,
            _ => false,
        };
        damage.altered += u64::from(!is_sound);
        match buckets.get_mut(&id) {
            Some(bucket) => {
                bucket.found.add(checksum);
                bucket.is_altered |= !is_sound;
            }
            None => damage.is_inconsistent = true,
        }
    }
    Ok(count)
}
