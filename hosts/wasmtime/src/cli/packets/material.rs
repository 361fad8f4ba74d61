//! Input of a packet besides the session: a conversation, files, and stated facts.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::super::{compact, file, problem::Problem};

/// The options for it.
#[derive(Debug, clap::Args)]
pub(super) struct Material {
    /// A transcript, a line of JSON per message; - for standard input
    #[arg(long, env = "SHARED_CONTEXT_CONVERSATION", value_name = "FILE")]
    conversation: Option<PathBuf>,
    /// Files that may matter; the packet names them by the paths as given
    #[arg(long, alias = "file", value_name = "PATH", num_args = 1..)]
    files: Vec<PathBuf>,
    /// A file with what you state yourself, a JSON object with members such as
    /// goal, constraints, decisions; - for standard input
    #[arg(long, env = "SHARED_CONTEXT_FACTS", value_name = "FILE")]
    facts: Option<PathBuf>,
}

impl Material {
    /// Returns the members of the request.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is not what it should be.
    pub(super) fn members(&self) -> Result<Map<String, Value>, Problem> {
        let named = self.conversation.iter().chain(&self.files).chain(&self.facts);
        file::check_standard_input(named)?;
        let mut members = Map::new();
        if let Some(path) = &self.conversation {
            members.insert("conversation".to_owned(), compact::transcript(path)?.items());
        }
        if !self.files.is_empty() {
            let files: Vec<Value> =
                self.files.iter().map(|it| text_of(it)).collect::<Result<_, _>>()?;
            members.insert("files".to_owned(), files.into());
        }
        if let Some(path) = &self.facts {
            members.insert("facts".to_owned(), facts(path)?);
        }
        Ok(members)
    }
}

/// Returns a file with its path and text.
fn text_of(path: &Path) -> Result<Value, Problem> {
    let text = file::read(path, "a file")?;
    Ok(json!({"path": path.to_string_lossy(), "text": text}))
}

/// Reads the JSON object with stated facts.
fn facts(path: &Path) -> Result<Value, Problem> {
    let text = file::read(path, "the facts")?;
    let facts: Option<Value> = serde_json::from_str(&text).ok().filter(Value::is_object);
    facts.ok_or_else(|| {
        Problem::usage(format!("{} is not a JSON object with facts", file::name(path))).next(
            r#"write it like {"constraints": ["Do not touch the registration."], "decisions": [{"choice": "JWT", "reason": "stateless"}]}"#,
        )
    })
}
