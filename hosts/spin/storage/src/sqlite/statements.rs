//! How buckets lie in the database, and every statement there is, word for word.
//!
//! The app's developer may keep tables in the same database: all names begin with
//! `shared_context_`. Another form of what is stored, or of what a commit is given,
//! gets other names.
//!
//! # Invariants
//!
//! - A statement's text never changes, whatever it is performed with; none needs
//!   another one performed before or after it to be right. `SQLite` 3.40 knows all
//!   that is in it, without extensions.
//! - What makes the tables may be performed at any time, by many at once.

/// Makes the tables, in this order. Who is stopped in between leaves something
/// behind that the next one completes.
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
    // Never holds anything: what is inserted is what a commit does.
    "CREATE VIEW IF NOT EXISTS shared_context_commit (bucket, revision, deleted, put, bytes) \
    AS SELECT NULL, NULL, NULL, NULL, NULL WHERE 0",
    // Names and values lie in `bytes`; `deleted` and `put` are JSON and say where: lists
    // of two places each, counted from 1, with their lengths. What is put may be as
    // much as a session: of a blob any part is taken at once, of a text it would be
    // looked for from its beginning. Every connection reads this before all else, so
    // it is short.
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

/// Readers and one writer do not wait for each other; the file keeps it. Servers of
/// libSQL refuse it, as they do so anyway.
pub(super) const WAL: &str = "PRAGMA journal_mode = WAL";

/// Commits: a row with the new revision, or none when the bucket has another
/// revision than the expected one.
pub(super) const COMMIT: &str = "INSERT INTO shared_context_commit \
    VALUES (?1, ?2, ?3, ?4, ?5) \
    RETURNING revision + 1";

/// The revision of the bucket `?1`, and the value of its row `?2` or `NULL`; nothing
/// when there is no such bucket.
pub(super) const GET: &str = "SELECT b.revision, r.value FROM shared_context_bucket AS b \
    LEFT JOIN shared_context_row AS r ON r.bucket = b.name AND r.name = ?2 \
    WHERE b.name = ?1";

/// The same of at most `?5` rows from `?2` on, without the row `?4`, to before `?3`:
/// at least one, with `NULL` for a name when there are none.
pub(super) const SCAN: &str = "SELECT b.revision, r.name, r.value FROM shared_context_bucket AS b \
    LEFT JOIN shared_context_row AS r \
    ON r.bucket = b.name AND r.name >= ?2 AND r.name < ?3 AND r.name IS NOT ?4 \
    WHERE b.name = ?1 ORDER BY r.name LIMIT ?5";

/// The revision of the bucket `?1`.
pub(super) const REVISION: &str = "SELECT revision FROM shared_context_bucket WHERE name = ?1";

/// The names of at most `?4` buckets with rows from `?1` on, without the bucket
/// `?3`, to before `?2`.
pub(super) const NAMES: &str = "SELECT name FROM shared_context_bucket AS b \
    WHERE name >= ?1 AND name < ?2 AND name IS NOT ?3 \
    AND EXISTS (SELECT 1 FROM shared_context_row AS r WHERE r.bucket = b.name) \
    ORDER BY name LIMIT ?4";

/// What the error of a statement says when a table or the view is not there.
pub(super) const NO_TABLE: &str = "no such table";
/// What it says when the trigger is not there.
pub(super) const NO_TRIGGER: &str = "cannot modify shared_context_commit because it is a view";
