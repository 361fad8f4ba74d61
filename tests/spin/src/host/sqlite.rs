//! `spin:sqlite`: the database `sqlite_db.db` of the state folder.
//!
//! As in Spin, each `connection` is an `SQLite` connection that is opened at its first
//! statement. It waits five seconds for another connection's lock (rusqlite's default).
//! A statement is prepared once per connection and runs on a thread for blocking work.
//! So it runs to its end even if the instance ends meanwhile.
//!
//! A component may begin a transaction in one `execute` and commit it in another, as in
//! Spin. Other providers of Spin's interface do not all support that.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rusqlite::{params_from_iter, types::ValueRef};
use tokio::task::spawn_blocking;
use wasmtime::component::Resource;

use super::{Host, InstanceKilled};
use crate::{
    bindings::spin::sqlite::sqlite::{self, Error, QueryResult, RowResult, Value},
    faults::Call,
};

/// The maximum bytes that one statement may return.
const RESULT_BYTES_MAX: usize = 128 << 20;

/// A connection to the database.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Connection {
    file: PathBuf,
    open: Option<SharedConnection>,
}

type SharedConnection = Arc<Mutex<rusqlite::Connection>>;
type Answer<T> = wasmtime::Result<Result<T, Error>>;

impl Connection {
    fn open(&mut self) -> Result<SharedConnection, Error> {
        if let Some(open) = &self.open {
            return Ok(Arc::clone(open));
        }
        let open = rusqlite::Connection::open(&self.file).map_err(io)?;
        Ok(Arc::clone(self.open.insert(Arc::new(Mutex::new(open)))))
    }
}

impl sqlite::Host for Host {}

impl sqlite::HostConnection for Host {
    async fn open(&mut self, database: String) -> Answer<Resource<Connection>> {
        if !self.component.databases.contains(&database) {
            return Ok(Err(Error::AccessDenied));
        }
        let file = self.component.shared.database.clone();
        Ok(Ok(self.table.push(Connection { file, open: None })?))
    }

    async fn execute(
        &mut self,
        connection: Resource<Connection>,
        statement: String,
        parameters: Vec<Value>,
    ) -> Answer<QueryResult> {
        let connection = self.table.get_mut(&connection)?;
        let file = connection.file.clone();
        let open = match connection.open() {
            Ok(open) => open,
            Err(error) => return Ok(Err(error)),
        };
        let call = Call::of_statement(&statement);
        let faults = self.component.shared.faults.next_call();
        if faults.ends_before {
            return Err(InstanceKilled.into());
        }
        if let Some(why) = faults.error_before(call) {
            return Ok(Err(Error::Io(why.to_owned())));
        }
        let executed = spawn_blocking(move || {
            if faults.has_conflict(call) {
                commit_elsewhere(&file).map_err(io)?;
            }
            execute(&lock(&open), &statement, parameters)
        });
        let answer = executed.await?;
        if faults.ends_after {
            return Err(InstanceKilled.into());
        }
        match faults.error_after(call) {
            Some(why) if answer.is_ok() => Ok(Err(Error::Io(why.to_owned()))),
            _ => Ok(answer),
        }
    }

    async fn last_insert_rowid(
        &mut self,
        connection: Resource<Connection>,
    ) -> wasmtime::Result<i64> {
        let open = self.table.get_mut(&connection)?.open()?;
        Ok(lock(&open).last_insert_rowid())
    }

    async fn changes(&mut self, connection: Resource<Connection>) -> wasmtime::Result<u64> {
        let open = self.table.get_mut(&connection)?.open()?;
        Ok(lock(&open).changes())
    }

    async fn drop(&mut self, connection: Resource<Connection>) -> wasmtime::Result<()> {
        self.table.delete(connection)?;
        Ok(())
    }
}

fn execute(
    connection: &rusqlite::Connection,
    statement: &str,
    parameters: Vec<Value>,
) -> Result<QueryResult, Error> {
    let mut prepared = connection.prepare_cached(statement).map_err(io)?;
    let columns: Vec<_> = prepared.column_names().map(str::to_owned).collect();
    let mut found =
        prepared.query(params_from_iter(parameters.into_iter().map(bound))).map_err(io)?;
    let mut rows = Vec::new();
    let mut bytes = 0_usize;
    while let Some(row) = found.next().map_err(io)? {
        let mut values = Vec::with_capacity(columns.len());
        for column in 0..columns.len() {
            let value = read(row.get_ref(column).map_err(io)?)?;
            bytes += size(&value);
            values.push(value);
        }
        if bytes > RESULT_BYTES_MAX {
            return Err(Error::Io(format!(
                "query result exceeds limit of {RESULT_BYTES_MAX} bytes"
            )));
        }
        rows.push(RowResult { values });
    }
    Ok(QueryResult { columns, rows })
}

/// Commits to every bucket from another connection.
fn commit_elsewhere(file: &std::path::Path) -> rusqlite::Result<()> {
    let other = rusqlite::Connection::open(file)?;
    let is_there = "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'shared_context_bucket'";
    if other.query_row(is_there, [], |row| row.get(0))? {
        other.execute("UPDATE shared_context_bucket SET revision = revision + 1", [])?;
    }
    Ok(())
}

fn bound(value: Value) -> rusqlite::types::Value {
    use rusqlite::types::Value as Bound;
    match value {
        Value::Integer(it) => Bound::Integer(it),
        Value::Real(it) => Bound::Real(it),
        Value::Text(it) => Bound::Text(it),
        Value::Blob(it) => Bound::Blob(it),
        Value::Null => Bound::Null,
    }
}

fn read(value: ValueRef<'_>) -> Result<Value, Error> {
    Ok(match value {
        ValueRef::Integer(it) => Value::Integer(it),
        ValueRef::Real(it) => Value::Real(it),
        ValueRef::Text(it) => {
            let text = std::str::from_utf8(it).map_err(|it| Error::Io(it.to_string()))?;
            Value::Text(text.to_owned())
        }
        ValueRef::Blob(it) => Value::Blob(it.to_owned()),
        ValueRef::Null => Value::Null,
    })
}

/// Returns the size of a value as Spin counts it.
fn size(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::Text(it) => it.len(),
            Value::Blob(it) => it.len(),
            Value::Integer(_) | Value::Real(_) | Value::Null => 0,
        }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that `map_err` needs")]
fn io(error: rusqlite::Error) -> Error {
    Error::Io(error.to_string())
}

fn lock(connection: &Mutex<rusqlite::Connection>) -> MutexGuard<'_, rusqlite::Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}
