//! The schema of the database and the text of every statement.
//!
//! The app may have tables in the same database, so all names begin with
//! `shared_context_`. A new format of the stored data, or of a commit's parameters, gets
//! new names.
//!
//! # Invariants
//!
//! - The text of a statement is constant. No statement depends on another one being
//!   executed before or after it. `SQLite` 3.40 supports all of them without extensions.
//! - The statements that create the tables may be executed at any time, also concurrently.

/// Creates the tables, in this order. If it is interrupted, the next run completes it.
pub(super) const SCHEMA: [&str; 4] = [
    "CREATE TABLE IF NOT EXISTS shared_context_bucket (\
        name TEXT NOT NULL PRIMARY KEY, \
        revision INTEGER NOT NULL\
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS shared_context_row (\
        bucket TEXT NOT NULL, \
        name TEXT NOT NULL, \
        value BLOB NOT NULL, \
        PRIMARY KEY (bucket, name)\
    ) WITHOUT ROWID",
    // Always empty: an insert into this view performs a commit.
    "CREATE VIEW IF NOT EXISTS shared_context_commit (bucket, revision, deleted, put, bytes) \
    AS SELECT NULL, NULL, NULL, NULL, NULL WHERE 0",
    // `bytes` contains the names and values. `deleted` and `put` are JSON lists of pairs of
    // spans in it: each a start, counted from 1, and a length. `put` may be as large as a
    // session, so `bytes` is a blob: `SQLite` takes any part of a blob directly, but would
    // scan a text from its start. The trigger is short, because every connection parses it
    // before anything else.
    "CREATE TRIGGER IF NOT EXISTS shared_context_commit_apply \
    INSTEAD OF INSERT ON shared_context_commit BEGIN \
        SELECT RAISE(IGNORE) WHERE new.revision <> coalesce(\
            (SELECT revision FROM shared_context_bucket WHERE name = new.bucket), 0); \
        REPLACE INTO shared_context_bucket VALUES (new.bucket, new.revision + 1); \
        DELETE FROM shared_context_row WHERE bucket = new.bucket AND name IN (\
            SELECT r.name FROM json_each(new.deleted) AS d CROSS JOIN shared_context_row AS r \
            WHERE r.bucket = new.bucket \
            AND r.name >= CAST(substr(new.bytes, d.value ->> 0, d.value ->> 1) AS TEXT) \
            AND r.name < CAST(substr(new.bytes, d.value ->> 2, d.value ->> 3) AS TEXT)); \
        REPLACE INTO shared_context_row SELECT new.bucket, \
            CAST(substr(new.bytes, p.value ->> 0, p.value ->> 1) AS TEXT), \
            substr(new.bytes, p.value ->> 2, p.value ->> 3) \
            FROM json_each(new.put) AS p; \
    END",
];

/// Sets WAL mode, in which readers and one writer do not block each other. The file
/// remembers the mode. libSQL servers reject the statement, because they always use WAL.
pub(super) const WAL: &str = "PRAGMA journal_mode = WAL";

/// Commits. Returns a row with the new revision, or no row if the bucket is not at the
/// expected revision.
pub(super) const COMMIT: &str = "INSERT INTO shared_context_commit \
    VALUES (?1, ?2, ?3, ?4, ?5) \
    RETURNING revision + 1";

/// Returns the revision of the bucket `?1` and the value of its row `?2` or `NULL`. Returns
/// no row if the bucket does not exist.
pub(super) const GET: &str = "SELECT b.revision, r.value FROM shared_context_bucket AS b \
    LEFT JOIN shared_context_row AS r ON r.bucket = b.name AND r.name = ?2 \
    WHERE b.name = ?1";

/// Returns the revision of the bucket `?1` with at most `?5` of its rows, from `?2` to
/// before `?3`, except `?4`. Without such rows, returns one row with `NULL` as its name.
pub(super) const SCAN: &str = "SELECT b.revision, r.name, r.value FROM shared_context_bucket AS b \
    LEFT JOIN shared_context_row AS r \
    ON r.bucket = b.name AND r.name >= ?2 AND r.name < ?3 AND r.name IS NOT ?4 \
    WHERE b.name = ?1 ORDER BY r.name LIMIT ?5";

/// Returns the revision of the bucket `?1`.
pub(super) const REVISION: &str = "SELECT revision FROM shared_context_bucket WHERE name = ?1";

/// Returns the names of at most `?4` buckets with rows, from `?1` to before `?2`, except
/// `?3`.
pub(super) const NAMES: &str = "SELECT name FROM shared_context_bucket AS b \
    WHERE name >= ?1 AND name < ?2 AND name IS NOT ?3 \
    AND EXISTS (SELECT 1 FROM shared_context_row AS r WHERE r.bucket = b.name) \
    ORDER BY name LIMIT ?4";

/// The error text of a statement when a table or the view is missing.
pub(super) const NO_TABLE: &str = "no such table";
/// The error text of a statement when the trigger is missing.
pub(super) const NO_TRIGGER: &str = "cannot modify shared_context_commit because it is a view";
