//! Errors as the tool returns them: a code, a message, and further members.

use std::{borrow::Cow, fmt};

use serde::Serialize;
use serde_json::{Map, Value};
use shared_context_core::{
    Error,
    error::StoreLimit,
    rounds::{RoundError, RoundLimit},
};

/// Most characters of an invalid key that an error repeats.
const KEY_SHOWN_CHARS_MAX: usize = 80;

/// Error of a rejected request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Stable code for programs, in capitals.
    pub code: Cow<'static, str>,
    /// Message for people and agents: the cause, and the next step.
    pub message: String,
    /// Further members of the error, as the text of a JSON object.
    pub details: Option<String>,
}

impl Failure {
    /// Creates a failure without further members.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), details: None }
    }

    /// Returns the failure as the tool's JSON: `{"error": {"code", "message", …}}`.
    pub fn to_json(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Envelope<'a> {
            error: ErrorBody<'a>,
        }
        #[derive(Serialize)]
        struct ErrorBody<'a> {
            code: &'a str,
            message: &'a str,
            #[serde(flatten)]
            details: Map<String, Value>,
        }
        let error =
            ErrorBody { code: &self.code, message: &self.message, details: self.details_map() };
        serde_json::to_vec(&Envelope { error }).unwrap_or_default()
    }

    /// Returns the further members; empty when there are none.
    pub fn details_map(&self) -> Map<String, Value> {
        let details = self.details.as_deref();
        details.and_then(|text| serde_json::from_slice(text.as_bytes()).ok()).unwrap_or_default()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Failure {}

/// Further members of an error. Each error sets some of them.
#[derive(Default, Serialize)]
struct Members<'a> {
    /// Key of the change that an error in a batch is about, or the invalid key.
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
    /// Position in the proposal, from 1, of the delta that an error is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<usize>,
    /// Sequence of the delta of the open round that an error is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_round: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_revision: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
}

/// A part that the caller can remove to make room.
#[derive(Serialize)]
#[serde(untagged)]
enum Largest<'a> {
    /// One of the largest entries of a full store.
    Entry { key: &'a str, value_size_tokens: u32 },
    /// One of the largest parts of a round state.
    Part { path: &'a str },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let details = details(&error);
        Self { code: error.code().as_str().into(), message: error.to_string(), details }
    }
}

/// Returns the further members of an error as JSON text.
fn details(error: &Error) -> Option<String> {
    let (key, delta, error) = match error {
        Error::InBatch { key, error } => (Some(key.as_str()), None, &**error),
        Error::Round(RoundError::InProposal { nth, error }) => (None, Some(*nth), &**error),
        error => (None, None, error),
    };
    let members = match error {
        Error::InvalidKey { key, .. } => Members { key: Some(shown(key)), ..Members::default() },
        Error::DocumentAltered { place } => Members { place: Some(place), ..Members::default() },
        Error::ChangesTruncated { oldest, revision } => {
            Members { oldest: Some(oldest.0), revision: Some(revision.0), ..Members::default() }
        }
        Error::SnapshotLimit { snapshots_max, .. } => {
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
        Error::MemoryConflict { current_version, .. }
        | Error::SectionConflict { current_version, .. } => {
            Members { current_version: Some(u64::from(*current_version)), ..Members::default() }
        }
        Error::CoordinationConflict { current_version } => {
            Members { current_version: Some(*current_version), ..Members::default() }
        }
        Error::StoreFull { over, largest, .. } => {
            let short = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
            let (limit, actual, unit) = match over {
                StoreLimit::Document { bytes, bytes_max } => {
                    (short(*bytes_max), short(*bytes), "bytes")
                }
                StoreLimit::Tokens { tokens, tokens_max } => (tokens_max.0, tokens.0, "tokens"),
                StoreLimit::Keys { keys, keys_max } => (*keys_max, *keys, "keys"),
            };
            let largest = largest.iter().map(|(key, tokens)| Largest::Entry {
                key: key.as_str(),
                value_size_tokens: tokens.0,
            });
            Members {
                limit: Some(limit),
                actual: Some(actual),
                unit: Some(unit),
                largest: Some(largest.collect()),
                ..Members::default()
            }
        }
        Error::Round(error) => round_members(error),
        _ => Members::default(),
    };
    let key = key.or(members.key);
    let members = serde_json::to_string(&Members { key, delta, ..members }).ok();
    members.filter(|it| it != "{}")
}

/// Returns the start of an invalid key, which can be as long as a request.
fn shown(key: &str) -> &str {
    let end = key.char_indices().nth(KEY_SHOWN_CHARS_MAX).map_or(key.len(), |it| it.0);
    key.get(..end).unwrap_or_default()
}

/// Returns the further members of an error about rounds.
fn round_members(error: &RoundError) -> Members<'_> {
    let members = Members::default();
    match error {
        RoundError::Open { round } => Members { round: Some(*round), ..members },
        RoundError::NotOpen { last } => Members { last_round: Some(*last), ..members },
        RoundError::NotFound { round, oldest, newest } => {
            Members { round: Some(*round), oldest: Some(*oldest), newest: Some(*newest), ..members }
        }
        RoundError::DeltaNotFound { round, sequence, .. } => {
            Members { round: Some(*round), sequence: Some(*sequence), ..members }
        }
        RoundError::NotOwn { sequence, .. } => Members { sequence: Some(*sequence), ..members },
        RoundError::PathNotFound { path, .. } | RoundError::PathExists { path } => {
            Members { path: Some(path), ..members }
        }
        RoundError::IdentityConflict { path, bound_to } => {
            Members { path: Some(path), bound_to: Some(bound_to), ..members }
        }
        RoundError::Full { over } => {
            let (limit, actual, unit) = match over {
                RoundLimit::Deltas { deltas, deltas_max }
                | RoundLimit::OwnDeltas { deltas, deltas_max } => (*deltas_max, *deltas, "deltas"),
                RoundLimit::Bytes { bytes, bytes_max }
                | RoundLimit::OwnBytes { bytes, bytes_max } => (*bytes_max, *bytes, "bytes"),
            };
            Members { limit: Some(limit), actual: Some(actual), unit: Some(unit), ..members }
        }
        RoundError::StateTooLarge { bytes, bytes_max, largest } => Members {
            limit: Some(*bytes_max),
            actual: Some(*bytes),
            unit: Some("bytes"),
            largest: Some(largest.iter().map(|path| Largest::Part { path }).collect()),
            ..members
        },
        RoundError::TooManyParts { parts, parts_max } => Members {
            limit: Some(*parts_max),
            actual: Some(*parts),
            unit: Some("parts"),
            ..members
        },
        // A path's fault is described in the message only; the caller has unwrapped `InProposal`.
        _ => members,
    }
}
