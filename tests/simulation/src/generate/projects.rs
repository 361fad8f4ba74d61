//! Requests to the project.
//!
//! They come from random numbers of their own, so that a world without a project is the same as
//! before there were any.

use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng, seq::IndexedRandom as _};
use serde_json::{Value, json};

use super::{Generator, RETRIES_MAX};
use crate::{
    script::{Event, EventKind, Payload, Request, Step},
    world::{ProjectView, World},
};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// Participants and the sessions that they act in.
const CALLERS: [(&str, &str); 6] = [
    ("orchestrator", "alpha"),
    ("orchestrator", "beta"),
    ("subagent:a", "alpha"),
    ("subagent:a", "beta"),
    ("subagent:b", "beta"),
    ("admin", ""),
];

/// The state of the generator of projects.
#[derive(Debug)]
pub(super) struct Projects {
    pub(super) rng: ChaCha8Rng,
    /// The probability that a step is about the project.
    likely: f64,
    /// The probability that such a step is about sections or handoffs.
    team: f64,
    /// Recent requests.
    sent: Vec<Request>,
    words: u32,
    /// The remaining steps of a handoff that was begun: the callers and their requests.
    pub(super) begun: Vec<(usize, Value)>,
}

/// Returns whether the world of `seed` has a project, and a team that works on its outline if that
/// is needed.
pub(crate) fn has_project(seed: u64, needs_team: bool) -> bool {
    let it = Projects::new(seed);
    it.likely > 0.0 && (!needs_team || it.team > 0.0)
}

impl Projects {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(!seed);
        let likely = [0.0, 0.0, 0.1, 0.4][rng.random_range(0..4)];
        let team = [0.0, 0.5, 0.9][usize::try_from(seed / 2 % 3).unwrap_or_default()];
        Self { rng, likely, team, sent: Vec::new(), words: 0, begun: Vec::new() }
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.random_range(0..of.len())]
    }

    /// Returns the reference to one of the last memories, or to none.
    pub(super) fn id(&mut self, last: u64) -> Value {
        let from = last.saturating_sub(12).max(1);
        format!("#{}", self.rng.random_range(from..=last.max(1) + 1)).into()
    }

    /// Returns a text with a word that no other text has.
    pub(super) fn text(&mut self) -> String {
        self.words += 1;
        let subject = self.pick(&["pool", "cache", "retry", "login"]);
        format!("zq{}x {subject}", self.words)
    }

    fn memory(&mut self, last: u64) -> Value {
        let text = self.text();
        let kind = self.pick(&["decision", "issue", "state", "learning", "learning", "handoff"]);
        let content = match kind {
            "decision" => json!({"decision": text}),
            "issue" => json!({"description": text, "severity": self.pick(&["low", "critical"])}),
            "state" => json!({"task_description": text, "completion_percentage": 5}),
            "handoff" => json!({"summary": text}),
            _ => json!({"lesson": text}),
        };
        let mut it = json!({"memory_type": kind, "title": self.text(), "content": content,
            "importance": self.pick(&[1, 3, 5, 7, 9])});
        match self.rng.random_range(0..8) {
            0 => it["parent_memory_id"] = self.id(last),
            1 => it["supersedes"] = json!([self.id(last)]),
            2 => it["authority"] = self.pick(&["tool_external", "unknown"]).into(),
            _ => {}
        }
        it
    }

    fn call(&mut self, view: ProjectView) -> (usize, Value) {
        let ProjectView { is_there, memory: last, .. } = view;
        if is_there && self.team > 0.0 && self.rng.random_bool(self.team) {
            return self.team_call(view);
        }
        if !is_there && self.rng.random_bool(0.9) || self.rng.random_bool(0.01) {
            let memories_max = self.pick(&[3, 10_000, 10_000]);
            return (5, json!({"action": "create_project", "memories_max": memories_max}));
        }
        let anyone = self.pick(&[0, 0, 1, 2, 3, 4]);
        let orchestrator = self.pick(&[0, 0, 0, 1, 1, 2, 5]);
        match self.rng.random_range(0..100) {
            0..30 => {
                let count = self.rng.random_range(1..4);
                let all: Vec<Value> = (0..count).map(|_| self.memory(last)).collect();
                (anyone, json!({"action": "add_memories", "memories": all}))
            }
            30..48 => {
                let mut it = json!({"action": "update_memory", "id": self.id(last),
                    "title": self.text()});
                if self.rng.random_bool(0.3) {
                    it["if_version"] = self.pick(&[1, 2, 3]).into();
                }
                (anyone, it)
            }
            48..54 => {
                let (id, by) = (self.id(last), self.id(last));
                (anyone, json!({"action": "supersede_memory", "id": id, "by": by}))
            }
            54..64 => {
                let mark = self.pick(&["archived", "active", "verified", "deleted", "deleted"]);
                let ids = json!([self.id(last)]);
                (orchestrator, json!({"action": "mark_memories", "ids": ids, "mark": mark}))
            }
            64..70 => (orchestrator, json!({"action": "maintain"})),
            70..73 => (orchestrator, json!({"action": "maintain", "dry_run": true})),
            73..80 => {
                let id = self.id(last);
                (orchestrator, json!({"action": "redact_memory", "id": id, "reason": "a name"}))
            }
            80..85 => (anyone, json!({"action": "read_memories", "ids": [self.id(last)]})),
            85..89 => (anyone, json!({"action": "search_memories", "query": "pool cache"})),
            89..94 => (anyone, json!({"action": "rehydrate", "max_tokens": 500})),
            94..96 => (anyone, json!({"action": "decision_log"})),
            96 => (anyone, json!({"action": "show_project"})),
            97 => (anyone, json!({"action": "project_changes"})),
            98 => match self.rng.random_range(0..3) {
                0 => (anyone, json!({"action": "memory_history", "id": self.id(last)})),
                1 => (orchestrator, json!({"action": "project_sessions"})),
                _ => (5, json!({"action": "export_project"})),
            },
            _ if self.rng.random_bool(0.5) => (5, json!({"action": "delete_project"})),
            _ if self.rng.random_bool(0.3) => (5, json!({"action": "archive_project"})),
            _ => (5, json!({"action": "show_project"})),
        }
    }
}

/// The changes that get no request id.
const WITHOUT_ID: [&str; 3] = ["create_project", "archive_project", "maintain"];

impl Projects {
    /// Returns a request, at times one that was sent before.
    fn request(&mut self, world: &World) -> Request {
        let is_retry = self.rng.random_bool(0.1);
        let again = self.sent.choose(&mut self.rng).cloned().filter(|_| is_retry);
        if let Some(it) = again {
            return it;
        }
        let (nth, mut call) = self.call(world.project());
        let (participant, session) = CALLERS[nth];
        let action = call["action"].as_str().unwrap_or_default();
        let takes_id = shared_context_codec::actions()
            .any(|it| it.name == action && it.optional.contains(&"request_id"));
        if takes_id && !WITHOUT_ID.contains(&action) && self.rng.random_bool(0.4) {
            call["request_id"] = format!("p{}", self.rng.random_range(0..40)).into();
        }
        let request = Request {
            participant: participant.to_owned(),
            keys: Vec::new(),
            credential: None,
            session: session.to_owned(),
            payload: Payload::Call(call),
            during: Vec::new(),
        };
        self.sent.push(request.clone());
        if self.sent.len() > RETRIES_MAX {
            self.sent.remove(0);
        }
        request
    }
}

impl Generator {
    /// Returns a step of the project, in the worlds that have one.
    pub(super) fn project_step(&mut self, world: &World) -> Option<Step> {
        let projects = &mut self.projects;
        if projects.likely == 0.0 || !projects.rng.random_bool(projects.likely) {
            return None;
        }
        if projects.rng.random_bool(0.02) {
            return Some(Step::ClockMs(projects.pick(&[8, 31, 91, 181]) * DAY_MS));
        }
        let is_team = projects.team > 0.0;
        if is_team && projects.rng.random_bool(0.08) {
            return Some(Step::ClockMs(projects.lease_step()));
        }
        let request = projects.request(world);
        let mut during = self.during(world, 0);
        let projects = &mut self.projects;
        if is_team && projects.rng.random_bool(0.15) {
            let (at, other) = (projects.between(), projects.request(world));
            let kind = EventKind::Meanwhile(Step::Project(Box::new(other)));
            during.push(Event { at, kind });
        }
        Some(Step::Project(Box::new(Request { during, ..request })))
    }
}
