//! What is asked of the storage of a Durable Object: SQL, at once, and
//! transactions that happen whole or not at all.
//!
//! A port, so that what is built on it is tested against `SQLite` itself, outside
//! of Workers; `crate::js` implements it over the object's own storage.

use shared_context_core::port::{CommitError, KvError};

/// The `SQLite` database of one object.
pub(crate) trait Sql {
    /// Performs one statement and returns the rows it gives.
    ///
    /// # Errors
    ///
    /// The statement could not be performed; nothing of it was.
    fn query(&self, statement: &str, values: &[Value<'_>]) -> Result<Vec<Row>, KvError>;

    /// Performs `work`; what it did is undone when it fails.
    ///
    /// # Errors
    ///
    /// Those of `work`, and `Failed` when the storage fails.
    fn transaction(
        &self,
        work: &mut dyn FnMut() -> Result<(), CommitError>,
    ) -> Result<(), CommitError>;
}

/// What stands for a `?` of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'v> {
    Null,
    /// Less than 2^53, since it travels as a JavaScript number.
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
    /// Returns the number it is, if it is one.
    pub(crate) fn integer(&self) -> Option<u64> {
        if let Self::Integer(it) = self { Some(*it) } else { None }
    }
}
