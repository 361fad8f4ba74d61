//! Scripts: the steps of a world, written out so that nothing depends on chance. A seed generates
//! one, `--script` plays one, and the shrinker minimizes one.
//!
//! Invariant: any part of a script is a script. The meaning of a step depends on no other step.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The steps of a world, from its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The storage mode.
    pub storage: Storage,
    /// The name of the canary, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<String>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// The storage mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// Reads see the bucket as it was when it was opened, as in `SQLite`.
    Snapshots,
    /// Reads of a changed bucket report that it moved, as on Spin.
    Moving,
}

/// A step of a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// A request.
    Ask(Box<Request>),
    /// A request to the project, by a participant of the named session, or of no session if the
    /// name is empty. A text of `#` and a number is replaced by the id of a memory.
    Project(Box<Request>),
    /// The timer of a session fires, to remove expired entries.
    Wake {
        /// The session.
        session: String,
        /// The events during it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        during: Vec<Event>,
    },
    /// The clock moves by milliseconds, forward or back.
    ClockMs(i64),
    /// The world continues over new, empty storage.
    Elsewhere(bool),
    /// Compares all sessions with the model, for every caller.
    Compare(bool),
}

/// A request of the JSON tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The participant.
    #[serde(rename = "as")]
    pub participant: String,
    /// The keys that the credential is limited to; empty for all keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// Incarnation and epoch of the credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<(u64, u64)>,
    /// The session.
    pub session: String,
    /// The body of a request.
    #[serde(flatten)]
    pub payload: Payload,
    /// The events during it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub during: Vec<Event>,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// A valid request.
    Call(Value),
    /// Invalid text, and the code that it is rejected with.
    Raw {
        /// The text. Bytes that are not UTF-8 are written as hexadecimal digits after `hex:`.
        text: String,
        /// The error code.
        refused: String,
    },
}

/// An event during a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The call of the host at which it happens.
    pub at: NthCall,
    /// The kind of event.
    #[serde(rename = "do")]
    pub kind: EventKind,
}

/// A request's nth call of one kind to its host, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NthCall(pub Call, pub u32);

/// Kinds of calls that a request makes to its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// Opens a bucket.
    Open,
    /// Reads the clock.
    Clock,
    /// Reads one row or several.
    Read,
    /// Commits.
    Commit,
    /// Logs an audit record.
    Log,
    /// Returns the answer.
    Answer,
}

/// Kinds of events at a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EventKind {
    /// The call fails without effect.
    Fail,
    /// The commit happens, but its answer is lost.
    LoseAnswer,
    /// The commit reports a conflict, even without a competing commit.
    Conflict,
    /// The read reports that the bucket moved, even if it did not.
    Move,
    /// The instance is killed before the call.
    Kill,
    /// The instance is killed after the commit.
    KillAfter,
    /// The call takes this many milliseconds.
    SlowMs(u32),
    /// The clock moves by milliseconds, forward or back.
    ClockMs(i64),
    /// This and all later calls to the open bucket fail.
    Disconnect,
    /// This number of following storage calls fail, for any request.
    Away(u32),
    /// Another step runs from start to end.
    Meanwhile(Step),
}

impl Step {
    /// Returns the events during the step.
    pub fn during(&self) -> &[Event] {
        match self {
            Self::Ask(request) | Self::Project(request) => &request.during,
            Self::Wake { during, .. } => during,
            _ => &[],
        }
    }

    /// Returns the events during the step, for changes.
    pub fn during_mut(&mut self) -> Option<&mut Vec<Event>> {
        match self {
            Self::Ask(request) | Self::Project(request) => Some(&mut request.during),
            Self::Wake { during, .. } => Some(during),
            _ => None,
        }
    }

    /// Returns the number of steps, including nested ones.
    pub fn count(&self) -> usize {
        let inner = self.during().iter().map(|it| match &it.kind {
            EventKind::Meanwhile(step) => step.count(),
            _ => 0,
        });
        1 + inner.sum::<usize>()
    }
}

impl Script {
    /// Returns the number of steps, including nested ones.
    pub fn count(&self) -> usize {
        self.steps.iter().map(Step::count).sum()
    }

    /// Returns the number of faults.
    pub fn faults(&self) -> usize {
        fn of(step: &Step) -> usize {
            let faults = step.during().iter().map(|it| match &it.kind {
                EventKind::Meanwhile(step) => of(step),
                _ => 1,
            });
            faults.sum()
        }
        self.steps.iter().map(of).sum()
    }
}

impl Request {
    /// Returns the caller in the model's form.
    pub fn who(&self) -> String {
        match self.keys.as_slice() {
            [] => self.participant.clone(),
            keys => format!("{} only {}", self.participant, keys.join(",")),
        }
    }

    /// Returns the body.
    pub fn bytes(&self) -> Vec<u8> {
        match &self.payload {
            Payload::Call(call) => call.to_string().into_bytes(),
            Payload::Raw { text, .. } => match text.strip_prefix("hex:") {
                Some(digits) => bytes_of(digits).unwrap_or_default(),
                None => text.clone().into_bytes(),
            },
        }
    }

    /// Returns the action's name, or a placeholder for an invalid request.
    pub fn action(&self) -> &str {
        match &self.payload {
            Payload::Call(call) => call.get("action").and_then(Value::as_str).unwrap_or_default(),
            Payload::Raw { .. } => "(no request)",
        }
    }
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let bytes = digits.split_whitespace().map(|it| u8::from_str_radix(it, 16));
    bytes.collect::<Result<_, _>>().ok()
}

impl Call {
    /// Every kind of call.
    pub const ALL: [Self; 6] =
        [Self::Open, Self::Clock, Self::Read, Self::Commit, Self::Log, Self::Answer];

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Clock => "clock",
            Self::Read => "read",
            Self::Commit => "commit",
            Self::Log => "log",
            Self::Answer => "answer",
        }
    }
}

impl fmt::Display for NthCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.as_str(), self.1)
    }
}

impl From<NthCall> for String {
    fn from(it: NthCall) -> Self {
        it.to_string()
    }
}

impl TryFrom<String> for NthCall {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (call, nth) = text.split_once(' ').unwrap_or((&text, "1"));
        let call = Call::ALL.into_iter().find(|it| it.as_str() == call);
        match (call, nth.parse()) {
            (Some(call), Ok(nth)) => Ok(Self(call, nth)),
            _ => Err(format!("`{text}` is no call; write for example `commit 1`")),
        }
    }
}

impl EventKind {
    /// Returns the name for statistics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fail => "fails",
            Self::LoseAnswer => "happens, answer lost",
            Self::Conflict => "conflict",
            Self::Move => "told to have moved",
            Self::Kill => "instance killed",
            Self::KillAfter => "instance killed after the commit",
            Self::SlowMs(_) => "slow",
            Self::ClockMs(by) if *by < 0 => "clock set back",
            Self::ClockMs(_) => "clock set forward",
            Self::Disconnect => "connection lost",
            Self::Away(_) => "storage away",
            Self::Meanwhile(_) => "another request meanwhile",
        }
    }
}
