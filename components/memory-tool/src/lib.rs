//! Anthropic's client-side memory tool `memory_20250818` over a session: files under `/memories`
//! are stored as entries.
//!
//! A file is an entry, and its content is the entry's value. Result texts are those of the tool's
//! documentation, because agents know them; additions follow after them.
//!
//! The prompt for the agent comes with the tool. The tool has no commands for history, access and
//! expiry. They work as for any write: an edit preserves an entry's access lists and expiry, and so
//! does a rename.
//!
//! # Invariants
//!
//! - A path in a result leads to the same entry when it is sent.
//! - An edit applies to the value it replaces. If the entry changed meanwhile, the edit is retried
//!   on the newer value, or fails.
//! - A rename, and the removal of a directory, is atomic.
//! - Hidden entries are reported as missing.
//! - No HTTP: errors that only the client program can correct are returned to the caller.

mod command;
mod edit;
mod files;
mod listing;
mod path;
mod rename;

use serde::Serialize;
use serde_json::{Map, Value};
use shared_context_codec::{Failure, Reply};
use shared_context_core::Prefix;

use self::{
    command::Command,
    edit::Edit,
    files::{Files, Session},
    path::Place,
};

/// Most attempts of a change that conflicts with others.
const ATTEMPTS_MAX: usize = 5;

/// Content of a `tool_result` block, besides its type and the id of the call.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// Text for the agent.
    pub content: String,
    /// True if the command was rejected.
    pub is_error: bool,
}

/// The entries of one session, accessed in the name of one caller.
pub trait Store {
    /// Performs one request of the JSON tool.
    ///
    /// # Errors
    ///
    /// Errors of the JSON tool; `STORAGE_UNAVAILABLE` or `INTERNAL` if the host itself failed.
    fn invoke(&self, request: &[u8]) -> impl Future<Output = Result<Reply, Failure>>;
}

/// Reason why a command failed.
#[derive(Debug)]
enum Rejection {
    /// Text for the agent, which can correct the error.
    ForAgent(String),
    /// Error for the client program or the operator.
    Failed(Failure),
}

/// Codes of errors that an agent can correct or avoid.
const AGENT_CODES: [&str; 8] = [
    "INVALID_KEY",
    "SESSION_ARCHIVED",
    "FORBIDDEN",
    "KEY_NOT_FOUND",
    "VALUE_TOO_LARGE",
    "SENSITIVE_VALUE",
    "VERSION_CONFLICT",
    "STORE_FULL",
];

impl From<Failure> for Rejection {
    fn from(failure: Failure) -> Self {
        if AGENT_CODES.contains(&failure.code.as_ref()) {
            Self::ForAgent(format!("Error: {}", failure.message))
        } else {
            Self::Failed(failure)
        }
    }
}

/// Performs `input`, the input of one tool use, on a session's `store`.
///
/// # Errors
///
/// Errors of the session, except those that an agent can correct or avoid.
pub async fn answer<S: Store>(store: &S, input: &Map<String, Value>) -> Result<Answer, Failure> {
    let files = Files::new(store);
    // First, so that a void credential gets the same error for every command.
    let session = files.session().await?;
    match (Memory { files, session }).perform(input).await {
        Ok(content) => Ok(Answer { content, is_error: false }),
        Err(Rejection::ForAgent(content)) => Ok(Answer { content, is_error: true }),
        Err(Rejection::Failed(failure)) => Err(failure),
    }
}

/// A session as the tool's memory.
struct Memory<'s, S> {
    files: Files<'s, S>,
    session: Session,
}

impl<S: Store> Memory<'_, S> {
    async fn perform(&self, input: &Map<String, Value>) -> Result<String, Rejection> {
        let command = Command::parse(input).map_err(Rejection::ForAgent)?;
        if self.session.is_archived() && !matches!(command, Command::View { .. }) {
            return reject(
                "Error: this memory is archived: it can be viewed, not changed; ask the operator \
                 for a new session",
            );
        }
        match command {
            Command::View { path, range } => self.view(self.place(&path)?, range).await,
            Command::Create { path, file_text } => {
                self.create(self.place(&path)?, &file_text).await
            }
            Command::StrReplace { path, old_str, new_str } => {
                let change =
                    |path: &str, value: &str| edit::replace(path, value, &old_str, &new_str);
                let missing = "Please provide a valid path.";
                self.edit(self.place(&path)?, change, missing).await
            }
            Command::Insert { path, insert_line, insert_text } => {
                let change = |path: &str, value: &str| {
                    edit::insert_after(path, value, insert_line, &insert_text)
                };
                self.edit(self.place(&path)?, change, VIEW_FIRST).await
            }
            Command::Delete { path } => self.delete(self.place(&path)?).await,
            Command::Rename { old_path, new_path } => {
                self.rename(self.place(&old_path)?, self.place(&new_path)?).await
            }
        }
    }

    fn place(&self, path: &str) -> Result<Place, Rejection> {
        path::place(path, self.session.allows_prefixes()).map_err(Rejection::ForAgent)
    }

    /// Shows a file, or lists a directory.
    async fn view(&self, place: Place, range: Option<(i64, i64)>) -> Result<String, Rejection> {
        let directory = match &place {
            Place::Root => return self.list(&place, None).await,
            Place::Directory(prefix) => Some(prefix),
            Place::Entry { key, directory } => {
                if let Some(entry) = self.files.entry(key).await? {
                    let path = place.to_string();
                    return edit::shown(&path, &entry.value, range).map_err(Rejection::ForAgent);
                }
                directory.as_ref()
            }
        };
        if let Some(prefix) = directory {
            let place = Place::Directory(prefix.clone());
            return self.list(&place, Some(prefix)).await;
        }
        reject(format!("The path {place} does not exist. Please provide a valid path."))
    }

    /// Lists the entries of a directory, or all.
    async fn list(&self, place: &Place, prefix: Option<&Prefix>) -> Result<String, Rejection> {
        let keys = self.files.keys(prefix).await?;
        let entries = self.files.entries(&keys).await?;
        // The root exists even if it is empty; a directory exists only with entries.
        if prefix.is_some() && entries.is_empty() {
            let path = place.to_string();
            let path = path.trim_end_matches('/');
            return reject(format!("The path {path} does not exist. Please provide a valid path."));
        }
        Ok(listing::listing(place, &entries))
    }

    /// Creates a file.
    async fn create(&self, place: Place, text: &str) -> Result<String, Rejection> {
        let Place::Entry { key, .. } = &place else {
            let below = place.to_string();
            let below = below.trim_end_matches('/');
            return reject(format!(
                "Error: {place} is a directory; give the file a name, as in {below}/progress"
            ));
        };
        match self.files.create(key, text).await {
            Ok(notes) => Ok(format!("File created successfully at: {place}{notes}")),
            Err(failure) if failure.code == "VERSION_CONFLICT" => reject(format!(
                "Error: File {place} already exists. View it and change it with str_replace or \
                 insert, or choose another name."
            )),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Applies `change` to a file; `missing` is the next step if there is none.
    async fn edit(
        &self,
        place: Place,
        change: impl Fn(&str, &str) -> Result<Edit, String>,
        missing: &str,
    ) -> Result<String, Rejection> {
        let path = place.to_string();
        let Place::Entry { key, .. } = &place else { return reject(path_missing(&path, missing)) };
        for _ in 0..ATTEMPTS_MAX {
            let Some(entry) = self.files.entry(key).await? else {
                return reject(path_missing(&path, missing));
            };
            let Edit { value, message } =
                change(&path, &entry.value).map_err(Rejection::ForAgent)?;
            match self.files.overwrite(&self.session, &entry, &value).await {
                Ok(notes) => return Ok(message + &notes),
                Err(failure) if entry.is_outdated(&failure) => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        reject(conflict(&path))
    }

    /// Removes a file, or a directory with everything in it.
    async fn delete(&self, place: Place) -> Result<String, Rejection> {
        let prefix = match &place {
            Place::Root => {
                return reject(
                    "Error: Cannot delete the /memories directory itself; delete the files in it \
                     that are settled",
                );
            }
            Place::Directory(prefix) => prefix,
            Place::Entry { key, directory } => match (self.files.delete(key).await, directory) {
                (Ok(()), _) => return Ok(format!("Successfully deleted {place}")),
                (Err(failure), Some(prefix)) if failure.code == "KEY_NOT_FOUND" => prefix,
                (Err(failure), None) if failure.code == "KEY_NOT_FOUND" => {
                    return reject(path_missing(&place.to_string(), VIEW_FIRST));
                }
                (Err(failure), _) => return Err(failure.into()),
            },
        };
        let directory = Place::Directory(prefix.clone());
        for _ in 0..ATTEMPTS_MAX {
            let keys = self.files.keys(Some(prefix)).await?;
            if keys.is_empty() {
                return reject(path_missing(&place.to_string(), VIEW_FIRST));
            }
            if keys.len() > files::BATCH_KEYS_MAX {
                return reject(too_many(&directory, keys.len(), files::BATCH_KEYS_MAX));
            }
            match self.files.delete_all(&keys).await {
                Ok(()) => return Ok(format!("Successfully deleted {directory}")),
                Err(failure) if failure.code == "KEY_NOT_FOUND" => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        reject(conflict(&directory.to_string()))
    }
}

/// Next step for a path that does not exist.
const VIEW_FIRST: &str = "View /memories to see what is there.";

fn reject<T>(text: impl Into<String>) -> Result<T, Rejection> {
    Err(Rejection::ForAgent(text.into()))
}

fn path_missing(path: &str, next: &str) -> String {
    format!("Error: The path {path} does not exist. {next}")
}

fn conflict(path: &str) -> String {
    format!(
        "Error: {path} was changed by others each time this was tried, and nothing was done; view \
         it and try again"
    )
}

fn too_many(directory: &Place, files: usize, files_max: usize) -> String {
    format!(
        "Error: {directory} holds {files} files, and at most {files_max} go at once; delete those \
         that are settled one by one first"
    )
}
