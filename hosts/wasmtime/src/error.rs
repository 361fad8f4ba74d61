//! Why something could not be started. What goes wrong with a single request is
//! a [`Failure`](shared_context_codec::Failure), not this.

use std::{fmt, path::Path};

/// Why the server, the storage or the component could not be started: what is
/// wrong and what to do about it, for the person at the terminal.
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

    /// Creates the same, with what to do about it. A line of it that begins with two spaces is
    /// a command to paste.
    pub(crate) fn next(self, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..self }
    }

    /// Returns what is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns what to do about it, when the message does not say. A line that begins with two
    /// spaces is a command as a shell takes it.
    pub fn next_step(&self) -> Option<&str> {
        self.next.as_deref()
    }

    /// Another process uses the data folder.
    pub(crate) fn folder_in_use(message: impl Into<String>) -> Self {
        Self { is_folder_in_use: true, ..Self::new(message) }
    }

    /// Returns whether another process uses the data folder: its server can be asked
    /// instead, as soon as it is up.
    pub fn is_folder_in_use(&self) -> bool {
        self.is_folder_in_use
    }

    /// Something could not be done with the file or folder `path`.
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
