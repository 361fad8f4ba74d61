//! The storage interface of a Durable Object: synchronous SQL and atomic transactions.
//!
//! It is a port, so that its users are tested against `SQLite` itself, outside of
//! Workers; `crate::js` implements it over the object's own storage.

use shared_context_core::port::{CommitError, KvError};

/// The `SQLite` database of one object.
pub(crate) trait Sql {
    /// Executes one statement and returns its rows.
    ///
    /// # Errors
    ///
    /// The statement failed and has changed nothing.
    fn query(&self, statement: &str, values: &[Value<'_>]) -> Result<Vec<Row>, KvError>;

    /// Performs `work`, and rolls its changes back if it fails.
    ///
    /// # Errors
    ///
    /// The errors of `work`, and `Failed` when the storage fails.
    fn transaction(
        &self,
        work: &mut dyn FnMut() -> Result<(), CommitError>,
    ) -> Result<(), CommitError>;
}

/// A value bound to a `?` of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'v> {
    Null,
    /// An integer below 2^53, since it is passed as a JavaScript number.
    Integer(u64),
    Text(&'v str),
    Bytes(&'v [u8]),
}

/// A row of a result.
pub(crate) type Row = Vec<Cell>;

/// A value of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    Integer(u64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Cell {
    /// Returns the value if it is an integer.
    pub(crate) fn integer(&self) -> Option<u64> {
        if let Self::Integer(it) = self { Some(*it) } else { None }
    }
}
