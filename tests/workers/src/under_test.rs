//! A client of the test module around the Worker (`js/under_test.mjs`).

use std::time::Duration;

use serde_json::{Map, Value, json};
use shared_context_system::Client;

/// The module around one Worker.
#[derive(Debug, Clone)]
pub struct UnderTest {
    client: Client,
}

/// The behaviour of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// Storage works.
    Works,
    /// Reads and writes fail.
    ReadsFail,
    /// Writes fail.
    CommitsFail,
    /// Writes are stored but reported as failed.
    AnswersLost,
    /// The stored revision differs from the one that the object has cached.
    CommitsConflict,
}

/// The moment in a request at which an object is aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// At its next statement.
    Statement,
    /// Before its next commit.
    BeforeCommit,
    /// After its next commit.
    AfterCommit,
}

/// Counts of the Worker's operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// SQL statements.
    pub statements: u64,
    /// Rows read.
    pub rows_read: u64,
    /// Rows written; setting an alarm counts as one.
    pub rows_written: u64,
    /// Calls to objects: HTTP requests, remote calls, alarms.
    pub requests: u64,
    /// The whole reply of the test module, for messages.
    pub reply: Value,
}

impl UnderTest {
    /// Creates a client of the module around the Worker that `client` calls.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Sends the command `what` to the module and returns its reply.
    ///
    /// # Errors
    ///
    /// The command failed. The error has the reason.
    pub fn try_tell(&self, what: &str, arguments: &Value) -> Result<Value, String> {
        let body = serde_json::to_vec(arguments).map_err(|it| it.to_string())?;
        let headers = [("content-type", "application/json")];
        let answer = self.client.try_send("POST", &format!("/-/{what}"), &headers, Some(&body));
        let answer = answer.map_err(|it| it.to_string())?;
        match answer.status {
            200 => serde_json::from_str(&answer.text).map_err(|it| it.to_string()),
            status => Err(format!("/-/{what}: {status} {}", answer.text)),
        }
    }

    /// Sends a command like [`UnderTest::try_tell`]. Panics if it fails.
    #[track_caller]
    pub fn tell(&self, what: &str, arguments: &Value) -> Value {
        self.try_tell(what, arguments).unwrap_or_else(|it| panic!("{it}"))
    }

    /// Sets the clock ahead of the real one, also for alarms.
    #[track_caller]
    pub fn set_ahead(&self, by: Duration) {
        self.tell("clock", &json!({"ahead": u64::try_from(by.as_millis()).unwrap()}));
    }

    /// Sets the behaviour of the storage of all objects.
    #[track_caller]
    pub fn storage(&self, storage: Storage) {
        self.tell("storage", &json!({"mode": storage.name()}));
    }

    /// Evicts all objects from memory.
    #[track_caller]
    pub fn evict(&self) {
        self.tell("evict", &json!({}));
    }

    /// Makes the Worker's WebAssembly trap when it next reads a clock.
    #[track_caller]
    pub fn poison(&self) {
        self.tell("poison", &json!({}));
    }

    /// Makes it trap when it reads a clock after the next statement of `object`.
    #[track_caller]
    pub fn poison_object(&self, object: &str) {
        self.tell("poison", &json!({"object": object}));
    }

    /// Withdraws a poison or an abort; returns true if it had not happened yet.
    #[track_caller]
    pub fn antidote(&self) -> bool {
        self.tell("antidote", &json!({}))["left"] == true
    }

    /// Aborts `object` in the middle of its next request.
    #[track_caller]
    pub fn abort(&self, object: &str, moment: Moment) {
        self.tell("abort", &json!({"object": object, "where": moment.name()}));
    }

    /// Counts what the Worker does while `work` runs.
    #[track_caller]
    pub fn count<T>(&self, work: impl FnOnce() -> T) -> (T, Counts) {
        self.tell("reset", &json!({}));
        let result = work();
        (result, Counts::parse(self.tell("counts", &json!({}))))
    }

    /// Returns the number of times that each object was constructed.
    #[track_caller]
    pub fn built(&self) -> Map<String, Value> {
        let objects = self.tell("objects", &json!({}));
        let built = objects["built"].as_object().unwrap().iter();
        built.map(|(name, it)| (name.clone(), it["times"].clone())).collect()
    }

    /// Returns the number of WebAssembly instances that have replaced a failed or bloated one.
    #[track_caller]
    pub fn instances(&self) -> u64 {
        self.tell("objects", &json!({}))["instances"].as_u64().unwrap()
    }

    /// Inspects the storage of `object`, constructing the object if necessary.
    #[track_caller]
    pub fn look(&self, object: &str) -> Value {
        self.tell("look", &json!({"object": object}))
    }

    /// Returns the events since the last reset, and the alarms that are set.
    #[track_caller]
    pub fn events(&self) -> Value {
        self.tell("deeds", &json!({}))
    }

    /// Returns when the alarm of `object` is set to, by the clock of the test.
    #[track_caller]
    pub fn alarm(&self, object: &str) -> Option<u64> {
        self.events()["alarms"][object].as_u64()
    }
}

impl Counts {
    fn parse(reply: Value) -> Self {
        let number = |name: &str| reply[name].as_u64().unwrap();
        let calls = reply["calls"].as_object().unwrap();
        Self {
            statements: number("statements"),
            rows_read: number("rows_read"),
            rows_written: number("rows_written") + number("alarms_set"),
            requests: calls.values().filter_map(Value::as_u64).sum(),
            reply,
        }
    }
}

impl Storage {
    /// Returns its name in the conformance suite's cases and in the test module.
    pub fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::ReadsFail => "reads_fail",
            Self::CommitsFail => "commits_fail",
            Self::AnswersLost => "answers_lost",
            Self::CommitsConflict => "commits_conflict",
        }
    }
}

impl Moment {
    fn name(self) -> &'static str {
        match self {
            Self::Statement => "statement",
            Self::BeforeCommit => "before_commit",
            Self::AfterCommit => "after_commit",
        }
    }
}
