//! Implements Spin's interfaces without Spin, with helpers that all tests share.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    io::{Write as _, stderr},
    path::Path,
    rc::Rc,
    time::Duration,
};

use rusqlite::{Connection, params_from_iter, types};
use shared_context_core::port::{Bucket, Change, CommitError, Kv, Revision, Row};
use shared_context_spin_storage::{
    key_value::{Store, StoreError},
    sqlite::{Row as SqlRow, Sql, SqlError, Value},
};

/// A connection to a database, as Spin opens one for each instance.
#[derive(Clone)]
pub(crate) struct Database {
    connection: Rc<Connection>,
    /// The number of statements executed.
    executed: Rc<Cell<u32>>,
    /// The maximum duration of each pause.
    pauses: Rc<RefCell<Vec<Duration>>>,
    /// The error of all statements while it is set.
    fault: Rc<RefCell<Option<(FaultPoint, SqlError)>>>,
}

/// The moment at which a statement fails: before or after its execution.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultPoint {
    Before,
    After,
}

impl Database {
    pub(crate) fn in_memory() -> Self {
        Self::over(Connection::open_in_memory().unwrap())
    }

    pub(crate) fn in_file(path: &Path) -> Self {
        let connection = Connection::open(path).unwrap();
        // Spin waits for 5 s. On a disk that is busy otherwise, that would fail the test
        // without a bug.
        connection.busy_timeout(Duration::from_mins(1)).unwrap();
        Self::over(connection)
    }

    fn over(connection: Connection) -> Self {
        let connection = Rc::new(connection);
        Self { connection, executed: Rc::default(), pauses: Rc::default(), fault: Rc::default() }
    }

    /// Returns the maximum duration of each pause since the previous call, in milliseconds.
    pub(crate) fn take_pauses(&self) -> Vec<u128> {
        self.pauses.take().iter().map(Duration::as_millis).collect()
    }

    pub(crate) fn set_fault(&self, fault: Option<(FaultPoint, SqlError)>) {
        self.fault.replace(fault);
    }

    /// Returns the result of `work` and the number of statements it executed.
    pub(crate) fn count<T>(&self, work: impl FnOnce() -> T) -> (T, u32) {
        self.executed.set(0);
        let done = work();
        (done, self.executed.get())
    }

    pub(crate) fn batch(&self, statements: &str) {
        self.connection.execute_batch(statements).unwrap();
    }

    /// Returns the single value of `query`.
    pub(crate) fn one<T: types::FromSql>(&self, query: &str) -> T {
        self.connection.query_row(query, [], |row| row.get(0)).unwrap()
    }

    fn perform(&self, statement: &str, values: Vec<Value>) -> rusqlite::Result<Vec<SqlRow>> {
        let mut statement = self.connection.prepare_cached(statement)?;
        let columns = statement.column_count();
        let values = values.into_iter().map(|value| match value {
            Value::Null => types::Value::Null,
            Value::Integer(it) => types::Value::Integer(it),
            Value::Real(it) => types::Value::Real(it),
            Value::Text(it) => types::Value::Text(it),
            Value::Blob(it) => types::Value::Blob(it),
        });
        let rows = statement.query_map(params_from_iter(values), |row| {
            let cell = |column| {
                Ok(match row.get_ref(column)? {
                    types::ValueRef::Null => Value::Null,
                    types::ValueRef::Integer(it) => Value::Integer(it),
                    types::ValueRef::Real(it) => Value::Real(it),
                    types::ValueRef::Text(it) => {
                        Value::Text(String::from_utf8(it.to_vec()).unwrap())
                    }
                    types::ValueRef::Blob(it) => Value::Blob(it.to_vec()),
                })
            };
            (0..columns).map(cell).collect()
        })?;
        rows.collect()
    }
}

impl Sql for Database {
    fn pause(&self, at_most: Duration) {
        self.pauses.borrow_mut().push(at_most);
    }

    fn execute(&self, statement: &str, values: Vec<Value>) -> Result<Vec<SqlRow>, SqlError> {
        self.executed.set(self.executed.get() + 1);
        let fault = self.fault.borrow().clone();
        if let Some((FaultPoint::Before, error)) = fault {
            return Err(error);
        }
        let done = self.perform(statement, values);
        if let Some((FaultPoint::After, error)) = fault {
            return Err(error);
        }
        done.map_err(|error| SqlError::Io(error.to_string()))
    }
}

/// An in-memory key-value store. Clones share it, as instances do.
#[derive(Clone, Default)]
pub(crate) struct MemoryStore {
    pub(crate) values: Rc<RefCell<BTreeMap<String, Vec<u8>>>>,
    pub(crate) fault: Rc<RefCell<Option<StoreError>>>,
}

impl MemoryStore {
    fn check(&self) -> Result<(), StoreError> {
        self.fault.borrow().clone().map_or(Ok(()), Err)
    }
}

impl Store for MemoryStore {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.check()?;
        Ok(self.values.borrow().get(key).cloned())
    }

    fn set(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.check()?;
        self.values.borrow_mut().insert(key.to_owned(), value.to_vec());
        Ok(())
    }

    fn keys(&self) -> Result<Vec<String>, StoreError> {
        self.check()?;
        // In an unsorted order.
        Ok(self.values.borrow().keys().rev().cloned().collect())
    }
}

pub(crate) fn put(name: &str, value: impl Into<Vec<u8>>) -> Change {
    Change::Put(name.to_owned(), value.into())
}

pub(crate) fn delete(name: &str) -> Change {
    Change::Delete(name.to_owned())
}

pub(crate) fn delete_prefix(prefix: &str) -> Change {
    Change::DeletePrefix(prefix.to_owned())
}

/// Opens a bucket and commits to it.
#[track_caller]
pub(crate) fn commit(kv: &impl Kv, bucket: &str, changes: Vec<Change>) -> Revision {
    try_commit(&mut kv.open(bucket).unwrap(), changes).unwrap()
}

/// Commits to a bucket at the revision at which it was opened.
pub(crate) fn try_commit(
    bucket: &mut impl Bucket,
    changes: Vec<Change>,
) -> Result<Revision, CommitError> {
    bucket.commit(bucket.revision(), changes)
}

#[track_caller]
pub(crate) fn all(kv: &impl Kv, bucket: &str) -> Vec<Row> {
    kv.open(bucket).unwrap().scan("", None, u32::MAX).unwrap()
}

/// Prints a line, also when the test passes.
pub(crate) fn print(line: &str) {
    stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}
