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
            error: Members<'a>,
        }
        #[derive(Serialize)]
        struct Members<'a> {
            code: &'a str,
            message: &'a str,
            #[serde(flatten)]
            details: Map<String, Value>,
        }
        let error =
            Members { code: &self.code, message: &self.message, details: self.details_map() };
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

/// The further members of `VALUE_TOO_LARGE`.
#[derive(Serialize)]
struct TooLarge {
    limit: u32,
    actual: u32,
}

/// The further members of `VERSION_CONFLICT`.
#[derive(Serialize)]
struct Conflict {
    current_version: u64,
    current_revision: u64,
}

/// The further members of `STORE_FULL`.
#[derive(Serialize)]
struct Full<'a> {
    limit: u32,
    actual: u32,
    unit: &'static str,
    largest: Vec<Largest<'a>>,
}

/// One of the largest entries of a full store.
#[derive(Serialize)]
struct Largest<'a> {
    key: &'a str,
    value_size_tokens: u32,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let details = match &error {
            Error::ValueTooLarge { tokens, tokens_max } => {
                serde_json::to_string(&TooLarge { limit: tokens_max.0, actual: tokens.0 }).ok()
            }
            Error::VersionConflict { current_version, current_revision, .. } => {
                let (current_version, current_revision) = (*current_version, *current_revision);
                serde_json::to_string(&Conflict { current_version, current_revision }).ok()
            }
            Error::StoreFull { over, largest } => {
                let (limit, actual, unit) = match over {
                    StoreLimit::Tokens { tokens, tokens_max } => (tokens_max.0, tokens.0, "tokens"),
                    StoreLimit::Keys { keys, keys_max } => (*keys_max, *keys, "keys"),
                };
                let largest = largest.iter().map(|(key, tokens)| Largest {
                    key: key.as_str(),
                    value_size_tokens: tokens.0,
                });
                let largest = largest.collect();
                serde_json::to_string(&Full { limit, actual, unit, largest }).ok()
            }
            _ => None,
        };
        Self { code: error.code().as_str().into(), message: error.to_string(), details }
    }
}
