//! Scripts: what happens in a world, step by step, written out so that nothing is
//! left to chance. A seed makes one, `--script` plays one, the shrinker makes it
//! small.
//!
//! Invariant: any part of a script is a script; what a step says depends on no
//! other step.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What happens in a world, from its beginning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// How storage reads.
    pub storage: Storage,
    /// What is broken on purpose, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<String>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// How storage reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// A bucket is read as it was when it was opened, as in `SQLite`.
    Snapshots,
    /// Who reads a bucket that changed is told so, as on Spin.
    Moving,
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Somebody asks.
    Ask(Box<Ask>),
    /// The timer of a session rings: what expired is to be removed.
    Wake {
        /// Whose.
        session: String,
        /// What happens meanwhile.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        during: Vec<Event>,
    },
    /// The clock is set forward or back by milliseconds.
    ClockMs(i64),
    /// All goes on over other storage, with nothing in it.
    Elsewhere(bool),
    /// Everything is compared, for everyone.
    Compare(bool),
}

/// A request of the JSON tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// The participant.
    #[serde(rename = "as")]
    pub participant: String,
    /// The keys that its credential is limited to; all keys when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// Incarnation and epoch of the credential that is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<(u64, u64)>,
    /// On which session.
    pub session: String,
    /// What is sent.
    #[serde(flatten)]
    pub request: Request,
    /// What happens meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub during: Vec<Event>,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// A request.
    Call(Value),
    /// Text that is no request, and the code that it is refused with.
    Raw {
        /// The text; bytes that are no text are written in hexadecimal digits after
        /// `hex:`.
        text: String,
        /// The code.
        refused: String,
    },
}

/// Something that happens while a request is performed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// At which of the calls that the request makes of its host.
    pub at: At,
    /// What happens then.
    #[serde(rename = "do")]
    pub deed: Deed,
}

/// A call of one request of its host: the nth of its kind, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct At(pub Call, pub u32);

/// What a request calls its host for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// To open a bucket.
    Open,
    /// For the time.
    Clock,
    /// To read a row, or some.
    Read,
    /// To commit.
    Commit,
    /// To take an audit record.
    Log,
    /// To take the answer.
    Answer,
}

/// What happens at a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Deed {
    /// It fails, and nothing happens.
    Fail,
    /// A commit happens, but its answer is lost.
    LoseAnswer,
    /// A commit meets another one that was faster; there need not have been one.
    Conflict,
    /// A read is told that the bucket has changed; it need not have.
    Move,
    /// The instance ends just before it.
    Kill,
    /// The instance ends just after the commit.
    KillAfter,
    /// It takes this long.
    SlowMs(u32),
    /// The clock is set forward or back.
    ClockMs(i64),
    /// This and all later calls of the bucket that is open fail.
    Disconnect,
    /// Storage is away: so many calls of it fail, whoever makes them.
    Away(u32),
    /// Something else happens, from its beginning to its end.
    Meanwhile(Step),
}

impl Step {
    /// Returns what happens during the step.
    pub fn during(&self) -> &[Event] {
        match self {
            Self::Ask(ask) => &ask.during,
            Self::Wake { during, .. } => during,
            _ => &[],
        }
    }

    /// Returns the same, to be changed.
    pub fn during_mut(&mut self) -> Option<&mut Vec<Event>> {
        match self {
            Self::Ask(ask) => Some(&mut ask.during),
            Self::Wake { during, .. } => Some(during),
            _ => None,
        }
    }

    /// Returns how many steps it is, with those that happen during it.
    pub fn count(&self) -> usize {
        let inner = self.during().iter().map(|it| match &it.deed {
            Deed::Meanwhile(step) => step.count(),
            _ => 0,
        });
        1 + inner.sum::<usize>()
    }
}

impl Script {
    /// Returns how many steps there are, with those that happen during others.
    pub fn count(&self) -> usize {
        self.steps.iter().map(Step::count).sum()
    }

    /// Returns how many faults there are in it.
    pub fn faults(&self) -> usize {
        fn of(step: &Step) -> usize {
            let faults = step.during().iter().map(|it| match &it.deed {
                Deed::Meanwhile(step) => of(step),
                _ => 1,
            });
            faults.sum()
        }
        self.steps.iter().map(of).sum()
    }
}

impl Ask {
    /// Returns who asks, as the model knows it.
    pub fn who(&self) -> String {
        match self.keys.as_slice() {
            [] => self.participant.clone(),
            keys => format!("{} only {}", self.participant, keys.join(",")),
        }
    }

    /// Returns the bytes that are sent.
    pub fn bytes(&self) -> Vec<u8> {
        match &self.request {
            Request::Call(call) => call.to_string().into_bytes(),
            Request::Raw { text, .. } => match text.strip_prefix("hex:") {
                Some(digits) => bytes_of(digits).unwrap_or_default(),
                None => text.clone().into_bytes(),
            },
        }
    }

    /// Returns the action that is asked for, if it is one.
    pub fn action(&self) -> &str {
        match &self.request {
            Request::Call(call) => call.get("action").and_then(Value::as_str).unwrap_or_default(),
            Request::Raw { .. } => "(no request)",
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

    /// Returns its name.
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

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.as_str(), self.1)
    }
}

impl From<At> for String {
    fn from(it: At) -> Self {
        it.to_string()
    }
}

impl TryFrom<String> for At {
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

impl Deed {
    /// Returns the name it is counted under.
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
