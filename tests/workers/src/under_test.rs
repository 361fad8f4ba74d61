//! What tests tell the module around the Worker (`js/under_test.mjs`).

use std::time::Duration;

use serde_json::{Map, Value, json};
use shared_context_system::Client;

/// The module around one Worker.
#[derive(Debug, Clone)]
pub struct UnderTest {
    client: Client,
}

/// How storage behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// As it should.
    Works,
    /// Nothing can be read, nor written.
    ReadsFail,
    /// Nothing can be written.
    CommitsFail,
    /// What is written is kept, and the writer told that it failed.
    AnswersLost,
    /// The stored revision is another than the object believes.
    CommitsConflict,
}

/// When an object is ended in the middle of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// At its next statement.
    Statement,
    /// Before its next commit.
    BeforeCommit,
    /// After it.
    AfterCommit,
}

/// What the Worker did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Statements of SQL.
    pub statements: u64,
    /// Rows they read.
    pub rows_read: u64,
    /// Rows they wrote; setting an alarm is one more.
    pub rows_written: u64,
    /// Calls of objects: HTTP requests, remote calls, alarms.
    pub requests: u64,
    /// All that was told, for messages.
    pub told: Value,
}

impl UnderTest {
    /// Creates that of the Worker that `client` calls.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Has the module do `what`.
    ///
    /// # Errors
    ///
    /// It does not, and says why.
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

    /// As [`UnderTest::try_tell`], which must be done.
    #[track_caller]
    pub fn tell(&self, what: &str, arguments: &Value) -> Value {
        self.try_tell(what, arguments).unwrap_or_else(|it| panic!("{it}"))
    }

    /// Sets the clock ahead of the real one. Alarms come by it.
    #[track_caller]
    pub fn set_ahead(&self, by: Duration) {
        self.tell("clock", &json!({"ahead": u64::try_from(by.as_millis()).unwrap()}));
    }

    /// Lets the storage of all objects behave as told.
    #[track_caller]
    pub fn storage(&self, storage: Storage) {
        self.tell("storage", &json!({"mode": storage.name()}));
    }

    /// Takes all objects out of memory.
    #[track_caller]
    pub fn evict(&self) {
        self.tell("evict", &json!({}));
    }

    /// Lets the Worker's WebAssembly fail when it next looks at a clock.
    #[track_caller]
    pub fn poison(&self) {
        self.tell("poison", &json!({}));
    }

    /// Lets it fail when it looks at a clock after the next statement of `object`.
    #[track_caller]
    pub fn poison_object(&self, object: &str) {
        self.tell("poison", &json!({"object": object}));
    }

    /// Takes back a poison or an abort that nobody has come to; whether there was one.
    #[track_caller]
    pub fn antidote(&self) -> bool {
        self.tell("antidote", &json!({}))["left"] == true
    }

    /// Ends `object` in the middle of its next request.
    #[track_caller]
    pub fn abort(&self, object: &str, moment: Moment) {
        self.tell("abort", &json!({"object": object, "where": moment.name()}));
    }

    /// Counts what the Worker does while `work` runs.
    #[track_caller]
    pub fn count<T>(&self, work: impl FnOnce() -> T) -> (T, Counts) {
        self.tell("reset", &json!({}));
        let result = work();
        (result, Counts::of(self.tell("counts", &json!({}))))
    }

    /// Returns how often each object was constructed.
    #[track_caller]
    pub fn built(&self) -> Map<String, Value> {
        let told = self.tell("objects", &json!({}));
        let built = told["built"].as_object().unwrap().iter();
        built.map(|(name, it)| (name.clone(), it["times"].clone())).collect()
    }

    /// Returns how many instances of the WebAssembly were made after the first, in place of one
    /// that failed or had grown large.
    #[track_caller]
    pub fn instances(&self) -> u64 {
        self.tell("objects", &json!({}))["instances"].as_u64().unwrap()
    }

    /// Looks into the storage of `object`, which is constructed for that.
    #[track_caller]
    pub fn look(&self, object: &str) -> Value {
        self.tell("look", &json!({"object": object}))
    }

    /// Returns what has happened, and the alarms that are set.
    #[track_caller]
    pub fn deeds(&self) -> Value {
        self.tell("deeds", &json!({}))
    }
}

impl Counts {
    fn of(told: Value) -> Self {
        let number = |name: &str| told[name].as_u64().unwrap();
        let calls = told["calls"].as_object().unwrap();
        Self {
            statements: number("statements"),
            rows_read: number("rows_read"),
            rows_written: number("rows_written") + number("alarms_set"),
            requests: calls.values().filter_map(Value::as_u64).sum(),
            told,
        }
    }
}

impl Storage {
    /// Returns its name in the conformance suite's cases, and in the test module.
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
