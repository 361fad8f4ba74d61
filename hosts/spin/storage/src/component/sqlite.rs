//! Implements the database of [`crate::sqlite`] over Spin's `SQLite`.

use std::{cell::OnceCell, time::Duration};

use crate::{
    bindings::{
        exports::shared_context::spin::buckets::Guarantee,
        spin::sqlite::sqlite::{self, Connection},
        wasi::{clocks::monotonic_clock, random::random},
    },
    sqlite::{Row, Sql, SqlError, SqliteKv, Value},
};

pub(super) type Buckets = SqliteKv<Database>;

pub(super) const GUARANTEE: Guarantee = Guarantee::Linearizable;

/// The database's label.
const DATABASE: &str = "default";

/// The app's database: one connection, opened at its first use.
#[derive(Default)]
pub(super) struct Database {
    connection: OnceCell<Connection>,
}

pub(super) fn host() -> Database {
    Database::default()
}

impl Database {
    fn connection(&self) -> Result<&Connection, SqlError> {
        if let Some(connection) = self.connection.get() {
            return Ok(connection);
        }
        let opened = Connection::open(DATABASE).map_err(error)?;
        Ok(self.connection.get_or_init(|| opened))
    }
}

impl Sql for Database {
    fn execute(&self, statement: &str, values: Vec<Value>) -> Result<Vec<Row>, SqlError> {
        let values: Vec<_> = values.into_iter().map(to_spin).collect();
        let result = self.connection()?.execute(statement, &values).map_err(error)?;
        let rows = result.rows.into_iter();
        Ok(rows.map(|row| row.values.into_iter().map(from_spin).collect()).collect())
    }

    fn pause(&self, at_most: Duration) {
        let nanos = u64::try_from(at_most.as_nanos()).unwrap_or(u64::MAX);
        let nanos = random::get_random_u64() % nanos.saturating_add(1);
        monotonic_clock::subscribe_duration(nanos).block();
    }
}

fn to_spin(value: Value) -> sqlite::Value {
    match value {
        Value::Null => sqlite::Value::Null,
        Value::Integer(it) => sqlite::Value::Integer(it),
        Value::Real(it) => sqlite::Value::Real(it),
        Value::Text(it) => sqlite::Value::Text(it),
        Value::Blob(it) => sqlite::Value::Blob(it),
    }
}

fn from_spin(value: sqlite::Value) -> Value {
    match value {
        sqlite::Value::Null => Value::Null,
        sqlite::Value::Integer(it) => Value::Integer(it),
        sqlite::Value::Real(it) => Value::Real(it),
        sqlite::Value::Text(it) => Value::Text(it),
        sqlite::Value::Blob(it) => Value::Blob(it),
    }
}

fn error(error: sqlite::Error) -> SqlError {
    match error {
        sqlite::Error::NoSuchDatabase => SqlError::NoSuchDatabase,
        sqlite::Error::AccessDenied => SqlError::AccessDenied,
        sqlite::Error::InvalidConnection => SqlError::InvalidConnection,
        sqlite::Error::DatabaseFull => SqlError::DatabaseFull,
        sqlite::Error::Io(text) => SqlError::Io(text),
    }
}
