//! Requests to the context pipeline.

use rand::RngExt as _;
use serde_json::{Value, json};
use shared_context_core::context::kept::ENVELOPES_MAX;

use super::Generator;
use crate::{
    fixtures::CALLERS,
    model::Model,
    script::{Call, Event, EventKind, NthCall, Payload, Request, Step},
};

impl Generator {
    /// Returns a request to the context pipeline and the index of its caller.
    pub(super) fn context(&mut self, model: &Model) -> (usize, Value) {
        let (anyone, participant) = (self.rng.random_range(0..CALLERS.len()), self.any_caller());
        match self.rng.random_range(0..25) {
            0..10 => (self.mostly(participant), self.assembly(model, true)),
            10..12 => (anyone, self.assembly(model, false)),
            12 => (anyone, self.plan_window()),
            13 => (anyone, json!({"action": "read_envelope", "envelope": self.envelope(model)})),
            14..18 => {
                (anyone, json!({"action": "export_evidence", "envelope": self.envelope(model)}))
            }
            18 | 19 => (self.mostly(participant), self.injection(model)),
            20 => (anyone, json!({"action": "list_missing"})),
            24 => (anyone, self.compaction(model)),
            _ => (self.mostly(participant), self.missing_context(model)),
        }
    }

    /// Returns events that repeat a kept assembly until every older envelope is evicted, for few of
    /// these requests.
    pub(super) fn burst(&mut self, request: &Request) -> Option<Vec<Event>> {
        let Payload::Call(call) = &request.payload else { return None };
        if call.get("keep").is_none() || !self.chance(0.03) {
            return None;
        }
        let mut call = call.clone();
        // Each of them keeps a separate envelope.
        call.as_object_mut()?.remove("request_id");
        let again = Request { payload: Payload::Call(call), ..request.clone() };
        let kind = EventKind::Meanwhile(Step::Ask(Box::new(again)));
        let event = Event { at: NthCall(Call::Answer, 1), kind };
        Some(vec![event; ENVELOPES_MAX + 1])
    }

    /// Returns the id of an envelope: mostly of a kept one, sometimes of one that was evicted or
    /// never was.
    fn envelope(&mut self, model: &Model) -> String {
        let kept = &model.context.envelopes;
        let number = if self.chance(0.85) && !kept.is_empty() {
            kept[self.rng.random_range(0..kept.len())].number
        } else {
            self.rng.random_range(1..=model.context.last_envelope + 2)
        };
        format!("ENV-{number}")
    }

    /// Returns a text that often has the value of an entry in it.
    pub(super) fn text(&mut self, model: &Model) -> String {
        let values = model.all_versions();
        if values.is_empty() || self.chance(0.4) {
            return self.pick(&["the first value", "the name of a customer", "§ 1"]).to_owned();
        }
        format!("as in {:?}", values[self.rng.random_range(0..values.len())].value)
    }

    /// Returns a request to assemble a context, which keeps its envelope or not.
    fn assembly(&mut self, model: &Model, keeps: bool) -> Value {
        let mut request = json!({
            "action": "assemble_context",
            "entries": self.pick(&["*", "*", "*", "key_*", "inv:*"]),
            "budget": {"tokens": self.pick(&[10, 100, 200, 2_000, 2_000, 2_000, 2_000])},
            "rank_by": self.pick(&["both", "both", "both", "score", "relevance"]),
            "format": self.pick(&["markdown", "text", "relevant_context"]),
        });
        if self.chance(0.4) {
            request["task"] = json!(self.text(model));
        }
        if self.chance(0.4) {
            request["items"] = self.items(model);
        }
        if self.chance(0.3) {
            request["previous"] = json!(self.envelope(model));
        }
        if self.chance(0.15) {
            request["round_state"] = json!(true);
        }
        if self.chance(0.05) {
            request["pinned"] = json!(["entry:key_0"]);
        }
        if keeps {
            request["keep"] = json!(true);
        }
        if keeps || self.chance(0.1) { self.named(request) } else { request }
    }

    /// Returns items, some of which are not for auditors, are no text, or have the id of an entry.
    fn items(&mut self, model: &Model) -> Value {
        let text = self.text(model);
        let mut items = vec![json!({"id": "a.rs", "kind": "file_excerpt", "text": text})];
        if self.chance(0.4) {
            let (text, targets) = (self.text(model), self.pick(&["model", "ui"]));
            items.push(json!({"id": "note", "kind": "user_message", "text": text,
                "targets": [targets]}));
        }
        if self.chance(0.3) {
            let digest = format!("sha256:{}", "5a".repeat(32));
            items.push(json!({"id": "ref", "kind": "artifact_ref", "digest": digest, "tokens": 7}));
        }
        if self.chance(0.03) {
            items.push(json!({"id": "entry:key_0", "kind": "custom", "text": "another"}));
        }
        json!(items)
    }

    /// Returns a request of compaction about a conversation that often has values of entries in it.
    fn compaction(&mut self, model: &Model) -> Value {
        let mut items = Vec::new();
        for nth in 0..self.rng.random_range(0..6) {
            let begin = self.pick(&["DECISION: Use", "Never write", "BUG-1: fails", "ok", ""]);
            let text = format!("{begin} {}", self.text(model));
            let kind = self.pick(&["user_message", "session_history", "tool_result"]);
            items.push(json!({"id": format!("m{nth}"), "kind": kind, "text": text}));
        }
        match self.rng.random_range(0..4) {
            0 => json!({"action": "extract", "items": items}),
            1 => json!({"action": "check_summary", "items": items, "summary": self.text(model),
                "repair": true, "max_tokens": self.pick(&[1, 40, 400])}),
            _ => {
                let mut request = json!({"action": "compact", "items": items,
                    "target_tokens": self.pick(&[1, 20, 60, 2_000])});
                if self.chance(0.6) {
                    request["keep"] = json!(true);
                }
                if self.chance(0.5) { self.named(request) } else { request }
            }
        }
    }

    fn injection(&mut self, model: &Model) -> Value {
        let request = json!({
            "action": "record_injection",
            "envelope": self.envelope(model),
            "place": self.pick(&["system_prompt", "ui_panel"]),
            "target": self.pick(&["model", "user"]),
        });
        self.named(request)
    }

    /// Returns a request that reports missing context or answers it.
    fn missing_context(&mut self, model: &Model) -> Value {
        let request = if self.chance(0.4) {
            let number = self.rng.random_range(1..=model.context.last_missing + 2);
            let answer = self.text(model);
            json!({"action": "answer_missing", "missing": format!("MIS-{number}"), "answer": answer})
        } else {
            let (kind, text) = (self.pick(&["blocker", "input"]), self.text(model));
            let mut report = json!({"action": "report_missing", "kind": kind, "text": text});
            if self.chance(0.5) {
                report["envelope"] = json!(self.envelope(model));
            }
            report
        };
        self.named(request)
    }

    fn plan_window(&mut self) -> Value {
        let mut request = json!({
            "action": "plan_window",
            "used_tokens": self.pick(&[0, 159_999, 160_000, 190_000]),
            "operations": self.pick(&[0, 49, 50]),
        });
        match self.rng.random_range(0..4) {
            0 => request["parts"] = json!({"active": self.pick(&[0, 50_000, 90_000])}),
            1 => request["sample"] = json!("a sample of the window"),
            2 => {
                request["sample"] = json!("");
                request["encoding"] = json!("o200k_base");
            }
            _ => request["reports"] = json!(["handoff"]),
        }
        request
    }
}
