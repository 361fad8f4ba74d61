//! The session against a plain model: whatever is asked, in whatever order, with
//! a clock that jumps and storage that fails, both show the same.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use shared_context_core::{
    Caller, Code, Command, Condition, Config, Delete, Error, Key, Outcome, Reply, RequestId,
    SessionId, Write, execute,
    port::{Bucket, Kv, Revision},
    store::Limits,
    tokens::Tokens,
};
use support::{Failure, TestHost};

const LIMITS: Limits =
    Limits { value_tokens_max: Tokens(8), store_tokens_max: Tokens(20), keys_max: 4 };

/// One step of a script.
#[derive(Debug, Clone)]
enum Step {
    Write { who: &'static str, key: usize, chars: usize, condition: Guess, request: Option<u8> },
    Delete { who: &'static str, key: usize, condition: Guess, request: Option<u8> },
    Clock { by_ms: i64 },
    Fail(Failure),
    Recreate,
}

/// A condition, relative to what the model knows.
#[derive(Debug, Clone, Copy)]
enum Guess {
    None,
    RightVersion,
    WrongVersion,
    RightRevision,
    WrongRevision,
}

/// What a user believes of an entry.
#[derive(Debug, Clone, PartialEq)]
struct Believed {
    value: String,
    writer: &'static str,
    version: u64,
    revision: u64,
    at: u64,
}

const WRITERS: [&str; 3] = ["orchestrator", "subagent:a", "subagent:a:2"];

/// The specification in its plainest form: everything in one map.
#[derive(Debug, Clone, Default)]
struct Model {
    entries: BTreeMap<String, Believed>,
    revision: u64,
    changed_at: u64,
}

impl Model {
    fn tokens(&self) -> usize {
        self.entries.values().map(|it| it.value.chars().count().div_ceil(4)).sum()
    }

    fn condition(&self, key: &str, guess: Guess) -> (Condition, bool) {
        let known = self.entries.get(key);
        let (version, revision) = known.map_or((0, 0), |it| (it.version, it.revision));
        let if_version = |it| Condition { if_version: Some(it), if_revision: None };
        let if_revision = |it| Condition { if_version: None, if_revision: Some(Revision(it)) };
        match guess {
            Guess::None => (Condition::default(), true),
            Guess::RightVersion => (if_version(version), true),
            Guess::WrongVersion => (if_version(version + 1), false),
            Guess::RightRevision => (if_revision(revision), known.is_some()),
            Guess::WrongRevision => (if_revision(revision + 1), false),
        }
    }

    /// What a write must answer, and the model after it.
    fn write(&self, write: &Write, writer: &'static str, holds: bool, now: u64) -> Expected {
        let size = write.value.chars().count().div_ceil(4);
        if size > 8 {
            return Err(Code::ValueTooLarge);
        }
        let old = self.entries.get(write.key.as_str());
        if !holds {
            return match old {
                Some(it) if it.value == write.value && it.writer == writer => Ok(self.clone()),
                _ => Err(Code::VersionConflict),
            };
        }
        let mut next = self.clone();
        next.revision += 1;
        next.changed_at = now.max(self.changed_at);
        next.entries.insert(
            write.key.as_str().to_owned(),
            Believed {
                value: write.value.clone(),
                writer,
                version: old.map_or(0, |it| it.version) + 1,
                revision: next.revision,
                at: next.changed_at,
            },
        );
        if next.tokens() > 20 || next.entries.len() > 4 { Err(Code::StoreFull) } else { Ok(next) }
    }

    fn delete(&self, key: &str, holds: bool, now: u64) -> Expected {
        if !self.entries.contains_key(key) {
            return Err(Code::KeyNotFound);
        }
        if !holds {
            return Err(Code::VersionConflict);
        }
        let mut next = self.clone();
        next.entries.remove(key);
        next.revision += 1;
        next.changed_at = now.max(self.changed_at);
        Ok(next)
    }
}

type Expected = Result<Model, Code>;

/// The session under test, beside the model of what it must show.
struct Pair {
    host: TestHost,
    session: SessionId,
    model: Model,
    /// The first answers to remembered requests, with what was asked.
    answers: BTreeMap<(&'static str, u8), (Command, Outcome)>,
}

impl Pair {
    fn new() -> Self {
        let session = SessionId::parse("s").unwrap();
        let mut pair = Self {
            host: TestHost::default(),
            session,
            model: Model::default(),
            answers: BTreeMap::new(),
        };
        pair.create();
        pair
    }

    fn create(&mut self) {
        let config = Box::new(Config { limits: LIMITS, ..Config::default() });
        let outcome = self.ask("admin", &Command::CreateSession(config)).unwrap();
        self.model = Model {
            revision: outcome.revision.0,
            changed_at: self.host.now.get(),
            ..Model::default()
        };
        self.answers.clear();
    }

    fn ask(&self, who: &str, command: &Command) -> Result<Outcome, Error> {
        let caller = Caller::trusted(who).unwrap();
        execute(&&self.host, &self.host, &self.host, &self.session, &caller, command)
    }

    fn play(&mut self, step: &Step) {
        match *step {
            Step::Clock { by_ms } => {
                self.host.now.set(self.host.now.get().saturating_add_signed(by_ms));
            }
            Step::Fail(failure) => self.host.fail_next.set(Some(failure)),
            Step::Recreate => {
                self.host.fail_next.set(None);
                self.ask("admin", &Command::DeleteSession).unwrap();
                assert_eq!(self.host.kv.names(None, 9), Vec::<String>::new(), "rows are left");
                self.create();
            }
            Step::Write { who, key, chars, condition, request } => {
                let key = Key::parse(&format!("key_{key}")).unwrap();
                let (condition, holds) = self.model.condition(key.as_str(), condition);
                let request_id = request.map(|it| RequestId::parse(&it.to_string()).unwrap());
                let write = Write { key, value: "é".repeat(chars), condition, request_id };
                let expected = self.model.write(&write, who, holds, self.host.now.get());
                self.change(who, request, Command::Write(write), expected);
            }
            Step::Delete { who, key, condition, request } => {
                let key = Key::parse(&format!("key_{key}")).unwrap();
                let (condition, holds) = self.model.condition(key.as_str(), condition);
                let request_id = request.map(|it| RequestId::parse(&it.to_string()).unwrap());
                let expected = self.model.delete(key.as_str(), holds, self.host.now.get());
                let delete = Delete { key, condition, request_id };
                self.change(who, request, Command::Delete(delete), expected);
            }
        }
        self.compare();
    }

    fn change(
        &mut self,
        who: &'static str,
        request: Option<u8>,
        command: Command,
        expected: Expected,
    ) {
        let first = request.and_then(|id| self.answers.get(&(who, id)).cloned());
        let answer = self.ask(who, &command);
        let failure = self.host.failed.take();
        match (first, answer) {
            (Some((asked, first)), answer) => {
                let same = asked == command;
                let told = answer.map_err(|err| err.code());
                assert_eq!(told, if same { Ok(first) } else { Err(Code::RequestIdReused) });
            }
            (None, Err(Error::Storage(_))) => {
                // Whether it happened is not known to the caller; here it is.
                assert_ne!(failure, Some(Failure::Conflict), "a conflict is decided anew");
                assert!(failure.is_some(), "storage failed by itself");
                if failure == Some(Failure::AfterCommit) {
                    self.model = expected.unwrap();
                    // The answer is remembered, though it never arrived.
                    let again = self.ask(who, &command);
                    if let (Some(id), Ok(outcome)) = (request, again) {
                        assert_eq!(outcome.revision.0, self.model.revision);
                        self.answers.insert((who, id), (command, outcome));
                    } else {
                        self.adopt();
                    }
                }
            }
            (None, Err(err)) => assert_eq!(Err(err.code()), expected.map(|_| ())),
            (None, Ok(outcome)) => {
                let next = expected.unwrap();
                let is_change = next.revision > self.model.revision;
                if let (Some(id), true) = (request, is_change) {
                    self.answers.insert((who, id), (command, outcome));
                }
                self.model = next;
            }
        }
    }

    /// After the same change was asked for twice without a request id, the model
    /// takes over what the session says.
    fn adopt(&mut self) {
        let Reply::Listing(listing) = self.ask("orchestrator", &Command::ListKeys).unwrap().reply
        else {
            panic!()
        };
        self.model.revision = self.host.kv.open("session/s").unwrap().revision().0;
        self.model.entries = listing
            .entries
            .iter()
            .map(|it| {
                let read = self.ask("orchestrator", &Command::Read(it.key.clone())).unwrap();
                let Reply::Entry { entry, value } = read.reply else { panic!() };
                self.model.changed_at = self.model.changed_at.max(entry.written_at.0);
                let writer = WRITERS.iter().find(|it| **it == entry.written_by.as_str()).unwrap();
                let believed = Believed {
                    value,
                    writer,
                    version: entry.version,
                    revision: entry.revision.0,
                    at: entry.written_at.0,
                };
                (entry.key.as_str().to_owned(), believed)
            })
            .collect();
        let Reply::Session(info) = self.ask("orchestrator", &Command::ShowSession).unwrap().reply
        else {
            panic!()
        };
        self.model.changed_at = info.changed_at.0;
    }

    /// Both show the same, and no row is lost or left over.
    fn compare(&self) {
        let pending = self.host.fail_next.take();
        let outcome = self.ask("subagent:x", &Command::ListKeys).unwrap();
        assert_eq!(outcome.revision.0, self.model.revision);
        let Reply::Listing(listing) = outcome.reply else { panic!() };
        assert_eq!(listing.totals.tokens.0 as usize, self.model.tokens());
        assert_eq!(listing.totals.keys as usize, self.model.entries.len());
        let shown: BTreeMap<String, Believed> = listing
            .entries
            .iter()
            .map(|it| {
                let read = self.ask("admin", &Command::Read(it.key.clone())).unwrap();
                assert_eq!(read.revision, it.revision);
                let Reply::Entry { entry, value } = read.reply else { panic!() };
                assert_eq!(&entry, it);
                let writer = WRITERS.iter().find(|who| **who == it.written_by.as_str()).unwrap();
                let (version, revision, at) = (it.version, it.revision.0, it.written_at.0);
                (it.key.as_str().to_owned(), Believed { value, writer, version, revision, at })
            })
            .collect();
        assert_eq!(shown, self.model.entries);
        let values = self.host.kv.open("session/s").unwrap().scan("v/", None, 99).unwrap();
        assert_eq!(values.len(), shown.len(), "a value row is lost or left over");
        self.host.fail_next.set(pending);
    }
}

fn guess() -> impl Strategy<Value = Guess> {
    prop_oneof![
        4 => Just(Guess::None),
        1 => Just(Guess::RightVersion),
        1 => Just(Guess::WrongVersion),
        1 => Just(Guess::RightRevision),
        1 => Just(Guess::WrongRevision),
    ]
}

fn who() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&WRITERS[..])
}

fn step() -> impl Strategy<Value = Step> {
    let request = || prop::option::weighted(0.3, 0..4_u8);
    prop_oneof![
        8 => (who(), 0..6_usize, 0..40_usize, guess(), request()).prop_map(
            |(who, key, chars, condition, request)| Step::Write { who, key, chars, condition, request }
        ),
        3 => (who(), 0..6_usize, guess(), request())
            .prop_map(|(who, key, condition, request)| Step::Delete { who, key, condition, request }),
        1 => (-5_000..9_000_i64).prop_map(|by_ms| Step::Clock { by_ms }),
        1 => prop_oneof![
            Just(Failure::BeforeCommit), Just(Failure::AfterCommit), Just(Failure::Conflict)
        ].prop_map(Step::Fail),
        1 => Just(Step::Recreate),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_session_shows_what_the_model_shows(script in prop::collection::vec(step(), 1..60)) {
        let mut pair = Pair::new();
        for step in &script {
            pair.play(step);
        }
    }
}
