//! The interface `compaction`.

use serde_json::{Value, json};
use shared_context_wasmtime::bindings::shared_context::core::types::Answer;

use crate::bench::{Bench, call, rejected};

/// Returns a conversation that can be compacted to 100 tokens.
fn conversation() -> Value {
    let rows: Vec<String> = (0..80).map(|it| format!("{it:03} rows copied\n")).collect();
    json!([
        {"id": "m1", "kind": "user_message", "authority": "user", "text": "Move the orders."},
        {"id": "m2", "kind": "session_history", "authority": "model",
            "text": "DECISION: Use PostgreSQL 17 for orders."},
        {"id": "t1", "kind": "tool_result", "authority": "tool_internal", "text": rows.concat()},
        {"id": "m3", "kind": "user_message", "authority": "user", "text": "What is next?"},
    ])
}

fn with_action(action: &str, request: &Value) -> Value {
    let mut request = request.clone();
    request["action"] = json!(action);
    request
}

/// Checks that both interfaces answered the same.
fn same(typed: &Answer, json: &Value) {
    assert_eq!(serde_json::from_str::<Value>(&typed.json).unwrap(), *json);
    assert_eq!(json["revision"], typed.revision);
}

/// Every function answers as the action of its name.
#[test]
fn compactions_are_the_same() {
    let it = Bench::new();
    let items = conversation();
    for request in [
        json!({"items": []}),
        json!({"items": items}),
        json!({"items": items, "from": {"item": "m2"}}),
    ] {
        let typed = call!(it, compaction.call_extract("subagent:a", &request.to_string()));
        same(&typed.unwrap(), &it.json("subagent:a", with_action("extract", &request)));
    }
    for request in [
        json!({"items": items}),
        json!({"items": items, "target_tokens": 100, "task": "orders", "weighting": "dense"}),
        json!({"items": items, "reduction_percent": 40, "dry_run": true}),
    ] {
        let typed = call!(it, compaction.call_compact("admin", &request.to_string()));
        same(&typed.unwrap(), &it.json("admin", with_action("compact", &request)));
    }
    for request in [
        json!({"items": items, "summary": "We use PostgreSQL 17 for orders."}),
        json!({"items": items, "summary": "", "repair": true, "max_tokens": 500}),
    ] {
        let typed = call!(it, compaction.call_check_summary("orchestrator", &request.to_string()));
        same(&typed.unwrap(), &it.json("orchestrator", with_action("check_summary", &request)));
    }
}

/// A compaction that is kept is read by the functions for envelopes.
#[test]
fn kept_compactions_are_the_same() {
    let it = Bench::new();
    let mut request = json!({"items": conversation(), "target_tokens": 100, "keep": true});
    let typed = call!(it, compaction.call_compact("subagent:a", &request.to_string())).unwrap();
    assert!(typed.json.contains("\"ENV-1\""), "{}", typed.json);
    same(&typed, &it.json("subagent:a", with_action("compact", &request)));
    let read = call!(it, context.call_read_envelope("orchestrator", "ENV-1")).unwrap();
    let read: Value = serde_json::from_str(&read.json).unwrap();
    assert_eq!(read["envelope"]["format"], "shared-context/compaction/1");
    let evidence = call!(it, context.call_export_evidence("subagent:a", "ENV-1")).unwrap();
    let evidence: Value = serde_json::from_str(&evidence.json).unwrap();
    assert_eq!(evidence["parts"][0]["text"], "Move the orders.");

    request["request_id"] = json!("c-1");
    let first = call!(it, compaction.call_compact("subagent:a", &request.to_string())).unwrap();
    let again = call!(it, compaction.call_compact("subagent:a", &request.to_string())).unwrap();
    assert_eq!((first.json, first.revision), (again.json, again.revision));
    request["dry_run"] = json!(true);
    let typed = rejected(call!(it, compaction.call_compact("subagent:a", &request.to_string())));
    assert_eq!(typed, it.json_rejected("subagent:a", with_action("compact", &request)));
}

/// Every function rejects what the action of its name rejects, with the same words.
#[test]
fn rejected_compactions_are_the_same() {
    let it = Bench::new();
    let items = conversation();
    let request = json!({"items": items, "target_tokens": 1});
    let typed = rejected(call!(it, compaction.call_compact("subagent:a", &request.to_string())));
    assert_eq!(typed.code, "TARGET_UNREACHABLE");
    assert_eq!(typed, it.json_rejected("subagent:a", with_action("compact", &request)));
    let request = json!({"items": items, "from": {"item": "m9"}});
    let typed = rejected(call!(it, compaction.call_extract("subagent:a", &request.to_string())));
    assert_eq!(typed, it.json_rejected("subagent:a", with_action("extract", &request)));
    let request = json!({"items": items, "summary": "x", "max_tokens": 9});
    let typed =
        rejected(call!(it, compaction.call_check_summary("subagent:a", &request.to_string())));
    assert_eq!(typed, it.json_rejected("subagent:a", with_action("check_summary", &request)));
    for request in ["", "[]", "{", "{\"items\":1}", "{\"action\":\"read\"}"] {
        let typed = rejected(call!(it, compaction.call_compact("orchestrator", request)));
        assert_eq!(typed.code, "MALFORMED_REQUEST", "{request}");
    }
}
