//! When something expires in which bucket, so that a server need not open all of them to
//! know.
//!
//! Invariant: an instant is no later than the next expiry of its bucket, as the core told it
//! with the last commit. A bucket of which that is not known has the instant 0: it is looked
//! at as soon as there is time.

use rusqlite::Connection;
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
    /// When to look at it.
    pub(crate) at: Timestamp,
}

impl DueBucket {
    /// Returns false if it is not known whether something expires in it.
    pub(crate) fn is_known(&self) -> bool {
        self.at > Timestamp(0)
    }
}

/// Stores the next expiry of the bucket with the id `bucket`.
pub(super) fn set(connection: &Connection, bucket: i64, next: NextExpiry) -> rusqlite::Result<()> {
    const SET: &str = "INSERT INTO expiry (bucket, at) VALUES (?1, ?2) \
         ON CONFLICT (bucket) DO UPDATE SET at = excluded.at WHERE at <> excluded.at";
    const REMOVE: &str = "DELETE FROM expiry WHERE bucket = ?1";
    let at = match next {
        NextExpiry::Unknown => Some(Timestamp(0)),
        NextExpiry::Known(at) => at,
    };
    match at.map(|it| i64::try_from(it.0).unwrap_or(i64::MAX)) {
        None => connection.prepare_cached(REMOVE)?.execute([bucket]),
        Some(at) => connection.prepare_cached(SET)?.execute([bucket, at]),
    }
    .map(drop)
}

/// Notes of all buckets with rows that their next expiry is not known.
pub(super) fn forget_all(connection: &Connection) -> rusqlite::Result<()> {
    const FORGET: &str =
        "INSERT OR REPLACE INTO expiry (bucket, at) SELECT id, 0 FROM bucket WHERE row_count > 0";
    connection.execute(FORGET, []).map(drop)
}

/// Returns the first `limit` buckets in the order of their instants.
pub(super) fn first(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<DueBucket>> {
    const FIRST: &str = "SELECT name, at FROM expiry JOIN bucket ON bucket.id = expiry.bucket \
         ORDER BY at LIMIT ?1";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut first = connection.prepare_cached(FIRST)?;
    let read = |row: &rusqlite::Row<'_>| {
        let at = Timestamp(u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default());
        Ok(DueBucket { name: row.get(0)?, at })
    };
    first.query_map([limit], read)?.collect()
}
