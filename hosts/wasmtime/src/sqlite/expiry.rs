//! When something expires in which bucket, so that a server need not open all of them to
//! know.
//!
//! Invariant: an instant is no later than the next expiry of its bucket, as the core told it
//! with the last commit. A bucket of which that is not known has the instant 0: it is looked
//! at as soon as there is time.

use rusqlite::{Connection, OptionalExtension, params};
use shared_context_core::time::Timestamp;

/// What is known of the next expiry of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextExpiry {
    /// Nothing: whoever committed did not say.
    Unknown,
    /// The instant, or that nothing expires.
    Known(Option<Timestamp>),
}

/// A bucket to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DueBucket {
    pub(crate) name: String,
    /// False if it is not known whether something expires in it.
    pub(crate) is_known: bool,
}

/// Stores the next expiry of the bucket with the id `bucket`.
pub(super) fn set(connection: &Connection, bucket: i64, next: NextExpiry) -> rusqlite::Result<()> {
    const SET: &str = "INSERT INTO expiry (bucket, at) VALUES (?1, ?2) \
         ON CONFLICT (bucket) DO UPDATE SET at = excluded.at WHERE at <> excluded.at";
    const REMOVE: &str = "DELETE FROM expiry WHERE bucket = ?1";
    match next {
        NextExpiry::Known(None) => connection.prepare_cached(REMOVE)?.execute([bucket]),
        NextExpiry::Known(Some(at)) => {
            connection.prepare_cached(SET)?.execute(params![bucket, number(at)])
        }
        NextExpiry::Unknown => connection.prepare_cached(SET)?.execute(params![bucket, 0]),
    }
    .map(drop)
}

/// Notes of all buckets with rows that their next expiry is not known.
pub(super) fn forget_all(connection: &Connection) -> rusqlite::Result<()> {
    const FORGET: &str =
        "INSERT OR REPLACE INTO expiry (bucket, at) SELECT id, 0 FROM bucket WHERE row_count > 0";
    connection.execute(FORGET, []).map(drop)
}

/// Returns at most `limit` buckets that are due at `now`, the earliest first.
pub(super) fn due(
    connection: &Connection,
    now: Timestamp,
    limit: usize,
) -> rusqlite::Result<Vec<DueBucket>> {
    const DUE: &str = "SELECT name, at FROM expiry JOIN bucket ON bucket.id = expiry.bucket \
         WHERE at <= ?1 ORDER BY at LIMIT ?2";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut due = connection.prepare_cached(DUE)?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(DueBucket { name: row.get(0)?, is_known: row.get::<_, i64>(1)? > 0 })
    };
    due.query_map(params![number(now), limit], read)?.collect()
}

/// Returns the earliest instant.
pub(super) fn first(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    const FIRST: &str = "SELECT at FROM expiry ORDER BY at LIMIT 1";
    let mut first = connection.prepare_cached(FIRST)?;
    let at: Option<i64> = first.query_row([], |row| row.get(0)).optional()?;
    Ok(at.map(|it| Timestamp(u64::try_from(it).unwrap_or_default())))
}

fn number(at: Timestamp) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}
