//! The interface to Spin's `SQLite`: single statements, each its own transaction.
//!
//! It is a port, so that its users are tested against `SQLite` itself, outside of Spin;
//! the component implements it over `spin:sqlite`.

use std::time::Duration;

use shared_context_core::port::KvError;

use super::statements::{NO_TABLE, NO_TRIGGER};

/// The database of the app, for one instance.
pub trait Sql {
    /// Executes one statement atomically and returns its rows.
    fn execute(&self, statement: &str, values: Vec<Value>) -> Result<Vec<Row>, SqlError>;

    /// Waits for a random time of at most `at_most`, so that conflicting writers do not
    /// collide again and again.
    fn pause(&self, at_most: Duration);
}

/// A value bound to a `?` of a statement, or a value of a result row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `NULL`.
    Null,
    /// An integer.
    Integer(i64),
    /// A floating-point number. Our tables contain none.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// A row of a result.
pub type Row = Vec<Value>;

/// An error of a statement, with the variants of `spin:sqlite`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqlError {
    /// No database has this name.
    NoSuchDatabase,
    /// The component was not granted the database.
    AccessDenied,
    /// The database cannot be reached.
    InvalidConnection,
    /// The database has reached its maximum size.
    DatabaseFull,
    /// Any other error, with the message of `SQLite` or its server.
    Io(String),
}

impl SqlError {
    /// Returns true if tables do not exist yet. The statement then had no effect.
    pub(super) fn is_missing_tables(&self) -> bool {
        let Self::Io(text) = self else { return false };
        text.contains(NO_TABLE) || text.contains(NO_TRIGGER)
    }

    /// Returns a message with advice for operators. It contains no stored values.
    fn warning(&self) -> String {
        let text = match self {
            Self::NoSuchDatabase => {
                "Spin has no SQLite database \"default\": define [sqlite_database.default] in the \
                 file that --runtime-config-file names, or, on a platform, link a database to the \
                 app under this label"
            }
            Self::AccessDenied => {
                "Spin denies access to the SQLite database \"default\": in spin.toml give the \
                 component sqlite_databases = [\"default\"]; if it is a dependency of that \
                 component, also inherit_configuration = [\"sqlite_databases\"] with the \
                 dependency, or, on Spin 3, dependencies_inherit_configuration = true with the \
                 component"
            }
            Self::InvalidConnection => {
                "Spin cannot connect to the SQLite database \"default\": look at url and token of \
                 [sqlite_database.default] in the file that --runtime-config-file names, and \
                 whether that server is up"
            }
            Self::DatabaseFull => {
                "the SQLite database \"default\" is full: give it more room, or delete sessions"
            }
            Self::Io(text) => return Self::warning_on(text),
        };
        text.to_owned()
    }

    /// Returns such a message with the error text of `SQLite`. The advice is a guess from
    /// that text.
    fn warning_on(text: &str) -> String {
        let warnings = [
            ("disk is full", "free space where the database lies"),
            ("locked", "find out what else holds the database for seconds, or let fewer write"),
            ("readonly", "let Spin write the database's file and the folder it lies in"),
            ("unable to open", "let Spin write the database's file and the folder it lies in"),
            ("malformed", "stop Spin and restore the database from a backup"),
            ("not a database", "stop Spin and restore the database from a backup"),
            ("result exceeds", "delete snapshots of this session, or keep less of its past"),
        ];
        let warning = warnings.iter().find(|(sign, _)| text.contains(sign));
        let warning = warning.map_or(
            "look at the disk, or at the server, of [sqlite_database.default]",
            |(_, warning)| warning,
        );
        format!("SQLite failed: {text}: {warning}")
    }
}

impl From<SqlError> for KvError {
    fn from(error: SqlError) -> Self {
        Self(error.warning())
    }
}
