//! The layout of a bucket in the object's database: one table of rows.
//!
//! ```sql
//! CREATE TABLE rows (name TEXT PRIMARY KEY, value BLOB NOT NULL, revision INTEGER, parts INTEGER) WITHOUT ROWID
//! ```
//!
//! Without a hidden key beside its name, a row is written and billed once. The bucket's
//! revision is stored in [`CARRIER`], the row that nearly every request reads and nearly
//! every commit writes anyway. Without that row, it is stored in [`REVISION_ROW`].
//!
//! A value may be longer than the platform's maximum of 2 MB. The bytes after
//! [`PART_BYTES`] continue in further rows. Their names are the row's name, a character
//! that no name contains, and a number.
//!
//! This is the first format. A later one gets a table with another name, and
//! [`Rows::load`] moves the rows of this one there.
//!
//! # Invariant
//!
//! Reading never creates the table. So a session that was never created, or that was
//! deleted, leaves an empty database.

use std::{borrow::Cow, collections::BTreeSet, mem};

use shared_context_core::port::{Change, CommitError, KvError, Revision};

use super::sql::{Cell, Row, Sql, Value};

/// The row that holds the revision, if the row exists.
const CARRIER: &str = "meta";
/// The maximum bytes of a value in one row.
const PART_BYTES: usize = 1 << 20;
/// The separator of a name and the number of a part; no name contains it.
const PART_MARK: char = '\u{1}';
/// The row for the revision alone, valid only if there is no carrier.
const REVISION_ROW: &str = "\u{1}";
/// The largest character: every name with a prefix sorts before the prefix followed by
/// this character.
const LAST: char = char::MAX;

const CREATE: &str = "CREATE TABLE IF NOT EXISTS rows (name TEXT PRIMARY KEY, \
    value BLOB NOT NULL, revision INTEGER, parts INTEGER) WITHOUT ROWID";
/// Writes rows. Between the two parts are the [`PUT_ROW`]s.
const PUT: [&str; 2] = [
    "INSERT INTO rows (name, value, revision, parts) VALUES ",
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value, revision = excluded.revision, \
     parts = excluded.parts",
];
const PUT_ROW: &str = "(?, ?, ?, ?)";
/// The maximum rows of one statement, which may have 100 values, and the maximum bytes.
const ROWS_MAX: usize = 24;
const BYTES_MAX: usize = 1 << 20;
const GET: &str = "SELECT value, parts FROM rows WHERE name = ?1";
const SCAN: &str = "SELECT name, value, parts FROM rows \
    WHERE name >= ?1 AND name < ?2 AND name > ?3 AND instr(name, char(1)) = 0 \
    ORDER BY name LIMIT ?4";
const GET_PARTS: &str = "SELECT value FROM rows WHERE name > ?1 AND name < ?2 ORDER BY name";
/// Deletes rows. After it are a [`DELETE_ROW`] or [`DELETE_RANGE`] for each [`Range`], each of which is
/// a search by the primary key.
const DELETE: &str = "DELETE FROM rows WHERE ";
const DELETE_ROW: &str = "name = ?";
const DELETE_RANGE: &str = "(name > ? AND name < ?)";
const GET_CARRIER: &str = "SELECT revision, value, parts FROM rows WHERE name = ?1";
const REVISION: &str = "SELECT revision FROM rows WHERE name = ?1";
const SET_REVISION: &str = "UPDATE rows SET revision = ?2 WHERE name = ?1";
const TABLE_EXISTS: &str = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'rows'";

/// The revision of a bucket, and where it is stored.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BucketState {
    pub(super) revision: Revision,
    /// True if the carrier exists.
    is_carried: bool,
}

/// The result of a bucket's first read: its state and the carrier's value.
pub(super) type FirstRead = (BucketState, Option<Vec<u8>>);

/// The name of the carrier.
pub(super) const FIRST_READ: &str = CARRIER;

/// The rows of a bucket.
#[derive(Debug)]
pub(crate) struct Rows<S> {
    pub(super) sql: S,
}

impl<S: Sql> Rows<S> {
    /// Reads the bucket's state; returns `None` if there is no table.
    pub(super) fn load(&self) -> Result<Option<FirstRead>, KvError> {
        let mut carried = match self.sql.query(GET_CARRIER, &[Value::Text(CARRIER)]) {
            Ok(rows) => rows,
            // A missing table is rare, so it is checked for only after an error.
            Err(error) if self.table_exists()? => return Err(error),
            Err(_) => return Ok(None),
        };
        let Some(row) = carried.pop() else {
            let state = BucketState { revision: self.revision(REVISION_ROW)?, is_carried: false };
            return Ok(Some((state, None)));
        };
        let [revision, value, parts] = cells(row)?;
        let revision = Revision(revision.integer().ok_or_else(unreadable)?);
        let value = self.whole(CARRIER, value, &parts)?;
        Ok(Some((BucketState { revision, is_carried: true }, Some(value))))
    }

    /// Returns the revision in the row `name`, or 0 without such a row.
    fn revision(&self, name: &str) -> Result<Revision, KvError> {
        let rows = self.sql.query(REVISION, &[Value::Text(name)])?;
        let revision = rows.first().and_then(|row| row.first()).and_then(Cell::integer);
        Ok(Revision(revision.unwrap_or_default()))
    }

    fn table_exists(&self) -> Result<bool, KvError> {
        Ok(!self.sql.query(TABLE_EXISTS, &[])?.is_empty())
    }

    /// Returns the value of the row `name`.
    pub(super) fn get(&self, name: &str) -> Result<Option<Vec<u8>>, KvError> {
        let mut rows = self.sql.query(GET, &[Value::Text(name)])?;
        let Some(row) = rows.pop() else { return Ok(None) };
        let [value, parts] = cells(row)?;
        self.whole(name, value, &parts).map(Some)
    }

    /// Returns at most `limit` rows with `prefix` after the row `after`.
    pub(super) fn scan(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<(String, Vec<u8>)>, KvError> {
        let (end, after) = (format!("{prefix}{LAST}"), after.unwrap_or_default());
        let values = [
            Value::Text(prefix),
            Value::Text(&end),
            Value::Text(after),
            Value::Integer(limit.into()),
        ];
        let rows = self.sql.query(SCAN, &values)?;
        rows.into_iter()
            .map(|row| {
                let [name, value, parts] = cells(row)?;
                let Cell::Text(name) = name else { return Err(unreadable()) };
                let value = self.whole(&name, value, &parts)?;
                Ok((name, value))
            })
            .collect()
    }

    /// Applies `changes` to the bucket in `state` and sets its revision to `next`.
    /// `may_be_long` returns true if the value of a name may have more than one part.
    ///
    /// # Errors
    ///
    /// `Conflict`: the stored revision is not that of `state`. `Failed`: the storage failed.
    pub(super) fn commit(
        &self,
        state: Option<BucketState>,
        next: Revision,
        changes: &[Change],
        may_be_long: impl Fn(&str) -> bool,
    ) -> Result<BucketState, CommitError> {
        let mut is_carried = false;
        self.sql.transaction(&mut || {
            if state.is_none() {
                self.run(CREATE, &[])?;
            }
            let BucketState { revision, is_carried: was_carried } = state.unwrap_or_default();
            let holder = if was_carried { CARRIER } else { REVISION_ROW };
            if self.revision(holder).map_err(CommitError::Failed)? != revision {
                return Err(CommitError::Conflict);
            }
            is_carried = was_carried;
            let mut is_written = false;
            // The names whose values this commit made long.
            let mut long = BTreeSet::new();
            let mut waiting = Waiting::default();
            for change in changes {
                let is_carrier = |name: &str| name == CARRIER;
                match change {
                    Change::Put(name, value) => {
                        (is_carried, is_written) =
                            (is_carried || is_carrier(name), is_written || is_carrier(name));
                        let revision = is_carrier(name).then_some(next);
                        if may_be_long(name) || long.contains(name.as_str()) {
                            self.delete(Range::of_parts(name), &mut waiting)?;
                        }
                        self.put(name, value, revision, &mut waiting)?;
                        if is_long(value) {
                            long.insert(name.as_str());
                        }
                    }
                    Change::Delete(name) => {
                        is_carried &= !is_carrier(name);
                        self.delete(Range::of_row(name), &mut waiting)?;
                        if may_be_long(name) || long.contains(name.as_str()) {
                            self.delete(Range::of_parts(name), &mut waiting)?;
                        }
                    }
                    Change::DeletePrefix(prefix) => {
                        is_carried &= !CARRIER.starts_with(prefix.as_str());
                        self.delete(Range::of_row(prefix), &mut waiting)?;
                        self.delete(Range::after(prefix), &mut waiting)?;
                    }
                }
            }
            if !is_carried {
                self.put(REVISION_ROW, &[], Some(next), &mut waiting)?;
            }
            self.execute(&mut waiting)?;
            if is_carried && !is_written {
                self.run(SET_REVISION, &[Value::Text(CARRIER), Value::Integer(next.0)])?;
            }
            Ok(())
        })?;
        Ok(BucketState { revision: next, is_carried })
    }

    /// Writes a row, in parts if its value is long, by a statement that may wait.
    fn put<'c>(
        &self,
        name: &'c str,
        value: &'c [u8],
        revision: Option<Revision>,
        waiting: &mut Waiting<'c>,
    ) -> Result<(), CommitError> {
        let mut parts = value.chunks(PART_BYTES);
        let first = parts.next().unwrap_or_default();
        let is_parted = is_long(value);
        self.put_row(PutRow { name: name.into(), value: first, revision, is_parted }, waiting)?;
        for (number, value) in parts.enumerate() {
            let name = format!("{name}{PART_MARK}{number:04}").into();
            self.put_row(PutRow { name, value, revision: None, is_parted: false }, waiting)?;
        }
        Ok(())
    }

    fn put_row<'c>(&self, row: PutRow<'c>, waiting: &mut Waiting<'c>) -> Result<(), CommitError> {
        let bytes: usize = waiting.put.iter().chain([&row]).map(|it| it.value.len()).sum();
        if waiting.put.len() >= ROWS_MAX || bytes > BYTES_MAX {
            self.execute(waiting)?;
        }
        waiting.put.push(row);
        Ok(())
    }

    /// Deletes rows, by a statement that may wait.
    fn delete<'c>(&self, range: Range<'c>, waiting: &mut Waiting<'c>) -> Result<(), CommitError> {
        let is_put = waiting.put.iter().any(|it| range.has(&it.name));
        if is_put || waiting.deleted.len() >= ROWS_MAX {
            self.execute(waiting)?;
        }
        waiting.deleted.push(range);
        Ok(())
    }

    /// Executes the statements that wait: first the deletion, since what is written later stays.
    fn execute(&self, waiting: &mut Waiting<'_>) -> Result<(), CommitError> {
        let Waiting { put, deleted } = mem::take(waiting);
        if !deleted.is_empty() {
            let conditions = deleted.iter().map(|it| match it.end {
                Some(_) => DELETE_RANGE,
                None => DELETE_ROW,
            });
            let conditions: Vec<_> = conditions.collect();
            let bounds = deleted.iter().flat_map(|it| [Some(&*it.begin), it.end.as_deref()]);
            let bounds: Vec<_> = bounds.flatten().map(Value::Text).collect();
            self.run(&[DELETE, &conditions.join(" OR ")].concat(), &bounds)?;
        }
        if !put.is_empty() {
            let cells = put.iter().flat_map(|it| {
                let revision = it.revision.map_or(Value::Null, |it| Value::Integer(it.0));
                let parted = if it.is_parted { Value::Integer(1) } else { Value::Null };
                [Value::Text(&it.name), Value::Bytes(it.value), revision, parted]
            });
            let cells: Vec<_> = cells.collect();
            let [begin, end] = PUT;
            let rows = vec![PUT_ROW; put.len()].join(", ");
            self.run(&[begin, &rows, end].concat(), &cells)?;
        }
        Ok(())
    }

    /// Returns the whole value whose first part is `first`.
    fn whole(&self, name: &str, first: Cell, parts: &Cell) -> Result<Vec<u8>, KvError> {
        let Cell::Bytes(mut value) = first else { return Err(unreadable()) };
        if *parts == Cell::Null {
            return Ok(value);
        }
        let (begin, end) = part_range(name);
        for row in self.sql.query(GET_PARTS, &[Value::Text(&begin), Value::Text(&end)])? {
            let [Cell::Bytes(part)] = cells(row)? else { return Err(unreadable()) };
            value.extend_from_slice(&part);
        }
        Ok(value)
    }

    fn run(&self, statement: &str, values: &[Value<'_>]) -> Result<(), CommitError> {
        self.sql.query(statement, values).map(drop).map_err(CommitError::Failed)
    }
}

/// Changes of a commit that one statement each performs: a call of the database costs more than a
/// row.
#[derive(Debug, Default)]
struct Waiting<'c> {
    put: Vec<PutRow<'c>>,
    deleted: Vec<Range<'c>>,
}

/// A row to write.
#[derive(Debug)]
struct PutRow<'c> {
    name: Cow<'c, str>,
    value: &'c [u8],
    revision: Option<Revision>,
    /// True if further parts follow.
    is_parted: bool,
}

/// Names of rows to delete: one name, or all between two.
#[derive(Debug)]
struct Range<'c> {
    begin: Cow<'c, str>,
    end: Option<String>,
}

impl<'c> Range<'c> {
    fn of_row(name: &'c str) -> Self {
        Self { begin: name.into(), end: None }
    }

    /// Returns the names that begin with `prefix`, without itself.
    fn after(prefix: &'c str) -> Self {
        Self { begin: prefix.into(), end: Some(format!("{prefix}{LAST}")) }
    }

    /// Returns the names of the parts after the first of the row `name`.
    fn of_parts(name: &str) -> Self {
        let (begin, end) = part_range(name);
        Self { begin: begin.into(), end: Some(end) }
    }

    fn has(&self, name: &str) -> bool {
        match &self.end {
            Some(end) => name > &*self.begin && name < end.as_str(),
            None => name == self.begin,
        }
    }
}

/// Returns true if a value needs more than one part.
pub(super) fn is_long(value: &[u8]) -> bool {
    value.len() > PART_BYTES
}

/// Returns the bounds of the names of the further parts of the row `name`.
fn part_range(name: &str) -> (String, String) {
    (format!("{name}{PART_MARK}"), format!("{name}{PART_MARK}{LAST}"))
}

fn cells<const N: usize>(row: Row) -> Result<[Cell; N], KvError> {
    row.try_into().map_err(|_| unreadable())
}

fn unreadable() -> KvError {
    KvError("a row of the database is not as it was written".to_owned())
}
