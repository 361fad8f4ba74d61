//! Requests about rounds: disagreements, deltas that do not fit, and reads.

use rand::RngExt as _;
use serde_json::{Map, Value, json};

use super::Generator;
use crate::model::Model;

const MEMBERS: [&str; 3] = ["bindings", "entities", "query"];
const STRATEGIES: [&str; 5] =
    ["weighted-merge", "majority-vote", "highest-weight", "union", "expert-override"];
const TERMS: [&str; 3] = ["customer", "order", "item"];

impl Generator {
    /// Returns a request about rounds and the index of its caller.
    pub(super) fn round(&mut self, model: &Model) -> (usize, Value) {
        let is_open = model.rounds.open().is_some();
        let orchestrator = self.mostly(super::requests::ORCHESTRATOR);
        match self.rng.random_range(0..20) {
            0..6 if is_open => (orchestrator, self.close()),
            0..10 if !is_open => (orchestrator, self.open()),
            10..14 => (self.any_caller(), self.read_rounds(model)),
            15..17 if is_open || model.rounds.last() > 0 => {
                let who = self.pick(&[super::requests::ORCHESTRATOR, super::requests::ADMIN]);
                (self.mostly(who), self.redact_rounds())
            }
            17..=18 if is_open => self.exclude(model),
            14 => (orchestrator, if is_open { self.open() } else { self.close() }),
            _ => (self.any_caller(), self.propose()),
        }
    }

    fn open(&mut self) -> Value {
        let mut request = Map::new();
        request.insert("action".to_owned(), json!("open_round"));
        let who = ["subagent:a", "subagent:a:2", "subagent:b", "orchestrator", "subagent:a*"];
        let weights: Vec<Value> = (0..self.rng.random_range(0..4))
            .map(|_| {
                let weight = self.pick(&[0.0, 0.1, 0.2, 0.3, 1.0]);
                json!({"participant": self.pick(&who), "weight": weight})
            })
            .collect();
        request.insert("weights".to_owned(), json!(weights));
        let experts = [self.pick(&who[..4]), self.pick(&who[..4])];
        let mut strategies = Vec::new();
        for member in MEMBERS {
            if self.chance(0.6) {
                let strategy = self.pick(&STRATEGIES);
                let mut rule = json!({"path": format!("$.{member}"), "strategy": strategy});
                if strategy == "expert-override" {
                    rule["experts"] = json!(experts);
                }
                strategies.push(rule);
            }
        }
        request.insert("strategies".to_owned(), json!(strategies));
        if self.chance(0.3) {
            request.insert("query".to_owned(), json!("why"));
        }
        // A small limit rejects states; with clipping the limit stays large.
        let (clip, bytes_max) = self.pick(&[
            ("oldest-first", 90_000),
            ("largest-first", 200_000),
            ("reject", 200_000),
            ("reject", 1_000),
            ("reject", 1_000),
            ("reject", 1_000),
        ]);
        request.insert("clip".to_owned(), json!(clip));
        request.insert("bytes_max".to_owned(), json!(bytes_max));
        self.add_request_id(&mut request);
        Value::Object(request)
    }

    fn close(&mut self) -> Value {
        let mut request = Map::new();
        request.insert("action".to_owned(), json!("close_round"));
        if self.chance(0.15) {
            request.insert("discard".to_owned(), json!(true));
        }
        self.add_request_id(&mut request);
        Value::Object(request)
    }

    /// Redacts words that occur in values, names, paths and provenances, and one that does not
    /// occur.
    fn redact_rounds(&mut self) -> Value {
        let text =
            self.pick(&["customer", "name", "tags", "long ", "as s", "seen", "seen", "nowhere"]);
        json!({"action": "redact_rounds", "text": text, "reason": "a \"secret\""})
    }

    fn propose(&mut self) -> Value {
        let deltas: Vec<Value> =
            (0..self.pick(&[1, 1, 1, 2, 3])).map(|_| self.delta_of_round()).collect();
        let mut request = Map::new();
        request.insert("action".to_owned(), json!("propose_deltas"));
        request.insert("deltas".to_owned(), json!(deltas));
        self.add_request_id(&mut request);
        Value::Object(request)
    }

    /// Withdraws or rejects deltas of the open round, sometimes those of another participant or
    /// that do not exist.
    fn exclude(&mut self, model: &Model) -> (usize, Value) {
        let count = model.rounds.open().map_or(0, |it| it.round.deltas);
        let mut request = Map::new();
        let mut sequences = vec![self.rng.random_range(1..count + 2)];
        if count > 0 && self.chance(0.3) {
            sequences.push(sequences[0] % (count + 1) + 1);
        }
        request.insert("sequences".to_owned(), json!(sequences));
        let is_rejection = self.chance(0.4);
        if is_rejection {
            request.insert("reason".to_owned(), json!(self.pick(&["as seen before", "no"])));
        }
        let action = if is_rejection { "reject_deltas" } else { "withdraw_deltas" };
        request.insert("action".to_owned(), json!(action));
        self.add_request_id(&mut request);
        let caller = if is_rejection {
            self.mostly(super::requests::ORCHESTRATOR)
        } else {
            self.any_caller()
        };
        (caller, Value::Object(request))
    }

    fn delta_of_round(&mut self) -> Value {
        if self.chance(0.3) {
            // One term, so that a later round finds it bound to something else.
            let concept = format!("c:{}", self.rng.random_range(0..5));
            let path = "$.bindings.customer";
            return json!({"operation": "add", "path": path, "value": concept, "provenance": "as seen"});
        }
        let (path, value) = self.path_and_value();
        let operation = self.pick(&["add", "add", "add", "modify", "modify", "remove"]);
        let mut delta = json!({"operation": operation, "path": path, "provenance": "as seen"});
        if operation != "remove" {
            delta["value"] = value;
        }
        delta
    }

    /// Returns a path and a value that usually fits it.
    fn path_and_value(&mut self) -> (String, Value) {
        let term = self.pick(&TERMS);
        let concept = json!(format!("c:{}", self.rng.random_range(0..3)));
        let nth = self.rng.random_range(0..3);
        match self.rng.random_range(0..12) {
            0 | 1 | 10 | 11 => (format!("$.bindings.{term}"), self.bound(concept)),
            2 => ("$.bindings".to_owned(), json!({term: self.bound(concept)})),
            3 if self.chance(0.7) => ("$.query".to_owned(), json!("long ".repeat(200))),
            3 => ("$.query".to_owned(), json!(self.pick(&["who", "what", "why"]))),
            4 | 5 => ("$.entities".to_owned(), self.entity()),
            6 => (format!("$.entities[{nth}]"), self.entity()),
            7 => (format!("$.entities[{nth}].tags"), json!([self.rng.random_range(0..3)])),
            8 => (format!("$.entities[{nth}].name"), json!(self.pick(&["x", "y"]))),
            _ if self.chance(0.5) => ("$.rules".to_owned(), json!(["long ".repeat(200)])),
            _ => ("$.rules".to_owned(), json!([self.rng.random_range(0..3)])),
        }
    }

    /// Returns the value for a term: usually the concept, sometimes an invalid value.
    fn bound(&mut self, concept: Value) -> Value {
        match self.rng.random_range(0..24) {
            0 => json!([concept, "c:9"]),
            1 => json!({"now": concept}),
            2 => json!([]),
            _ => concept,
        }
    }

    fn entity(&mut self) -> Value {
        let mut entity = json!({"name": self.pick(&["x", "y", "z"])});
        if self.chance(0.5) {
            entity["tags"] = self.pick(&[0, 1, 2]).into();
            entity["id"] = entity["tags"].clone();
        }
        if self.chance(0.3) {
            entity["tags"] = json!([self.rng.random_range(0..3)]);
        }
        if self.chance(0.2) {
            entity["size"] = json!(self.pick(&[1e15, 0.5, -1e15, -1e-7]));
        }
        if self.chance(0.5) {
            entity["below"] = (0..25).fold(json!(0), |it, _| json!([it]));
        }
        if self.chance(0.2) { json!([entity, {}]) } else { entity }
    }

    fn read_rounds(&mut self, model: &Model) -> Value {
        let last = model.rounds.last();
        let round = last.saturating_add_signed(self.rng.random_range(-2..2));
        match self.rng.random_range(0..6) {
            0 => json!({"action": "read_state"}),
            1 => json!({"action": "read_state", "round": round}),
            2 => json!({"action": "read_deltas", "limit": 2, "after": format!("{round}.1")}),
            3 => json!({"action": "read_deltas", "round": round}),
            4 => json!({"action": "read_deltas", "path": self.path_and_value().0}),
            5 if round % 2 == 0 => {
                let who = ["subagent:a", "subagent:b", "orchestrator"];
                let outcome = ["pending", "applied", "lost", "refused", "withdrawn", "rejected"];
                let nth = usize::try_from(last).unwrap_or_default();
                json!({"action": "read_deltas", "participant": who[nth % 3],
                    "outcome": outcome[nth % 6], "form": "brief"})
            }
            _ => json!({"action": "convergence"}),
        }
    }
}
