//! Refusals, as they leave the rules: a code, a message, and further members.

use std::{borrow::Cow, fmt};

use serde::Serialize;
use serde_json::{Map, Value};
use shared_context_core::{Error, error::StoreLimit};

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// For programs: stable, in capitals.
    pub code: Cow<'static, str>,
    /// For people and agents: what is wrong and what to do next.
    pub message: String,
    /// Further members of the error: the text of a JSON object.
    pub details: Option<String>,
}

impl Failure {
    /// A refusal without further members.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), details: None }
    }

    /// The refusal as the tool answers it: `{"error": {"code", "message", …}}`.
    pub fn to_json(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Envelope<'a> {
            error: Refusal<'a>,
        }
        #[derive(Serialize)]
        struct Refusal<'a> {
            code: &'a str,
            message: &'a str,
            #[serde(flatten)]
            details: Map<String, Value>,
        }
        let error =
            Refusal { code: &self.code, message: &self.message, details: self.details_map() };
        serde_json::to_vec(&Envelope { error }).unwrap_or_default()
    }

    /// The further members, empty when there are none.
    pub fn details_map(&self) -> Map<String, Value> {
        let details = self.details.as_deref();
        details.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Failure {}

/// The further members that refusals have, each some of them.
#[derive(Default, Serialize)]
struct Members<'a> {
    /// Of every refusal of a batch: the key of the change it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    largest: Option<Vec<Largest<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_revision: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
}

/// One of the largest entries of a full store.
#[derive(Serialize)]
struct Largest<'a> {
    key: &'a str,
    value_size_tokens: u32,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let details = details(&error);
        Self { code: error.code().as_str().into(), message: error.to_string(), details }
    }
}

/// The further members of a refusal.
fn details(error: &Error) -> Option<String> {
    let (key, error) = match error {
        Error::InBatch { key, error } => (Some(key.as_str()), &**error),
        error => (None, error),
    };
    let members = match error {
        Error::DocumentAltered { place } => Members { place: Some(place), ..Members::default() },
        Error::ChangesTruncated { oldest, revision } => {
            Members { oldest: Some(oldest.0), revision: Some(revision.0), ..Members::default() }
        }
        Error::SnapshotLimit { snapshots_max } => {
            Members { limit: Some(*snapshots_max), ..Members::default() }
        }
        Error::ValueTooLarge { tokens, tokens_max } => {
            Members { limit: Some(tokens_max.0), actual: Some(tokens.0), ..Members::default() }
        }
        Error::VersionConflict { current_version, current_revision, .. } => Members {
            current_version: Some(*current_version),
            current_revision: Some(*current_revision),
            ..Members::default()
        },
        Error::StoreFull { over, largest } => {
            let (limit, actual, unit) = match over {
                StoreLimit::Tokens { tokens, tokens_max } => (tokens_max.0, tokens.0, "tokens"),
                StoreLimit::Keys { keys, keys_max } => (*keys_max, *keys, "keys"),
            };
            let largest = largest
                .iter()
                .map(|(key, tokens)| Largest { key: key.as_str(), value_size_tokens: tokens.0 });
            Members {
                limit: Some(limit),
                actual: Some(actual),
                unit: Some(unit),
                largest: Some(largest.collect()),
                ..Members::default()
            }
        }
        _ if key.is_some() => Members::default(),
        _ => return None,
    };
    serde_json::to_string(&Members { key, ..members }).ok()
}
