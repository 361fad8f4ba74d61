//! A world: sessions, storage, a clock, and requests that run inside each other's calls to their
//! host. It uses no threads, no real time and no randomness, so a script always plays the same way.
//!
//! Storage is the scheduler. At every call to its host an instance waits, and whole other requests
//! may run before it continues. Instances overlap as on hosts that run many, one call at a time.
//!
//! Invariant: after every step, storage matches the model. Every answer is the model's answer for
//! the state and time that the request was decided on. Each changed session can be exported and
//! imported to the same bytes, and its rounds satisfy their invariants.

mod bucket;
mod canary;
mod check;
mod compare;
mod history;
mod instance;
mod normalize;
mod project;
mod round_trip;
mod schema;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use shared_context_codec::{self as codec, Caller, Credential, Reply};
use shared_context_core::{
    Command, Role, ScopeKind,
    memory_kv::{MemoryBucket, MemoryKv},
    port::{Bucket as _, Change, Kv as _, NoTokenizer, Ports},
};

use crate::{
    canary::Canary,
    counts::Counts,
    fixtures::START_MS,
    model::{BucketModel, Requester, rows},
    panics, request, run,
    script::{Call, Payload, Request, Script, Step, Storage},
};
use history::BucketHistory;
use instance::{Instance, KillSignal};
use project::ProjectState;
pub use project::ProjectView;

/// Deepest nesting of requests.
const DEPTH_MAX: u64 = 8;
/// Number of recent exported documents, stored for imports.
const DOCUMENTS_KEPT: usize = 4;

/// A failed check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// The name of the check.
    pub check: &'static str,
    /// A failed check.
    pub message: String,
    /// The step, counted from 0.
    pub step: usize,
}

/// A request and its correct answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The request.
    pub request: Request,
    /// The reply or error code, or `None` if several answers are correct.
    pub answer: Option<Result<Value, String>>,
}

/// A world.
#[derive(Debug)]
pub struct World {
    storage: Storage,
    canary: Option<Canary>,
    kv: RefCell<MemoryKv>,
    histories: RefCell<BTreeMap<String, BucketHistory>>,
    /// The time, in milliseconds.
    now: Cell<u64>,
    /// Number of storage calls that are still to fail.
    away: Cell<u32>,
    depth: Cell<u64>,
    step: Cell<usize>,
    /// The sessions that the current step changed.
    touched: RefCell<BTreeSet<String>>,
    /// Digest of all requests, answers, rows and log records.
    digest: RefCell<Sha256>,
    counts: RefCell<Counts>,
    flaw: RefCell<Option<Flaw>>,
    documents: RefCell<Vec<Value>>,
    exchanges: RefCell<Vec<Exchange>>,
    /// True if the current request only compares answers with the model.
    is_comparing: Cell<bool>,
    project: RefCell<ProjectState>,
    /// State of canaries: earlier buckets, and answers to requests.
    stale: RefCell<BTreeMap<String, MemoryBucket>>,
    answers: RefCell<BTreeMap<(String, Vec<u8>), Reply>>,
}

impl World {
    /// Creates an empty world.
    pub fn new(storage: Storage, canary: Option<Canary>) -> Self {
        Self {
            storage,
            canary,
            kv: RefCell::default(),
            histories: RefCell::default(),
            now: Cell::new(START_MS),
            away: Cell::new(0),
            depth: Cell::new(0),
            step: Cell::new(0),
            touched: RefCell::default(),
            digest: RefCell::new(Sha256::new()),
            counts: RefCell::default(),
            flaw: RefCell::default(),
            documents: RefCell::default(),
            exchanges: RefCell::default(),
            is_comparing: Cell::new(false),
            project: RefCell::default(),
            stale: RefCell::default(),
            answers: RefCell::default(),
        }
    }

    /// Plays a script to its end or first failure, and then compares everything.
    pub fn play_all(script: &Script) -> Self {
        let canary = script.canary.as_deref().and_then(Canary::find);
        let world = Self::new(script.storage, canary);
        for step in &script.steps {
            world.play(step);
        }
        world.play(&Step::Compare(true));
        world
    }

    /// Plays one step. After a failure it does nothing.
    pub fn play(&self, step: &Step) {
        if self.flaw.borrow().is_some() {
            return;
        }
        let played = panics::catch(|| {
            self.perform(step);
            // Comparisons run without faults.
            self.away.set(0);
            for session in self.touched.take() {
                self.check_rows(&session);
                self.check_round_trip(&session);
                self.compare_changed(&session);
            }
        });
        if let Err(payload) = played {
            self.fail("model", panics::text(&*payload));
        }
        self.step.set(self.step.get() + 1);
    }

    /// Returns the first failed check.
    pub fn flaw(&self) -> Option<Flaw> {
        self.flaw.borrow().clone()
    }

    /// Returns the statistics.
    pub fn counts(&self) -> Counts {
        self.counts.borrow().clone()
    }

    /// Returns the SHA-256 of all requests, answers, rows and log records, in hexadecimal digits.
    pub fn digest(&self) -> String {
        run::hex(self.digest.borrow().clone())
    }

    /// Returns the expected state of a session's bucket.
    pub fn bucket(&self, session: &str) -> Rc<BucketModel> {
        self.histories.borrow().get(session).map(|it| it.now.clone()).unwrap_or_default()
    }

    /// Returns the time, in milliseconds.
    pub fn now(&self) -> u64 {
        self.now.get()
    }

    /// Returns the documents that were exported last.
    pub fn documents(&self) -> Vec<Value> {
        self.documents.borrow().clone()
    }

    /// Returns the requests and their correct answers.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges.borrow().clone()
    }

    fn perform(&self, step: &Step) {
        self.counts.borrow_mut().steps += 1;
        match step {
            Step::Ask(request) => self.send(request),
            Step::Project(request) => self.send_to_project(request),
            Step::Wake { session, .. } => self.wake(session, step),
            Step::ClockMs(by) => self.advance_clock(*by),
            Step::Elsewhere(_) if self.depth.get() == 0 => {
                self.kv.replace(MemoryKv::default());
                self.histories.take();
                self.project.take();
                self.stale.take();
            }
            Step::Compare(_) if self.depth.get() == 0 => self.compare_all(),
            Step::Elsewhere(_) | Step::Compare(_) => {}
        }
    }

    /// Performs a nested step.
    fn meanwhile(&self, step: &Step) {
        if self.flaw.borrow().is_some() || self.depth.get() >= DEPTH_MAX {
            return;
        }
        self.counts.borrow_mut().overlaps += 1;
        self.perform(step);
    }

    /// Moves the clock by milliseconds, forward or back.
    fn advance_clock(&self, by: i64) {
        self.now.set(self.now.get().saturating_add_signed(by));
    }

    fn send(&self, request: &Request) {
        let credential =
            request.credential.map(|(incarnation, epoch)| Credential { incarnation, epoch });
        let bytes = request.bytes();
        let command = match &request.payload {
            Payload::Call(call) => match codec::command(ScopeKind::Session, Role::Agent, &bytes) {
                Ok(command) => Some(command),
                Err(error) => return self.fail("script", format!("{error}: {call}")),
            },
            Payload::Raw { .. } => None,
        };
        if let (Payload::Call(call), Some(command), false) =
            (&request.payload, &command, self.is_comparing.get())
            && let Some(what) = request::missing(call, command)
        {
            self.fail("reading", format!("{what} of {call} is not in {command:?}"));
        }
        let requester = Requester { who: request.who(), credential };
        self.note("ask", request.session.as_bytes());
        self.note(&request.who(), &bytes);
        if self.is_comparing.get() {
            self.counts.borrow_mut().compared += 1;
        } else {
            Counts::increment(&mut self.counts.borrow_mut().requests, request.action());
        }
        let instance = Instance::new(self, &request.session, requester, command, &request.during);
        let mut caller = Caller {
            participant: request.participant.clone(),
            credential,
            keys: request.keys.clone(),
            session: None,
        };
        let mut sent = bytes.clone();
        self.break_request(request, &mut caller, &mut sent);
        let scope = format!("session/{}", request.session);
        let answer = self.run(&instance, || {
            let ports =
                Ports { kv: &&instance, clock: &instance, log: &instance, tokenizer: &NoTokenizer };
            let answer = codec::invoke(&ports, &scope, &caller, &sent);
            let answer = self.break_answer(request, &bytes, answer);
            instance.call(Call::Answer);
            answer
        });
        let Some(answer) = answer else { return self.check_killed(&instance) };
        match &answer {
            Ok(reply) => self.note("reply", &reply.body),
            Err(failure) => self.note("refusal", &failure.to_json()),
        }
        let expected = self.check_answer(&instance, request, &answer);
        if self.depth.get() == 0 && !self.is_comparing.get() {
            self.exchanges
                .borrow_mut()
                .push(Exchange { request: request.clone(), answer: expected });
        }
        if let (Ok(reply), "export_session") = (&answer, request.action()) {
            self.keep_document(&reply.body);
        }
    }

    fn wake(&self, session: &str, step: &Step) {
        self.note("wake", session.as_bytes());
        if !self.is_comparing.get() {
            Counts::increment(&mut self.counts.borrow_mut().requests, "(sweep timer)");
        }
        let requester = Requester { who: "admin".to_owned(), credential: None };
        let instance = Instance::new(self, session, requester, Some(Command::Sweep), step.during());
        let answer = self.run(&instance, || {
            let ports =
                Ports { kv: &&instance, clock: &instance, log: &instance, tokenizer: &NoTokenizer };
            let answer = codec::wake(&ports, &format!("session/{session}"));
            instance.call(Call::Answer);
            answer
        });
        match answer {
            None => self.check_killed(&instance),
            Some(answer) => {
                self.note("woken", format!("{answer:?}").as_bytes());
                self.check_wake(&instance, &answer);
            }
        }
    }

    /// Runs an instance to its end. Returns `None` if it was killed or panicked.
    fn run<T>(&self, instance: &Instance<'_>, perform: impl FnOnce() -> T) -> Option<T> {
        let depth = self.depth.get() + 1;
        self.depth.set(depth);
        let deepest = self.counts.borrow().depth_max;
        self.counts.borrow_mut().depth_max = depth.max(deepest);
        let ended = panics::catch(perform);
        self.depth.set(depth - 1);
        match ended {
            Ok(it) => Some(it),
            Err(payload) if payload.is::<KillSignal>() => {
                self.counts.borrow_mut().kills += 1;
                self.note("killed", instance.session.as_bytes());
                None
            }
            Err(payload) => {
                self.fail("panic", panics::text(&*payload));
                None
            }
        }
    }

    /// Stores a document for later imports.
    fn keep_document(&self, body: &[u8]) {
        let mut documents = self.documents.borrow_mut();
        documents.extend(serde_json::from_slice::<Value>(body).ok());
        if documents.len() > DOCUMENTS_KEPT {
            documents.remove(0);
        }
    }

    /// Checks that a bucket has exactly the rows that the model needs.
    fn check_rows(&self, session: &str) {
        let bucket = self.kv.borrow().open(&format!("session/{session}"));
        let rows = bucket.map(|it| it.scan("", None, u32::MAX).unwrap_or_default());
        let rows: rows::Rows = rows.unwrap_or_default().into_iter().collect();
        if let Err(what) = rows::check(&rows, self.bucket(session).session.as_deref()) {
            self.fail("rows", format!("session {session}: {what}"));
        }
    }

    fn history_mut<T>(&self, session: &str, change: impl FnOnce(&mut BucketHistory) -> T) -> T {
        let mut histories = self.histories.borrow_mut();
        change(histories.entry(session.to_owned()).or_default())
    }

    /// Records a failed check, unless one is recorded already.
    fn fail(&self, check: &'static str, message: String) {
        let step = self.step.get();
        self.flaw.borrow_mut().get_or_insert(Flaw { check, message, step });
    }

    /// Adds labelled bytes to the digest.
    fn note(&self, what: &str, bytes: &[u8]) {
        let mut digest = self.digest.borrow_mut();
        digest.update(what.as_bytes());
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    }

    fn note_change(&self, change: &Change) {
        match change {
            Change::Put(row, bytes) => {
                self.note("put", row.as_bytes());
                self.note("bytes", bytes);
            }
            Change::Delete(row) => {
                self.note("delete", row.as_bytes());
                if row.starts_with("a/") {
                    let what = format!("removed from {}", &row[.."a/e/".len()]);
                    Counts::increment(&mut self.counts.borrow_mut().envelopes, &what);
                }
            }
            Change::DeletePrefix(rows) => self.note("delete all", rows.as_bytes()),
        }
    }
}
