//! What is asked of Spin's `SQLite`: statements, one at a time, each a transaction
//! of its own.
//!
//! A port, so that what is built on it is tested against `SQLite` itself, outside of
//! Spin; the component implements it over `spin:sqlite`.

use std::time::Duration;

use shared_context_core::port::KvError;

use super::statements::{NO_TABLE, NO_TRIGGER};

/// The database of the app, as one instance uses it.
pub trait Sql {
    /// Performs one statement, whole or not at all, and returns the rows it gives.
    fn execute(&self, statement: &str, values: Vec<Value>) -> Result<Vec<Row>, SqlError>;

    /// Waits for a moment by chance, no longer than `at_most`: so whoever was overtaken
    /// does not meet the same others again and again.
    fn pause(&self, at_most: Duration);
}

/// What stands for a `?` of a statement, and what a row of a result holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number. None of our tables holds one.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// A row of a result.
pub type Row = Vec<Value>;

/// Why a statement was not performed, in the words of `spin:sqlite`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqlError {
    /// There is no database of this name.
    NoSuchDatabase,
    /// The component was not granted the database.
    AccessDenied,
    /// The database cannot be reached.
    InvalidConnection,
    /// The database may not grow any more.
    DatabaseFull,
    /// Anything else, as `SQLite` or its server put it.
    Io(String),
}

impl SqlError {
    /// Returns whether the tables were not made yet, or not all of them; then the statement
    /// did nothing.
    pub(super) fn is_of_missing_tables(&self) -> bool {
        let Self::Io(text) = self else { return false };
        text.contains(NO_TABLE) || text.contains(NO_TRIGGER)
    }

    /// Returns what to do, for operators. There is no value in it.
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

    /// Returns the same, from what `SQLite` says: the warning is a guess, its text is not.
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
