//! Requests to the outline of the project, its owners and handoffs.

use rand::RngExt as _;
use serde_json::{Value, json};

use super::projects::Projects;
use crate::{
    script::{Call, NthCall},
    world::ProjectView,
};

/// The sections: few, so that everyone wants the same ones.
const MARKERS: [&str; 6] = ["§3.1", "§3.2", "§2.1", "§3.1.1", "§1.0", "§4.a"];
/// The receivers: a participant, the session that it must act in, and its number among the callers.
const RECEIVERS: [(&str, &str, usize); 5] = [
    ("subagent:a", "beta", 3),
    ("subagent:b", "beta", 4),
    ("subagent:b", "", 4),
    ("subagent:a", "", 2),
    ("orchestrator", "alpha", 0),
];

impl Projects {
    fn marker(&mut self) -> &'static str {
        self.pick(&[
            MARKERS[0], MARKERS[0], MARKERS[0], MARKERS[1], MARKERS[1], MARKERS[2], MARKERS[3],
            MARKERS[4], MARKERS[5],
        ])
    }

    fn handoff(&mut self, last: u64) -> String {
        if self.rng.random_bool(0.5) {
            return format!("HND-{}", last.max(1));
        }
        let from = last.saturating_sub(3).max(1);
        format!(
            "HND-{}",
            self.rng.random_range(from..=last.max(1) + u64::from(last.is_multiple_of(4)))
        )
    }

    /// Adds the time that a lease or an offer lasts, most often a short one.
    fn lasting(&mut self, mut call: Value) -> Value {
        let seconds = self.pick(&[60, 60, 120, 600, 0]);
        if seconds > 0 {
            call["ttl_seconds"] = seconds.into();
        }
        call
    }

    fn put(&mut self) -> Value {
        let mut it =
            json!({"action": "put_section", "marker": self.marker(), "title": self.text()});
        it["content"] = match self.rng.random_range(0..60) {
            0 => "word".repeat(4_000).into(),
            1..4 => "PRUNE: for later".into(),
            4..10 => format!("{} see §3.2 and §4.a", self.text()).into(),
            10..16 => Value::Null,
            _ => self.text().into(),
        };
        if it["content"].is_null() {
            if let Some(it) = it.as_object_mut() {
                it.remove("content");
            }
            it["progress"] = self.pick(&[0, 50, 100]).into();
        }
        if self.rng.random_bool(0.1) {
            it["if_version"] = self.pick(&[0, 1, 2, 3]).into();
        }
        it
    }

    /// Begins a handoff whose receiver accepts it, of a section that the giver wrote.
    fn hand_over(&mut self, last: u64) -> (usize, Value) {
        let (giver, marker) = (self.pick(&[0, 1, 2, 3, 4]), self.marker());
        let (mut offer, receiver) = self.offer();
        offer["sections"] = json!([marker]);
        let accept = json!({"action": "accept_handoff", "id": format!("HND-{}", last + 1)});
        self.begun = vec![(receiver, accept), (giver, offer)];
        let mut put = self.put();
        put["marker"] = marker.into();
        (giver, put)
    }

    /// Returns an offer, and the number of its receiver.
    fn offer(&mut self) -> (Value, usize) {
        let (agent, session, receiver) = self.pick(&RECEIVERS);
        let kind = self.pick(&["complete", "specialist", "continuation", "emergency"]);
        let mut it = json!({"action": "offer_handoff", "to_agent": agent, "handoff_type": kind,
            "summary": "It works so far", "completed": ["login"], "max_tokens": 4_000});
        if !session.is_empty() {
            it["to_session_id"] = session.into();
        }
        if self.rng.random_bool(0.5) {
            it["sections"] = json!([self.marker()]);
        }
        (self.lasting(it), receiver)
    }

    /// Returns a request of a participant to the outline or to handoffs.
    pub(super) fn team_call(&mut self, view: ProjectView) -> (usize, Value) {
        let anyone = self.pick(&[0, 1, 2, 2, 3, 3, 4, 4]);
        let orchestrator = self.pick(&[0, 0, 1, 2]);
        if self.rng.random_bool(0.7)
            && let Some(next) = self.begun.pop()
        {
            return next;
        }
        let (marker, last) = (self.marker(), view.handoff);
        match self.rng.random_range(0..100) {
            0..26 => (anyone, self.put()),
            26..31 => {
                let mut it = json!({"action": "read_section", "marker": marker});
                match self.rng.random_range(0..4) {
                    0 => it["level"] = self.pick(&[1, 2, 3, 4]).into(),
                    1 => it["version"] = self.pick(&[1, 2, 3]).into(),
                    _ => {}
                }
                (anyone, it)
            }
            31 => (anyone, json!({"action": "read_index", "max_tokens": 100})),
            32 => (orchestrator, json!({"action": "check_outline"})),
            33..36 => (anyone, json!({"action": "coordination"})),
            36..39 => (anyone, json!({"action": "delete_section", "marker": marker})),
            39..50 => {
                let mut it = json!({"action": "acquire", "marker": marker});
                if self.rng.random_bool(0.3) {
                    it["ownership"] = self.pick(&["exclusive", "shared-write", "read-only"]).into();
                }
                (anyone, self.lasting(it))
            }
            50..56 => {
                let it = json!({"action": "renew", "marker": marker});
                (anyone, self.lasting(it))
            }
            56..60 => (anyone, json!({"action": "release", "marker": marker})),
            60..66 => {
                let (to, session, _) = self.pick(&RECEIVERS);
                let mut it = json!({"action": "transfer", "marker": marker, "to": to});
                if !session.is_empty() {
                    it["to_session"] = session.into();
                }
                (anyone, self.lasting(it))
            }
            66..70 => {
                let version = view.sync_version + u64::from(self.rng.random_bool(0.2));
                let it = json!({"action": "coordinate", "sync_version": version,
                    "global_blockers": ["the review"]});
                (anyone, it)
            }
            70..72 => {
                let it = json!({"action": "redact_section", "marker": marker, "reason": "a name"});
                (orchestrator, it)
            }
            72..78 => (anyone, self.offer().0),
            78..81 => self.hand_over(last),
            81..89 => (anyone, json!({"action": "accept_handoff", "id": self.handoff(last)})),
            89 => {
                let id = self.handoff(last);
                (anyone, json!({"action": "decline_handoff", "id": id, "reason": "no time"}))
            }
            90..94 => {
                let from = self.pick(&["subagent:a", "subagent:b"]);
                let mut it = json!({"action": "take_over", "from_agent": from,
                    "sections": [marker], "max_tokens": 4_000});
                if self.rng.random_bool(0.5) {
                    it["to_agent"] = "subagent:b".into();
                    it["to_session_id"] = "beta".into();
                }
                (self.pick(&[0, 1]), it)
            }
            94 => (anyone, json!({"action": "list_handoffs"})),
            95..97 => (anyone, json!({"action": "read_handoff", "id": self.handoff(last)})),
            97 => {
                let id = self.handoff(last);
                (orchestrator, json!({"action": "redact_handoff", "id": id, "reason": "a name"}))
            }
            98 => {
                let id = self.id(view.memory);
                (anyone, json!({"action": "trace_decision", "id": id}))
            }
            _ => (anyone, json!({"action": "project_prompt", "task": "pool", "max_tokens": 5_000})),
        }
    }

    /// Returns how far the clock steps in a world whose team has leases.
    pub(super) fn lease_step(&mut self) -> i64 {
        self.pick(&[-90_000, -30_000, -1_000, 20_000, 59_999, 61_000, 130_000, 1_900_000])
    }

    /// Returns a call of a request at which another one is sent.
    pub(super) fn between(&mut self) -> NthCall {
        let read = self.rng.random_range(1..12);
        self.pick(&[
            NthCall(Call::Open, 1),
            NthCall(Call::Clock, 1),
            NthCall(Call::Read, read),
            NthCall(Call::Commit, 1),
            NthCall(Call::Commit, 1),
            NthCall(Call::Log, 1),
            NthCall(Call::Answer, 1),
        ])
    }
}
