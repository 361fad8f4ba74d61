//! The format of a case: the parser of the YAML files in `cases/`. README.md shows the format by
//! example.
//!
//! Not here: running a case (`run`), filling in templates (`template`) and comparing replies
//! (`expect`).

use std::{
    collections::BTreeMap,
    fs,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;
use shared_context_core::ScopeKind;

mod raw;

/// The participant that creates, archives and deletes sessions.
pub const ADMIN: &str = "admin";
/// The default session of a step.
pub const MAIN: &str = "main";

/// One case: an initial state, and steps with their expected replies.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The promise, as a sentence.
    pub title: String,
    /// The sections of the specification that make it: `spec 3.3`.
    pub cites: Vec<String>,
    /// The sessions that exist at the start.
    #[serde(default = "main_session")]
    pub sessions: Vec<String>,
    /// The configuration of these sessions.
    pub config: Option<Value>,
    /// The encodings that the host must count tokens with.
    #[serde(default)]
    pub encodings: Vec<String>,
    /// The rate limit of each participant over HTTP; `None` for no limit.
    pub rate_limit: Option<RateLimit>,
    /// Restricts the case to hosts with in-process state (`true`) or without (`false`). It runs
    /// on both when `None`.
    pub is_kept: Option<bool>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// A session or project that a step names.
#[derive(Debug, Clone)]
pub struct ScopeName {
    /// Session or project.
    pub kind: ScopeKind,
    /// Its id, which may be a variable.
    pub id: String,
}

/// The rate limit of a participant.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// Sustained requests per second.
    pub per_second: NonZeroU32,
    /// Maximum burst of requests.
    pub burst: NonZeroU32,
}

fn main_session() -> Vec<String> {
    vec![MAIN.to_owned()]
}

/// One step: an instruction, executed once or for several values.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "raw::RawStep")]
pub struct Step {
    /// A loop variable and its values: a list, or the variable that holds one.
    pub each: Option<(String, Value)>,
    /// Number of repetitions; `$i` counts from 1.
    pub repeat: Option<u64>,
    /// The instruction to execute.
    pub instruction: Instruction,
}

/// The instruction of a step.
#[derive(Debug, Clone)]
pub enum Instruction {
    /// Sends a request to the JSON tool.
    Call(Box<ToolCall>),
    /// Sends an HTTP request.
    Http(Box<HttpCall>),
    /// Issues a credential and stores it in the variable `keep`.
    Keep {
        /// The participant that it is for.
        participant: String,
        /// The key patterns it is limited to; `None` for all keys.
        keys: Option<Value>,
        /// The session or project that it is for.
        scope: ScopeName,
        /// The name of the variable.
        keep: String,
    },
    /// Stops the system and starts it again over the same storage.
    Restart,
    /// Continues on a new, empty system.
    Elsewhere,
    /// Sets the clock to an instant (RFC 3339).
    Clock(String),
    /// Moves the clock by a duration, such as `-1h`.
    ClockStep(String),
    /// Makes the storage fail, or work again.
    Storage(Storage),
    /// Limits the encodings of the host to these.
    Encodings(Vec<String>),
    /// Checks the records that were logged since the last check.
    Logged(Vec<Value>),
    /// Executes several steps.
    Steps(Vec<Step>),
}

/// A request to the JSON tool and its expected reply.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The caller.
    pub participant: String,
    /// The key patterns the new credential is limited to; `None` for all keys.
    pub keys: Option<Value>,
    /// The session or project of the request.
    pub scope: ScopeName,
    /// The stored credential to send; `None` for a new one.
    pub credential: Option<String>,
    /// The request.
    pub request: Body,
    /// The expected reply.
    pub expectation: Expectation,
    /// Variables to save, each with the path of its value in the reply.
    pub save: BTreeMap<String, String>,
    /// The variable for the raw text of the reply.
    pub save_text: Option<String>,
}

/// An HTTP request and its expected response.
#[derive(Debug, Clone)]
pub struct HttpCall {
    /// Method and path: `GET /v1/sessions/main`.
    pub line: String,
    /// The participant whose credential is sent; `None` for no credential.
    pub participant: Option<String>,
    /// The key patterns the new credential is limited to; `None` for all keys.
    pub keys: Option<Value>,
    /// The session or project of the credential.
    pub scope: ScopeName,
    /// The stored credential to send; `None` for a new one.
    pub credential: Option<String>,
    /// Further request headers. A header with a list of values is sent once per value.
    pub headers: BTreeMap<String, Value>,
    /// The request body, if any.
    pub body: Option<Body>,
    /// The expected status.
    pub status: u16,
    /// The expected response headers.
    pub response_headers: BTreeMap<String, Value>,
    /// The expected body; `None` for any.
    pub expectation: Option<Expectation>,
    /// Variables to save, each with the path of its value: `status`, `headers.…`, `body.…`.
    pub save: BTreeMap<String, String>,
    /// The variable for the raw text of the body.
    pub save_text: Option<String>,
}

/// The body of a request: a JSON value, or exact text.
#[derive(Debug, Clone)]
pub enum Body {
    /// A JSON template with variables and generated texts.
    Json(Value),
    /// Text, or a list of parts, sent verbatim.
    Raw(Value),
}

/// An expected reply.
#[derive(Debug, Clone)]
pub enum Expectation {
    /// This value and no other member.
    Exact(Value),
    /// These members; others are allowed.
    Partial(Value),
    /// This text, byte for byte.
    Bytes(Value),
    /// An error that changes nothing.
    Error {
        /// Members of the error.
        error: Value,
        /// A code that applies as well, but has lower precedence.
        before: Option<String>,
    },
}

/// A behaviour of the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// No faults.
    Works,
    /// Every read fails.
    ReadsFail,
    /// Every commit fails.
    CommitsFail,
    /// A commit succeeds but reports a failure.
    AnswersLost,
    /// Every commit conflicts with a concurrent one.
    CommitsConflict,
}

impl Storage {
    /// All faults.
    pub const FAULTS: [Self; 4] =
        [Self::ReadsFail, Self::CommitsFail, Self::AnswersLost, Self::CommitsConflict];
}

impl Case {
    /// Returns every instruction of the case, including those nested in `steps`.
    pub fn instructions(&self) -> Vec<&Instruction> {
        fn collect<'a>(steps: &'a [Step], instructions: &mut Vec<&'a Instruction>) {
            for step in steps {
                instructions.push(&step.instruction);
                if let Instruction::Steps(steps) = &step.instruction {
                    collect(steps, instructions);
                }
            }
        }
        let mut instructions = Vec::new();
        collect(&self.steps, &mut instructions);
        instructions
    }

    /// Returns true if the case needs a target that speaks HTTP.
    pub fn needs_http(&self) -> bool {
        self.instructions().iter().any(|instruction| matches!(instruction, Instruction::Http(_)))
    }

    /// Returns true if the case sends a header twice and needs a target that receives both.
    pub fn needs_repeated_headers(&self) -> bool {
        self.instructions().iter().any(|instruction| match instruction {
            Instruction::Http(http) => http.headers.values().any(Value::is_array),
            _ => false,
        })
    }

    /// Returns true if the case needs a host whose encodings can be set.
    pub fn needs_other_encodings(&self) -> bool {
        self.instructions()
            .iter()
            .any(|instruction| matches!(instruction, Instruction::Encodings(_)))
    }

    /// Returns the storage faults that the target must support.
    pub fn needed_faults(&self) -> Vec<Storage> {
        let faults = self.instructions().into_iter().filter_map(|instruction| match instruction {
            Instruction::Storage(storage) => Some(*storage),
            _ => None,
        });
        faults.filter(|it| *it != Storage::Works).collect()
    }

    /// Returns whether the host must have in-process state. `None` allows both.
    pub fn needs_state(&self) -> Option<bool> {
        self.is_kept.or(self.rate_limit.map(|_| true))
    }

    /// Returns true if the case sets the clock or names an instant, so it needs a settable clock.
    pub fn needs_clock(&self) -> bool {
        self.steps.iter().any(Step::needs_clock)
    }
}

impl Step {
    fn needs_clock(&self) -> bool {
        self.each.as_ref().is_some_and(|(_, values)| contains_time(values))
            || match &self.instruction {
                Instruction::Clock(_) | Instruction::ClockStep(_) => true,
                Instruction::Steps(steps) => steps.iter().any(Self::needs_clock),
                Instruction::Call(call) => {
                    call.request.contains_time() || call.expectation.contains_time()
                }
                Instruction::Http(http) => {
                    http.body.as_ref().is_some_and(Body::contains_time)
                        || http.expectation.as_ref().is_some_and(Expectation::contains_time)
                        || http.response_headers.values().any(contains_time)
                }
                _ => false,
            }
    }
}

impl Body {
    fn contains_time(&self) -> bool {
        match self {
            Self::Json(it) | Self::Raw(it) => contains_time(it),
        }
    }
}

impl Expectation {
    fn contains_time(&self) -> bool {
        match self {
            Self::Exact(it) | Self::Partial(it) | Self::Bytes(it) => contains_time(it),
            Self::Error { error, .. } => contains_time(error),
        }
    }
}

/// Returns true if `value` contains an instant (RFC 3339).
fn contains_time(value: &Value) -> bool {
    // As in `2026-02-20T14:00:00Z`.
    let is_day = |text: &[u8]| match text {
        [year @ .., b'-', m1, m2, b'-', d1, d2, b'T'] => {
            year.iter().chain([m1, m2, d1, d2]).all(u8::is_ascii_digit)
        }
        _ => false,
    };
    match value {
        Value::String(text) => text.as_bytes().windows(11).any(is_day),
        Value::Array(items) => items.iter().any(contains_time),
        Value::Object(members) => members.values().any(contains_time),
        _ => false,
    }
}

/// Parses one case.
pub fn parse(text: &str) -> Result<Case, String> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|err| err.to_string())
}

/// Reads all cases below `folder`, each with its relative path, sorted by path.
pub fn read_all(folder: &Path) -> Result<Vec<(PathBuf, Case)>, String> {
    let mut paths = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let files = fs::read_dir(&folder).map_err(|err| format!("{}: {err}", folder.display()))?;
        for file in files {
            let path = file.map_err(|err| format!("{}: {err}", folder.display()))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "yaml") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).map_err(|err| err.to_string());
        let case = text.and_then(|text| parse(&text));
        let name = path.strip_prefix(folder).unwrap_or(&path).to_owned();
        case.map_err(|err| format!("cases/{}: {err}", name.display())).map(|case| (name, case))
    };
    paths.into_iter().map(read).collect()
}
