//! A world: sessions, storage, a clock, and requests that happen inside of each
//! other's calls of their host. No threads, no time but its own, no chance: a
//! script always plays the same.
//!
//! Storage schedules: at every call of its host an instance stands still, and
//! whole other requests may run before it goes on. So instances overlap as on
//! hosts that run many, one call at a time.
//!
//! Invariant: after every step storage is as the model says, and every answer was
//! what the model says of the state and the time it was decided on; each session that the
//! step changed can be exported and imported to the same bytes; and its rounds keep their
//! invariants.

mod broken;
mod bucket;
mod carry;
mod check;
mod compare;
mod instance;
mod plain;
mod schema;
mod truth;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use shared_context_codec::{self as codec, Caller, Credential, Reply};
use shared_context_core::{
    Command, ScopeKind,
    memory_kv::{MemoryBucket, MemoryKv},
    port::{Bucket as _, Change, Kv as _, NoTokenizer, Ports},
};

use crate::{
    canary::Canary,
    cast::BEGINNING_MS,
    counts::Counts,
    model::{Asker, Place, rows},
    panics, request, run,
    script::{Ask, Call, Request, Script, Step, Storage},
};
use instance::{Instance, Killed};
use truth::Truth;

/// How deep requests may run inside of others.
const DEPTH_MAX: u64 = 8;
/// How many of the documents that were exported last are kept for those who import.
const DOCUMENTS_KEPT: usize = 4;

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Which check failed.
    pub check: &'static str,
    /// What is wrong.
    pub message: String,
    /// At which step, from 0.
    pub step: usize,
}

/// A request and what it must answer, if that is one thing.
#[derive(Debug, Clone)]
pub struct Told {
    /// The request.
    pub ask: Ask,
    /// The code of its refusal, or its reply; `None` when it may be one of several.
    pub answer: Option<Result<Value, String>>,
}

/// A world.
#[derive(Debug)]
pub struct World {
    storage: Storage,
    canary: Option<Canary>,
    kv: RefCell<MemoryKv>,
    truths: RefCell<BTreeMap<String, Truth>>,
    /// The time, in milliseconds.
    now: Cell<u64>,
    /// How many calls of storage are still to fail.
    away: Cell<u32>,
    depth: Cell<u64>,
    step: Cell<usize>,
    /// The sessions that the step changed.
    touched: RefCell<BTreeSet<String>>,
    /// All bytes that passed.
    digest: RefCell<Sha256>,
    counts: RefCell<Counts>,
    flaw: RefCell<Option<Flaw>>,
    documents: RefCell<Vec<Value>>,
    told: RefCell<Vec<Told>>,
    /// Whether what is asked is asked to compare it.
    is_comparing: Cell<bool>,
    /// What canaries keep: buckets as they were, answers to requests.
    stale: RefCell<BTreeMap<String, MemoryBucket>>,
    answers: RefCell<BTreeMap<(String, Vec<u8>), Reply>>,
}

impl World {
    /// Creates a world in which nothing has happened.
    pub fn new(storage: Storage, canary: Option<Canary>) -> Self {
        Self {
            storage,
            canary,
            kv: RefCell::default(),
            truths: RefCell::default(),
            now: Cell::new(BEGINNING_MS),
            away: Cell::new(0),
            depth: Cell::new(0),
            step: Cell::new(0),
            touched: RefCell::default(),
            digest: RefCell::new(Sha256::new()),
            counts: RefCell::default(),
            flaw: RefCell::default(),
            documents: RefCell::default(),
            told: RefCell::default(),
            is_comparing: Cell::new(false),
            stale: RefCell::default(),
            answers: RefCell::default(),
        }
    }

    /// Plays a script to its end, or to the first flaw, and compares everything.
    pub fn play_all(script: &Script) -> Self {
        let canary = script.canary.as_deref().and_then(Canary::find);
        let world = Self::new(script.storage, canary);
        for step in &script.steps {
            world.play(step);
        }
        world.play(&Step::Compare(true));
        world
    }

    /// Plays one step. After a flaw nothing happens any more.
    pub fn play(&self, step: &Step) {
        if self.flaw.borrow().is_some() {
            return;
        }
        let played = panics::caught(|| {
            self.perform(step);
            // The rest is to compare: nothing fails any more.
            self.away.set(0);
            for session in self.touched.take() {
                self.check_rows(&session);
                self.check_carried(&session);
                self.glance(&session);
            }
        });
        if let Err(payload) = played {
            self.fail("model", panics::text(&*payload));
        }
        self.step.set(self.step.get() + 1);
    }

    /// Returns what is wrong.
    pub fn flaw(&self) -> Option<Flaw> {
        self.flaw.borrow().clone()
    }

    /// Returns what happened.
    pub fn counts(&self) -> Counts {
        self.counts.borrow().clone()
    }

    /// SHA-256 of all bytes that passed, in hexadecimal digits.
    pub fn digest(&self) -> String {
        run::hex(self.digest.borrow().clone())
    }

    /// Returns a bucket as it must be.
    pub fn place(&self, session: &str) -> Rc<Place> {
        self.truths.borrow().get(session).map(|it| it.now.clone()).unwrap_or_default()
    }

    /// Returns the time, in milliseconds.
    pub fn now(&self) -> u64 {
        self.now.get()
    }

    /// Returns the documents that were exported last.
    pub fn documents(&self) -> Vec<Value> {
        self.documents.borrow().clone()
    }

    /// Returns what was asked, and must be answered.
    pub fn told(&self) -> Vec<Told> {
        self.told.borrow().clone()
    }

    fn perform(&self, step: &Step) {
        self.counts.borrow_mut().steps += 1;
        match step {
            Step::Ask(ask) => self.ask(ask),
            Step::Wake { session, .. } => self.wake(session, step),
            Step::ClockMs(by) => self.pass(*by),
            Step::Elsewhere(_) if self.depth.get() == 0 => {
                self.kv.replace(MemoryKv::default());
                self.truths.take();
                self.stale.take();
            }
            Step::Compare(_) if self.depth.get() == 0 => self.compare_all(),
            Step::Elsewhere(_) | Step::Compare(_) => {}
        }
    }

    /// Performs a step while an instance stands still.
    fn meanwhile(&self, step: &Step) {
        if self.flaw.borrow().is_some() || self.depth.get() >= DEPTH_MAX {
            return;
        }
        self.counts.borrow_mut().overlaps += 1;
        self.perform(step);
    }

    /// Lets time pass, or go back.
    fn pass(&self, by: i64) {
        self.now.set(self.now.get().saturating_add_signed(by));
    }

    fn ask(&self, ask: &Ask) {
        let credential =
            ask.credential.map(|(incarnation, epoch)| Credential { incarnation, epoch });
        let bytes = ask.bytes();
        let command = match &ask.request {
            Request::Call(call) => match codec::command(ScopeKind::Session, &bytes) {
                Ok(command) => Some(command),
                Err(error) => return self.fail("script", format!("{error}: {call}")),
            },
            Request::Raw { .. } => None,
        };
        if let (Request::Call(call), Some(command), false) =
            (&ask.request, &command, self.is_comparing.get())
            && let Some(what) = request::missing(call, command)
        {
            self.fail("reading", format!("{what} of {call} is not in {command:?}"));
        }
        let asker = Asker { who: ask.who(), credential };
        self.note("ask", ask.session.as_bytes());
        self.note(&ask.who(), &bytes);
        if self.is_comparing.get() {
            self.counts.borrow_mut().compared += 1;
        } else {
            Counts::more(&mut self.counts.borrow_mut().requests, ask.action());
        }
        let instance = Instance::new(self, &ask.session, asker, command, &ask.during);
        let mut caller =
            Caller { participant: ask.participant.clone(), credential, keys: ask.keys.clone() };
        let mut sent = bytes.clone();
        self.break_request(ask, &mut caller, &mut sent);
        let scope = format!("session/{}", ask.session);
        let answer = self.run(&instance, || {
            let ports =
                Ports { kv: &&instance, clock: &instance, log: &instance, tokenizer: &NoTokenizer };
            let answer = codec::invoke(&ports, &scope, &caller, &sent);
            let answer = self.broken(ask, &bytes, answer);
            instance.call(Call::Answer);
            answer
        });
        let Some(answer) = answer else { return self.settle_killed(&instance) };
        match &answer {
            Ok(reply) => self.note("reply", &reply.body),
            Err(failure) => self.note("refusal", &failure.to_json()),
        }
        let told = self.settle(&instance, ask, &answer);
        if self.depth.get() == 0 && !self.is_comparing.get() {
            self.told.borrow_mut().push(Told { ask: ask.clone(), answer: told });
        }
        if let (Ok(reply), "export_session") = (&answer, ask.action()) {
            self.keep(&reply.body);
        }
    }

    fn wake(&self, session: &str, step: &Step) {
        self.note("wake", session.as_bytes());
        if !self.is_comparing.get() {
            Counts::more(&mut self.counts.borrow_mut().requests, "(sweep timer)");
        }
        let asker = Asker { who: "admin".to_owned(), credential: None };
        let instance = Instance::new(self, session, asker, Some(Command::Sweep), step.during());
        let answer = self.run(&instance, || {
            let ports =
                Ports { kv: &&instance, clock: &instance, log: &instance, tokenizer: &NoTokenizer };
            let answer = codec::wake(&ports, &format!("session/{session}"));
            instance.call(Call::Answer);
            answer
        });
        match answer {
            None => self.settle_killed(&instance),
            Some(answer) => {
                self.note("woken", format!("{answer:?}").as_bytes());
                self.settle_wake(&instance, &answer);
            }
        }
    }

    /// Runs an instance to its end; `None` when it was killed, or panicked.
    fn run<T>(&self, instance: &Instance<'_>, perform: impl FnOnce() -> T) -> Option<T> {
        let depth = self.depth.get() + 1;
        self.depth.set(depth);
        let deepest = self.counts.borrow().depth_max;
        self.counts.borrow_mut().depth_max = depth.max(deepest);
        let ended = panics::caught(perform);
        self.depth.set(depth - 1);
        match ended {
            Ok(it) => Some(it),
            Err(payload) if payload.is::<Killed>() => {
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

    /// Keeps a document for those who import.
    fn keep(&self, body: &[u8]) {
        let mut documents = self.documents.borrow_mut();
        documents.extend(serde_json::from_slice::<Value>(body).ok());
        if documents.len() > DOCUMENTS_KEPT {
            documents.remove(0);
        }
    }

    /// Checks that the rows of a bucket are those it takes.
    fn check_rows(&self, session: &str) {
        let bucket = self.kv.borrow().open(&format!("session/{session}"));
        let rows = bucket.map(|it| it.scan("", None, u32::MAX).unwrap_or_default());
        let rows: rows::Rows = rows.unwrap_or_default().into_iter().collect();
        if let Err(what) = rows::check(&rows, self.place(session).session.as_deref()) {
            self.fail("rows", format!("session {session}: {what}"));
        }
    }

    fn truth_mut<T>(&self, session: &str, change: impl FnOnce(&mut Truth) -> T) -> T {
        let mut truths = self.truths.borrow_mut();
        change(truths.entry(session.to_owned()).or_default())
    }

    /// Notes what is wrong, if it is the first.
    fn fail(&self, check: &'static str, message: String) {
        let step = self.step.get();
        self.flaw.borrow_mut().get_or_insert(Flaw { check, message, step });
    }

    /// Adds bytes that pass to the digest.
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
            Change::Delete(row) => self.note("delete", row.as_bytes()),
            Change::DeletePrefix(rows) => self.note("delete all", rows.as_bytes()),
        }
    }
}
