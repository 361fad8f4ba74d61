//! Requests about packets.

use rand::RngExt as _;
use serde_json::{Value, json};

use super::{
    Generator,
    requests::{ADMIN, ORCHESTRATOR},
};
use crate::{
    fixtures::{ADDRESSES, CALLERS},
    model::Model,
};

impl Generator {
    /// Returns a request about packets and the index of its caller.
    pub(super) fn packet(&mut self, model: &Model) -> (usize, Value) {
        let (anyone, reader) = (self.rng.random_range(0..CALLERS.len()), self.any_caller());
        match self.rng.random_range(0..20) {
            0..6 => (self.mostly(ORCHESTRATOR), self.generation(model)),
            6 => {
                let edit = json!({
                    "action": "context_edit",
                    "address": self.pick(&ADDRESSES),
                    "patch": {"context": {"open_questions": [self.text(model)]}},
                });
                (self.mostly(ORCHESTRATOR), self.named(edit))
            }
            7..12 => (anyone, self.packet_read()),
            12 | 13 => {
                let question = self.text(model);
                (reader, self.at_address(json!({"action": "context_query", "question": question})))
            }
            14..17 => {
                let feedback = json!({
                    "action": "context_feedback",
                    "outcome": self.pick(&["done", "failed", "abandoned"]),
                    "gaps": [self.text(model)],
                    "unused": self.pick(&[&[][..], &["decisions"], &["files", "pivots"]]),
                    "note": self.text(model),
                });
                let feedback = self.at_address(feedback);
                (self.mostly(reader), self.named(feedback))
            }
            17 => (anyone, json!({"action": "list_packets"})),
            18 => (self.mostly(ADMIN), json!({"action": "context_stats"})),
            _ => {
                let address = self.pick(&ADDRESSES);
                let clear = json!({"action": "context_clear", "address": address});
                (self.mostly(ORCHESTRATOR), self.named(clear))
            }
        }
    }

    /// Names an address in some requests.
    fn at_address(&mut self, mut request: Value) -> Value {
        if self.chance(0.5) {
            request["address"] = json!(self.pick(&ADDRESSES));
        }
        request
    }

    /// Returns a request that writes a packet, or writes it again.
    fn generation(&mut self, model: &Model) -> Value {
        let address = self.pick(&ADDRESSES);
        if self.chance(0.2) {
            let again = json!({"action": "context_generate", "address": address, "refresh": true});
            return self.named(again);
        }
        let mut request = json!({
            "action": "context_generate",
            "address": address,
            "task": self.text(model),
            "depth": self.pick(&["minimal", "standard", "deep", "deep"]),
            "form": self.pick(&["markdown", "markdown", "yaml", "json"]),
        });
        if self.chance(0.5) {
            request["task_type"] = json!(self.pick(&["review", "repair"]));
        }
        if self.chance(0.3) {
            request["max_tokens"] = json!(self.pick(&[50, 120, 2_000]));
        }
        if self.chance(0.5) {
            let [choice, rule, tried] = [0; 3].map(|_| self.text(model));
            request["facts"] = json!({
                "decisions": [{"choice": choice, "reason": "so", "made_by": "user"}],
                "constraints": [rule],
                "failed_attempts": [{"approach": tried, "reason_failed": "slow"}],
            });
        }
        if self.chance(0.3) {
            let said = format!("DECISION: Use {}.", self.text(model));
            request["conversation"] = json!([{"id": "m", "kind": "user_message", "text": said}]);
        }
        if self.chance(0.2) {
            let text = self.text(model);
            request["files"] = json!([{"path": "a.rs", "text": text}]);
        }
        if self.chance(0.15) {
            request["keys"] = json!(["key_0"]);
        }
        if self.chance(0.1) {
            request["preview"] = json!(true);
        }
        self.named(request)
    }

    fn packet_read(&mut self) -> Value {
        let mut request = json!({
            "action": "context_read",
            "form": self.pick(&["markdown", "yaml", "json"]),
        });
        match self.rng.random_range(0..8) {
            0 => request["layer"] = json!(self.pick(&["goal", "decisions", "codebase", "history"])),
            1 => request["depth"] = json!(self.pick(&["minimal", "standard", "deep"])),
            2 => request["version"] = json!(self.rng.random_range(1..4)),
            _ => {}
        }
        self.at_address(request)
    }
}
