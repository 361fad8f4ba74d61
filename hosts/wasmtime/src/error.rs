//! Errors at start. The error of a single request is a
//! [`Failure`](shared_context_codec::Failure).

use std::{fmt, path::Path};

/// The reason that the server, the storage or the component could not be started, and what
/// to do about it. Written for a person at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartError {
    message: String,
    next: Option<String>,
    is_folder_in_use: bool,
}

impl StartError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), next: None, is_folder_in_use: false }
    }

    /// Adds what to do about the error. A line that begins with two spaces is a shell
    /// command to paste.
    pub(crate) fn next(self, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..self }
    }

    /// Returns what is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns what to do about the error, if the message does not say it already. A line
    /// that begins with two spaces is a shell command.
    pub fn next_step(&self) -> Option<&str> {
        self.next.as_deref()
    }

    /// Creates the error for a data folder that another process uses.
    pub(crate) fn folder_in_use(message: impl Into<String>) -> Self {
        Self { is_folder_in_use: true, ..Self::new(message) }
    }

    /// Returns true if another process uses the data folder. Its server can be called
    /// instead, as soon as it is up.
    pub fn is_folder_in_use(&self) -> bool {
        self.is_folder_in_use
    }

    /// Creates the error for a failed operation on the file or folder `path`. `doing` is a
    /// verb, such as "open".
    pub(crate) fn file(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
        let warning = match error.kind() {
            PermissionDenied | ReadOnlyFilesystem => {
                "; the user who starts the server needs to read and write there, \
                 or choose another data folder"
            }
            StorageFull => "; make room on that disk, or choose another data folder",
            _ => "",
        };
        Self::new(format!("cannot {doing} {}: {error}{warning}", path.display()))
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.next.as_ref().map_or(Ok(()), |next| write!(f, "; {next}"))
    }
}

impl std::error::Error for StartError {}
