//! Requests to the project.
//!
//! They come from random numbers of their own, so that a world without a project is the same as
//! before there were any.

use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng, seq::IndexedRandom as _};
use serde_json::{Value, json};

use super::{Generator, RETRIES_MAX};
use crate::{
    script::{Payload, Request, Step},
    world::World,
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

/// What the generator of projects keeps.
#[derive(Debug)]
pub(super) struct Projects {
    rng: ChaCha8Rng,
    /// How likely a step is one of the project.
    likely: f64,
    /// Recent requests.
    sent: Vec<Request>,
    words: u32,
}

impl Projects {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(!seed);
        let likely = [0.0, 0.0, 0.1, 0.4][rng.random_range(0..4)];
        Self { rng, likely, sent: Vec::new(), words: 0 }
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.random_range(0..of.len())]
    }

    /// Returns the reference to one of the last memories, or to none.
    fn id(&mut self, last: u64) -> Value {
        let from = last.saturating_sub(12).max(1);
        format!("#{}", self.rng.random_range(from..=last.max(1) + 1)).into()
    }

    /// Returns a text with a word that no other text has.
    fn text(&mut self) -> String {
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

    fn call(&mut self, is_there: bool, last: u64) -> (usize, Value) {
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
        let is_retry = projects.rng.random_bool(0.1);
        let again = projects.sent.choose(&mut projects.rng).cloned().filter(|_| is_retry);
        let request = again.unwrap_or_else(|| {
            let (is_there, last) = world.project();
            let (nth, mut call) = projects.call(is_there, last);
            let (participant, session) = CALLERS[nth];
            let takes_id = [
                "add_memories",
                "update_memory",
                "supersede_memory",
                "mark_memories",
                "redact_memory",
            ];
            if takes_id.iter().any(|it| call["action"] == *it) && projects.rng.random_bool(0.4) {
                call["request_id"] = format!("p{}", projects.rng.random_range(0..40)).into();
            }
            let request = Request {
                participant: participant.to_owned(),
                keys: Vec::new(),
                credential: None,
                session: session.to_owned(),
                payload: Payload::Call(call),
                during: Vec::new(),
            };
            projects.sent.push(request.clone());
            if projects.sent.len() > RETRIES_MAX {
                projects.sent.remove(0);
            }
            request
        });
        let during = self.during(world, 0);
        Some(Step::Project(Box::new(Request { during, ..request })))
    }
}
