//! The interface `packets`.

use serde_json::{Value, json};
use shared_context_wasmtime::bindings::shared_context::core::types::Answer;

use crate::bench::{Bench, call, rejected};

const WORKER: &str = "subagent:impl";
const ORCHESTRATOR: &str = "orchestrator";

fn with_action(action: &str, request: &Value) -> Value {
    let mut request = request.clone();
    request["action"] = json!(action);
    request
}

/// Returns the JSON without the session and what follows from it: the two sessions have different
/// ids.
fn comparable(json: &str) -> Value {
    let mut reply: Value = serde_json::from_str(json).unwrap();
    for place in ["/checksum", "/text", "/packet"] {
        if let Some(it) = reply.pointer_mut(place) {
            *it = Value::Null;
        }
    }
    reply
}

/// Checks that both interfaces answered the same.
#[track_caller]
fn same(typed: &Answer, json: &Value) {
    assert_eq!(comparable(&typed.json), comparable(&json.to_string()));
    assert_eq!(json["revision"], typed.revision);
}

/// Returns a request for a packet.
fn request() -> Value {
    json!({
        "task": "Add JWT auth to the login route", "address": WORKER, "task_type": "implementation",
        "facts": {
            "constraints": ["Do not touch the registration route."],
            "decisions": [{"choice": "Sign JWT with RS256", "reason": "others verify it"}],
        },
    })
}

/// Every function answers as the action of its name, over the life of a packet.
#[test]
fn packets_are_the_same() {
    let it = Bench::new();
    it.write(ORCHESTRATOR, "constraints", "JWT expire after 24 hours.");

    let generate = request();
    let typed = call!(it, packets.call_generate(ORCHESTRATOR, &generate.to_string())).unwrap();
    same(&typed, &it.json(ORCHESTRATOR, with_action("context_generate", &generate)));
    let text = serde_json::from_str::<Value>(&typed.json).unwrap()["text"].to_string();
    for part in ["RS256", "24 hours", "registration"] {
        assert!(text.contains(part), "{part}: {text}");
    }

    let patch =
        json!({"address": WORKER, "patch": {"context": {"success_criteria": ["It works."]}}});
    let typed = call!(it, packets.call_edit(ORCHESTRATOR, &patch.to_string())).unwrap();
    same(&typed, &it.json(ORCHESTRATOR, with_action("context_edit", &patch)));

    for read in [json!({}), json!({"version": 1}), json!({"layer": "history"})] {
        let typed = call!(it, packets.call_read(WORKER, &read.to_string())).unwrap();
        same(&typed, &it.json(WORKER, with_action("context_read", &read)));
    }
    for question in ["Which algorithm signs JWT?", "What is for lunch?"] {
        let query = json!({"question": question});
        let typed = call!(it, packets.call_query(WORKER, &query.to_string())).unwrap();
        same(&typed, &it.json(WORKER, with_action("context_query", &query)));
    }
    let feedback = json!({"outcome": "done", "gaps": ["testing approach"]});
    let typed = call!(it, packets.call_feedback(WORKER, &feedback.to_string())).unwrap();
    same(&typed, &it.json(WORKER, with_action("context_feedback", &feedback)));

    let typed = call!(it, packets.call_stats(ORCHESTRATOR, "{}")).unwrap();
    same(&typed, &it.json(ORCHESTRATOR, with_action("context_stats", &json!({}))));
    let typed = call!(it, packets.call_list_packets(ORCHESTRATOR, "{}")).unwrap();
    same(&typed, &it.json(ORCHESTRATOR, with_action("list_packets", &json!({}))));

    // Feedback removed the packet: its task is done.
    let typed = call!(it, packets.call_generate(ORCHESTRATOR, &generate.to_string())).unwrap();
    same(&typed, &it.json(ORCHESTRATOR, with_action("context_generate", &generate)));
    let clear = json!({"address": WORKER});
    let typed = call!(it, packets.call_clear(ORCHESTRATOR, &clear.to_string())).unwrap();
    same(&typed, &it.json(ORCHESTRATOR, with_action("context_clear", &clear)));
}

/// Every function rejects what the action of its name rejects, with the same words.
#[test]
fn rejected_packets_are_the_same() {
    let it = Bench::new();
    let by_agent = rejected(call!(it, packets.call_generate(WORKER, &request().to_string())));
    assert_eq!(by_agent.code, "FORBIDDEN");
    assert_eq!(by_agent, it.json_rejected(WORKER, with_action("context_generate", &request())));
    let small = json!({"task": "Add JWT auth", "max_tokens": 49});
    let typed = rejected(call!(it, packets.call_generate(ORCHESTRATOR, &small.to_string())));
    assert_eq!(typed, it.json_rejected(ORCHESTRATOR, with_action("context_generate", &small)));
    let typed = rejected(call!(it, packets.call_read(WORKER, "{}")));
    assert_eq!(typed.code, "PACKET_NOT_FOUND");
    assert_eq!(typed, it.json_rejected(WORKER, with_action("context_read", &json!({}))));
    for request in ["", "[]", "{", "{\"task\":1}", "{\"action\":\"read\"}"] {
        let typed = rejected(call!(it, packets.call_generate(ORCHESTRATOR, request)));
        assert_eq!(typed.code, "MALFORMED_REQUEST", "{request}");
    }
}
