//! Buckets in Spin's `SQLite`: their tables (`statements`), the interface to the
//! database (`sql`), and the parameters of a commit (`payload`).
//!
//! No transaction spans two statements, because libSQL servers execute each one
//! separately. So each read also returns the bucket's revision, and reports that the
//! bucket has moved if this differs from the revision at opening. A commit is one
//! statement, which checks the revision first.
//!
//! # Invariants
//!
//! - A bucket opened after it had moved is read from memory, so a reader retries at most
//!   once.
//! - Reading creates no tables.

mod payload;
mod sql;
mod statements;

use std::{
    cell::{Cell, RefCell},
    mem,
    rc::Rc,
    time::Duration,
};

use shared_context_core::{
    kv::prefix_end,
    port::{self, Bucket, Change, CommitError, Kv, KvError, ReadError, Revision},
};

use self::payload::Changes;
pub use self::sql::{Row, Sql, SqlError, Value};
use crate::rows::Rows;

/// The maximum of the random pause after a commit conflict: at first about the time of a
/// commit, then doubled each time up to [`PAUSE_MAX`]. A write is given up after 16
/// attempts, and so after at most 11 seconds.
const PAUSE: Duration = Duration::from_millis(32);
const PAUSE_MAX: Duration = Duration::from_millis(1_024);

/// The row read together with a bucket's revision, because every request needs it.
const FIRST_READ: &str = "meta";

/// The buckets in one database, for one instance.
#[derive(Debug)]
pub struct SqliteKv<S> {
    shared: Rc<Shared<S>>,
}

#[derive(Debug)]
struct Shared<S> {
    sql: S,
    /// The bucket to read as a whole when it is opened next.
    moved: RefCell<Option<String>>,
    /// The maximum pause before the next bucket is opened; nonzero after a conflict.
    pause: Cell<Duration>,
}

/// One bucket, as it was when opened.
#[derive(Debug)]
pub struct SqliteBucket<S> {
    shared: Rc<Shared<S>>,
    name: String,
    revision: Revision,
    cached: CachedRows,
}

/// The rows of a bucket that are in memory.
#[derive(Debug)]
enum CachedRows {
    None,
    /// The value of [`FIRST_READ`], or that it has none.
    First(Option<Vec<u8>>),
    All(Rows),
}

impl<S: Sql> SqliteKv<S> {
    /// Creates a handle to the buckets in the database behind `sql`.
    pub fn new(sql: S) -> Self {
        Self { shared: Rc::new(Shared { sql, moved: RefCell::default(), pause: Cell::default() }) }
    }

    /// Returns the names of at most `limit` buckets with rows that start with `prefix` and
    /// follow `after`, in order.
    pub fn names(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<String>, KvError> {
        let [from, before, without] = range(prefix, after);
        let values = vec![from, before, without, Value::Integer(limit.into())];
        let rows = self.shared.read(statements::NAMES, values)?;
        rows.into_iter()
            .map(|row| match cells(row)? {
                [Value::Text(name)] => Ok(name),
                _ => Err(damaged()),
            })
            .collect()
    }

    /// Returns the revision of the bucket `name`, or 0 if it was never written.
    pub fn revision(&self, name: &str) -> Result<Revision, KvError> {
        let values = vec![Value::Text(name.to_owned())];
        let mut rows = self.shared.read(statements::REVISION, values)?;
        let Some(row) = rows.pop() else { return Ok(Revision(0)) };
        let [value] = cells(row)?;
        revision(&value)
    }
}

impl<S: Sql> Shared<S> {
    /// Executes a reading statement. A missing table counts as empty.
    fn read(&self, statement: &str, values: Vec<Value>) -> Result<Vec<Row>, KvError> {
        match self.sql.execute(statement, values) {
            Err(error) if error.is_missing_tables() => Ok(Vec::new()),
            outcome => Ok(outcome?),
        }
    }

    /// Executes `statement` with `values` on a bucket; returns the bucket's revision and the
    /// rows, or 0 and no rows if it was never written.
    fn bucket(&self, statement: &str, values: Vec<Value>) -> Result<(Revision, Vec<Row>), KvError> {
        let rows = self.read(statement, values)?;
        let revision = rows.first().and_then(|row| row.first()).map(revision);
        Ok((revision.transpose()?.unwrap_or_default(), rows))
    }

    fn get(&self, bucket: &str, row: &str) -> Result<(Revision, Option<Vec<u8>>), KvError> {
        let values = vec![Value::Text(bucket.to_owned()), Value::Text(row.to_owned())];
        let (revision, mut rows) = self.bucket(statements::GET, values)?;
        let Some(row) = rows.pop() else { return Ok((revision, None)) };
        match cells(row)? {
            [_, Value::Blob(value)] => Ok((revision, Some(value))),
            [_, Value::Null] => Ok((revision, None)),
            _ => Err(damaged()),
        }
    }

    fn scan(
        &self,
        bucket: &str,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<(Revision, Vec<port::Row>), KvError> {
        let [from, before, without] = range(prefix, after);
        // Even a limit of 0 must return the revision.
        let at_least_one = Value::Integer(limit.max(1).into());
        let values = vec![Value::Text(bucket.to_owned()), from, before, without, at_least_one];
        let (revision, rows) = self.bucket(statements::SCAN, values)?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let rows = rows.into_iter().take(limit).filter_map(|row| match cells(row) {
            Ok([_, Value::Text(name), Value::Blob(value)]) => Some(Ok((name, value))),
            Ok([_, Value::Null, _]) => None,
            Ok(_) => Some(Err(damaged())),
            Err(error) => Some(Err(error)),
        });
        Ok((revision, rows.collect::<Result<_, _>>()?))
    }

    /// Commits `changes`; returns `None` if the bucket is not at `expected`.
    fn commit(
        &self,
        bucket: &str,
        expected: Revision,
        changes: &Changes,
    ) -> Result<Option<Revision>, KvError> {
        let Some(values) = changes.values(bucket, expected) else { return Ok(None) };
        let mut rows = match self.sql.execute(statements::COMMIT, values) {
            Err(error) if error.is_missing_tables() => {
                self.create_tables()?;
                let Some(values) = changes.values(bucket, expected) else { return Ok(None) };
                self.sql.execute(statements::COMMIT, values)?
            }
            outcome => outcome?,
        };
        let Some(row) = rows.pop() else { return Ok(None) };
        let [value] = cells(row)?;
        revision(&value).map(Some)
    }

    fn create_tables(&self) -> Result<(), KvError> {
        // WAL only makes commits faster, so a failure is ignored.
        let _ = self.sql.execute(statements::WAL, Vec::new());
        for statement in statements::SCHEMA {
            self.sql.execute(statement, Vec::new())?;
        }
        Ok(())
    }
}

impl<S: Sql> Kv for SqliteKv<S> {
    type Bucket = SqliteBucket<S>;

    fn open(&self, name: &str) -> Result<SqliteBucket<S>, KvError> {
        let shared = Rc::clone(&self.shared);
        if !shared.pause.get().is_zero() {
            shared.sql.pause(shared.pause.get());
        }
        let has_moved = shared.moved.borrow_mut().take_if(|it| it == name).is_some();
        let (revision, cached) = if has_moved {
            let (revision, rows) = shared.scan(name, "", None, u32::MAX)?;
            (revision, CachedRows::All(Rows(rows.into_iter().collect())))
        } else {
            let (revision, first) = shared.get(name, FIRST_READ)?;
            (revision, CachedRows::First(first))
        };
        // A bucket that was never written has no rows.
        let is_new = revision == Revision(0);
        let cached = if is_new { CachedRows::All(Rows::default()) } else { cached };
        Ok(SqliteBucket { shared, name: name.to_owned(), revision, cached })
    }
}

impl<S: Sql> SqliteBucket<S> {
    /// Returns the result of a read if the bucket is still at the revision it was opened at.
    ///
    /// # Errors
    ///
    /// `Moved`: it is not. The next opening reads the whole bucket.
    fn check_revision<T>(&self, (revision, read): (Revision, T)) -> Result<T, ReadError> {
        if revision == self.revision {
            return Ok(read);
        }
        self.read_whole_next();
        Err(ReadError::Moved)
    }

    fn read_whole_next(&self) {
        self.shared.moved.replace(Some(self.name.clone()));
    }
}

impl<S: Sql> Bucket for SqliteBucket<S> {
    fn revision(&self) -> Revision {
        self.revision
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        match &self.cached {
            CachedRows::First(value) if row == FIRST_READ => Ok(value.clone()),
            CachedRows::All(rows) => Ok(rows.get(row)),
            CachedRows::First(_) | CachedRows::None => {
                self.check_revision(self.shared.get(&self.name, row)?)
            }
        }
    }

    fn scan(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<port::Row>, ReadError> {
        match &self.cached {
            CachedRows::All(rows) => Ok(rows.scan(prefix, after, limit)),
            CachedRows::First(_) | CachedRows::None => {
                self.check_revision(self.shared.scan(&self.name, prefix, after, limit)?)
            }
        }
    }

    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        let cached = mem::replace(&mut self.cached, CachedRows::None);
        let changes = Changes::of(changes);
        let committed = self.shared.commit(&self.name, expected, &changes);
        let pause = self.shared.pause.take();
        committed.map_err(CommitError::Failed)?.ok_or_else(|| {
            self.shared.pause.set(pause.saturating_mul(2).clamp(PAUSE, PAUSE_MAX));
            // It was read as a whole because of concurrent writers: do so again.
            if matches!(cached, CachedRows::All(_)) {
                self.read_whole_next();
            }
            CommitError::Conflict
        })
    }
}

/// Returns the range of the names that start with `prefix` and follow `after`: its first
/// name, its exclusive end, and a name to leave out.
fn range(prefix: &str, after: Option<&str>) -> [Value; 3] {
    let text = |it: &str| Value::Text(it.to_owned());
    let from = after.map_or(prefix, |after| after.max(prefix));
    // Every text is less than any blob.
    let before = prefix_end(prefix).map_or(Value::Blob(Vec::new()), Value::Text);
    [text(from), before, after.map_or(Value::Null, text)]
}

fn revision(value: &Value) -> Result<Revision, KvError> {
    match value {
        Value::Integer(it) => it.to_owned().try_into().map(Revision).map_err(|_| damaged()),
        _ => Err(damaged()),
    }
}

fn cells<const N: usize>(row: Row) -> Result<[Value; N], KvError> {
    row.try_into().map_err(|_| damaged())
}

fn damaged() -> KvError {
    KvError(
        "a row of the tables shared_context_… is not as it was written: restore the database \
         from a backup, and let nothing else write to these tables"
            .to_owned(),
    )
}
