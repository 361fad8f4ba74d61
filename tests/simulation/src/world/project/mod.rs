//! The project beside the sessions: its requests run under the same faults, inside each other and
//! inside those of sessions.
//!
//! It has no model. `check` has the invariants of its rows and answers, and `team` those of its
//! sections, their owners and handoffs; the rules are tested in the core.

mod bucket;
mod canary;
mod check;
mod team;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
};

use serde_json::Value;
use shared_context_codec::{self as codec, Caller, Failure, Reply};
use shared_context_core::{
    memory_kv::MemoryKv,
    port::{Bucket as _, Change, Clock, Kv as _, Log, NoTokenizer, Ports, Revision, Row},
    time::Timestamp,
};

use super::{World, instance::Instance};
use crate::{
    counts::Counts,
    model::Requester,
    script::{Call, Payload, Request},
};
use team::{Claim, Team};

/// The bucket of the project.
const BUCKET: &str = "project/team";

/// The sender and the id of a request: session, participant, request id.
type RequestKey = [String; 3];

/// The state of the project, as derived from its commits.
#[derive(Debug, Default)]
pub(super) struct ProjectState {
    /// The revision of its bucket.
    revision: u64,
    /// The ids of its memories by their numbers, removed ones included.
    ids: BTreeMap<u64, String>,
    removed: BTreeSet<String>,
    /// All ids that were ever given, in all incarnations.
    given: BTreeSet<String>,
    /// The words of each memory, of all its versions.
    words: BTreeMap<String, BTreeSet<String>>,
    /// The words that were removed or redacted.
    gone: BTreeSet<String>,
    /// Those that were redacted: a package keeps what was removed.
    redacted: BTreeSet<String>,
    /// The state of its sections and handoffs.
    team: Team,
    /// The requests that were committed under an id, their acknowledged replies, and the revision.
    requests: BTreeMap<RequestKey, (Value, Option<Value>, u64)>,
}

impl ProjectState {
    /// Returns the number of the newest memory.
    pub(super) fn last(&self) -> u64 {
        self.ids.keys().next_back().copied().unwrap_or_default()
    }
}

/// The targets that the next request can have.
#[derive(Debug, Clone, Copy)]
pub struct ProjectView {
    /// True if the project exists.
    pub is_there: bool,
    /// The number of its newest memory.
    pub memory: u64,
    /// The number of its newest handoff.
    pub handoff: u64,
    /// The version of what its team shares.
    pub sync_version: u64,
}

/// A request to the project in progress.
struct ProjectCall<'w> {
    instance: Instance<'w>,
    call: Value,
    key: Option<RequestKey>,
    /// The revision at which it was opened.
    opened: Cell<u64>,
    /// True if the caller received the acknowledgement of its commit; `None` without a commit.
    committed: Cell<Option<bool>>,
    /// The result that a dry run would have had instead of its maintenance.
    dry_run: RefCell<Option<Value>>,
    /// The sections that the caller is notified to have lost.
    lost: RefCell<BTreeSet<String>>,
    /// The version that it wrote of a section, and the claim to that section since.
    version: Cell<u64>,
    claim: RefCell<Option<Claim>>,
}

impl ProjectCall<'_> {
    /// Returns the caller: participant and session.
    fn caller(&self) -> (String, String) {
        (self.instance.requester.who.clone(), self.instance.session.to_owned())
    }
}

impl World {
    /// Returns what the next request can be about.
    pub fn project(&self) -> ProjectView {
        let is_there = self.project_rows().iter().any(|it| it.0 == "meta");
        let project = self.project.borrow();
        let (handoff, sync_version) = project.team.last();
        ProjectView { is_there, memory: project.last(), handoff, sync_version }
    }

    /// Sends a request to the project as a participant of the session that it names.
    pub(super) fn send_to_project(&self, request: &Request) {
        let Payload::Call(call) = &request.payload else { return };
        let call = self.with_ids(call);
        let session = Some(request.session.clone()).filter(|it| !it.is_empty());
        self.note("ask the project", call.to_string().as_bytes());
        Counts::increment(&mut self.counts.borrow_mut().requests, request.action());
        let requester = Requester { who: request.participant.clone(), credential: None };
        let id = call.get("request_id").and_then(Value::as_str);
        let key = id.map(|id| [&request.session, &request.participant, id].map(str::to_owned));
        let running = ProjectCall {
            instance: Instance::new(self, &request.session, requester, None, &request.during),
            key,
            call,
            opened: Cell::new(0),
            committed: Cell::new(None),
            dry_run: RefCell::default(),
            lost: RefCell::default(),
            version: Cell::new(0),
            claim: RefCell::default(),
        };
        let caller = Caller {
            participant: request.participant.clone(),
            credential: None,
            keys: Vec::new(),
            session,
        };
        let sent = running.call.to_string();
        let instance = &running.instance;
        let answer = self.run(instance, || {
            let ports =
                Ports { kv: &&running, clock: instance, log: instance, tokenizer: &NoTokenizer };
            let ask = || codec::invoke(&ports, BUCKET, &caller, sent.as_bytes());
            let answer = self.break_project_answer(&running, ask(), ask);
            instance.call(Call::Answer);
            answer
        });
        let Some(answer) = answer else { return };
        match &answer {
            Ok(reply) => self.note("reply", &reply.body),
            Err(failure) => self.note("refusal", &failure.to_json()),
        }
        let code = answer.as_ref().map_or_else(|it| &*it.code, |_| "ok");
        Counts::increment(&mut self.counts.borrow_mut().answers, code);
        self.check_project_answer(&running, &answer);
    }

    /// Returns a request with the ids of memories in the place of `#` and their numbers.
    fn with_ids(&self, call: &Value) -> Value {
        match call {
            Value::String(text) => match text.strip_prefix('#').map(str::parse) {
                Some(Ok(number)) => {
                    let project = self.project.borrow();
                    let missing = "00000000-0000-8000-8000-000000000000";
                    project.ids.get(&number).map_or(missing, String::as_str).into()
                }
                _ => call.clone(),
            },
            Value::Array(items) => items.iter().map(|it| self.with_ids(it)).collect(),
            Value::Object(members) => {
                let member =
                    |(name, value): (&String, &Value)| (name.clone(), self.with_ids(value));
                Value::Object(members.iter().map(member).collect())
            }
            _ => call.clone(),
        }
    }

    /// Returns the rows of the project.
    fn project_rows(&self) -> Vec<Row> {
        let bucket = self.kv.borrow().open(BUCKET);
        bucket.map(|it| it.scan("", None, u32::MAX).unwrap_or_default()).unwrap_or_default()
    }

    /// Performs a request on rows of a project at a time, without faults.
    fn ask_rows(rows: Vec<Row>, now: u64, call: &Value) -> Result<Reply, Failure> {
        let kv = MemoryKv::default();
        let changes = rows.into_iter().map(|(row, bytes)| Change::Put(row, bytes)).collect();
        let filled = kv.open(BUCKET).map(|mut it| it.commit(Revision(0), changes));
        assert!(filled.is_ok_and(|it| it.is_ok()), "rows in memory");
        let quiet = Quiet(now);
        let ports = Ports { kv: &kv, clock: &quiet, log: &quiet, tokenizer: &NoTokenizer };
        codec::invoke(&ports, BUCKET, &Caller::trusted("admin"), call.to_string().as_bytes())
    }
}

/// A clock that stands still, and a log that keeps nothing.
struct Quiet(u64);

impl Clock for Quiet {
    fn now(&self) -> Timestamp {
        Timestamp(self.0)
    }
}

impl Log for Quiet {
    fn record(&self, _: &shared_context_core::audit::AuditRecord) {}
}
