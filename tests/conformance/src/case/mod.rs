//! The format of a case: what a YAML file in `cases/` may say, parsed and
//! checked. README.md shows it by example.
//!
//! Leaves out how a case is run (`run`), how texts are filled in (`template`)
//! and how replies are compared (`expect`). The build script reads cases with
//! this very module, so it depends on nothing else of this crate.

use std::{
    collections::BTreeMap,
    fs,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;
use shared_context_core::ScopeKind;

mod written;

/// The participant that runs the life of sessions.
pub const ADMIN: &str = "admin";
/// The session of a step that names none.
pub const MAIN: &str = "main";

/// One case: a short story with a start, steps, and what each must answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What is promised, as a sentence.
    pub title: String,
    /// The sections of the specification that promise it: `spec 3.3`.
    pub cites: Vec<String>,
    /// The sessions that exist at the start.
    #[serde(default = "main_session")]
    pub sessions: Vec<String>,
    /// The configuration they are created with.
    pub config: Option<Value>,
    /// The encodings that the host must count tokens with.
    #[serde(default)]
    pub encodings: Vec<String>,
    /// How many requests each participant may make over HTTP; any number when
    /// `None`.
    pub rate_limit: Option<RateLimit>,
    /// Whether it is told of hosts that remember one request at the next, or of those
    /// that do not; of both when `None`.
    pub is_kept: Option<bool>,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// A session or project that a step names.
#[derive(Debug, Clone)]
pub struct Place {
    /// Which of the two.
    pub kind: ScopeKind,
    /// Its id, which may be a variable.
    pub id: String,
}

/// How many requests a participant may make.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// Requests a second, in the long run.
    pub per_second: NonZeroU32,
    /// Requests at once.
    pub burst: NonZeroU32,
}

fn main_session() -> Vec<String> {
    vec![MAIN.to_owned()]
}

/// One step: a deed, done once or, with other values, several times.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "written::RawStep")]
pub struct Step {
    /// A variable and the values it takes, one after the other: a list, or the
    /// variable that holds it.
    pub each: Option<(String, Value)>,
    /// How often; `$i` counts from 1.
    pub repeat: Option<u64>,
    /// What is done.
    pub deed: Deed,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum Deed {
    /// Sends a request of the JSON tool.
    Call(Box<Call>),
    /// Sends a request of HTTP.
    Http(Box<Http>),
    /// Takes a credential and keeps it in the variable `keep`.
    Keep {
        /// For whom.
        participant: String,
        /// The list of the only keys it is for; all keys when `None`.
        keys: Option<Value>,
        /// Of which session or project.
        scope: Place,
        /// The variable's name.
        keep: String,
    },
    /// Stops the system and starts it again over the same storage.
    Restart,
    /// Goes on with another system, with nothing in it.
    Elsewhere,
    /// Sets the clock to an instant (RFC 3339).
    Clock(String),
    /// Moves the clock by a duration, such as `-1h`.
    ClockStep(String),
    /// Lets the storage fail, or work again.
    Storage(Storage),
    /// Runs the system where tokens are counted with these encodings only.
    Encodings(Vec<String>),
    /// Looks at the records given to the log since the last look.
    Logged(Vec<Value>),
    /// Does several steps.
    Steps(Vec<Step>),
}

/// A request of the JSON tool and what must come back.
#[derive(Debug, Clone)]
pub struct Call {
    /// Who calls.
    pub participant: String,
    /// The list of the only keys the new credential is for; all keys when `None`.
    pub keys: Option<Value>,
    /// On which session or project.
    pub scope: Place,
    /// The kept credential to show; a new one when `None`.
    pub credential: Option<String>,
    /// What is sent.
    pub request: Body,
    /// What must come back.
    pub expectation: Expectation,
    /// Variables, and where in the reply their values are.
    pub save: BTreeMap<String, String>,
    /// The variable that takes the reply as the text it is.
    pub save_text: Option<String>,
}

/// A request of HTTP and what must come back.
#[derive(Debug, Clone)]
pub struct Http {
    /// Method and target: `GET /v1/sessions/main`.
    pub line: String,
    /// Whose credential is sent; no credential when `None`.
    pub participant: Option<String>,
    /// The list of the only keys the new credential is for; all keys when `None`.
    pub keys: Option<Value>,
    /// Of which session or project the credential is.
    pub scope: Place,
    /// The kept credential to show; a new one when `None`.
    pub credential: Option<String>,
    /// Further request headers; a list of values is a header sent as often.
    pub headers: BTreeMap<String, Value>,
    /// The request body, if any.
    pub body: Option<Body>,
    /// The status that must come back.
    pub status: u16,
    /// Response headers that must come back.
    pub response_headers: BTreeMap<String, Value>,
    /// The body that must come back; any when `None`.
    pub expectation: Option<Expectation>,
    /// Variables, and where their values are: `status`, `headers.…`, `body.…`.
    pub save: BTreeMap<String, String>,
    /// The variable that takes the body as the text it is.
    pub save_text: Option<String>,
}

/// What is sent: a JSON value, or exact text.
#[derive(Debug, Clone)]
pub enum Body {
    /// A JSON value with variables and generated texts.
    Json(Value),
    /// Text, or a list of parts, sent as it is.
    Raw(Value),
}

/// What must come back.
#[derive(Debug, Clone)]
pub enum Expectation {
    /// This value and no other member.
    Exact(Value),
    /// These members; others may be there.
    Partial(Value),
    /// This text, byte for byte.
    Bytes(Value),
    /// A refusal, after which nothing has changed.
    Refusal {
        /// Members of the error.
        error: Value,
        /// A code that applies as well, but comes later in the order.
        before: Option<String>,
    },
}

/// How the storage behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// As it should.
    Works,
    /// Nothing can be read.
    ReadsFail,
    /// Nothing can be committed.
    CommitsFail,
    /// A commit happens, but its answer is lost.
    AnswersLost,
    /// Every commit meets another one that was faster.
    CommitsConflict,
}

impl Storage {
    /// Every way to fail.
    pub const FAULTS: [Self; 4] =
        [Self::ReadsFail, Self::CommitsFail, Self::AnswersLost, Self::CommitsConflict];
}

impl Case {
    /// Returns every deed of the case, those inside of `steps` included.
    pub fn deeds(&self) -> Vec<&Deed> {
        fn collect<'a>(steps: &'a [Step], deeds: &mut Vec<&'a Deed>) {
            for step in steps {
                deeds.push(&step.deed);
                if let Deed::Steps(steps) = &step.deed {
                    collect(steps, deeds);
                }
            }
        }
        let mut deeds = Vec::new();
        collect(&self.steps, &mut deeds);
        deeds
    }

    /// Returns whether the case can only be told in HTTP.
    pub fn needs_http(&self) -> bool {
        self.deeds().iter().any(|deed| matches!(deed, Deed::Http(_)))
    }

    /// Returns whether the case sends a header twice, and needs a target that sees it.
    pub fn needs_repeated_headers(&self) -> bool {
        self.deeds().iter().any(|deed| match deed {
            Deed::Http(http) => http.headers.values().any(Value::is_array),
            _ => false,
        })
    }

    /// Returns whether the case needs a host that loses encodings on demand.
    pub fn needs_other_encodings(&self) -> bool {
        self.deeds().iter().any(|deed| matches!(deed, Deed::Encodings(_)))
    }

    /// Returns the ways in which the storage must be able to fail on demand.
    pub fn needed_faults(&self) -> Vec<Storage> {
        let faults = self.deeds().into_iter().filter_map(|deed| match deed {
            Deed::Storage(storage) => Some(*storage),
            _ => None,
        });
        faults.filter(|it| *it != Storage::Works).collect()
    }

    /// Returns whether the host must remember one request at the next, or must not; either when
    /// `None`.
    pub fn needs_kept(&self) -> Option<bool> {
        self.is_kept.or(self.rate_limit.map(|_| true))
    }

    /// Returns whether the case needs a clock that can be set: it sets it, or names an instant.
    pub fn needs_clock(&self) -> bool {
        self.steps.iter().any(Step::needs_clock)
    }
}

impl Step {
    fn needs_clock(&self) -> bool {
        self.each.as_ref().is_some_and(|(_, values)| tells_time(values))
            || match &self.deed {
                Deed::Clock(_) | Deed::ClockStep(_) => true,
                Deed::Steps(steps) => steps.iter().any(Self::needs_clock),
                Deed::Call(call) => call.request.tells_time() || call.expectation.tells_time(),
                Deed::Http(http) => {
                    http.body.as_ref().is_some_and(Body::tells_time)
                        || http.expectation.as_ref().is_some_and(Expectation::tells_time)
                        || http.response_headers.values().any(tells_time)
                }
                _ => false,
            }
    }
}

impl Body {
    fn tells_time(&self) -> bool {
        match self {
            Self::Json(it) | Self::Raw(it) => tells_time(it),
        }
    }
}

impl Expectation {
    fn tells_time(&self) -> bool {
        match self {
            Self::Exact(it) | Self::Partial(it) | Self::Bytes(it) => tells_time(it),
            Self::Refusal { error, .. } => tells_time(error),
        }
    }
}

/// Returns whether there is an instant (RFC 3339) in `value`.
fn tells_time(value: &Value) -> bool {
    // As in `2026-02-20T14:00:00Z`.
    let is_day = |text: &[u8]| match text {
        [year @ .., b'-', m1, m2, b'-', d1, d2, b'T'] => {
            year.iter().chain([m1, m2, d1, d2]).all(u8::is_ascii_digit)
        }
        _ => false,
    };
    match value {
        Value::String(text) => text.as_bytes().windows(11).any(is_day),
        Value::Array(items) => items.iter().any(tells_time),
        Value::Object(members) => members.values().any(tells_time),
        _ => false,
    }
}

/// Reads one case.
pub fn parse(text: &str) -> Result<Case, String> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|err| err.to_string())
}

/// Reads all cases below `folder`, with their paths in it, in order.
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
