//! The interface `memories`.

use serde_json::{Value, json};
use shared_context_wasmtime::{Caller, bindings::shared_context::core::types::Answer};

use crate::bench::{Bench, COMPONENT, call, rejected};

const ORCHESTRATOR: &str = "orchestrator";

/// Returns the JSON tool's reply to `action` on the project `json`.
fn ask(bench: &Bench, action: &str, request: &Value) -> Value {
    let mut request = request.clone();
    request["action"] = json!(action);
    let (caller, request) = (Caller::trusted(ORCHESTRATOR), request.to_string());
    let reply = COMPONENT.invoke(&bench.host, "project/json", &caller, request.as_bytes()).unwrap();
    serde_json::from_slice(&reply.body).unwrap()
}

/// Returns a reply without what depends on the id of the project.
fn comparable(json: &Value) -> Value {
    let mut text = json.to_string();
    for (place, _) in text.clone().match_indices("-8") {
        // The digest in the id of a memory, before and after the version.
        if let Some(start) = place.checked_sub(13)
            && text.get(start..start + 36).is_some_and(|it| it.matches('-').count() == 4)
        {
            text.replace_range(start..start + 24, "--------digest----------");
        }
    }
    serde_json::from_str(&text.replace("typed", "json")).unwrap()
}

/// Every function answers as its action, over the life of memories.
#[test]
fn memories_are_the_same() {
    let it = Bench::new();
    call!(it, projects.call_create("admin", "{}")).unwrap();
    let (admin, create) = (Caller::trusted("admin"), br#"{"action":"create_project"}"#);
    COMPONENT.invoke(&it.host, "project/json", &admin, create).unwrap();
    let same = |typed: Answer, json: Value| {
        assert_eq!(json["revision"], typed.revision);
        let typed = serde_json::from_str(&typed.json).unwrap();
        assert_eq!(comparable(&typed), comparable(&json));
        typed
    };

    let decision = |title: &str| json!({"memory_type": "decision", "title": title, "importance": 8, "content": {"decision": title}});
    let new = json!({"memories": [decision("Use PostgreSQL"), decision("Use SQLite")]});
    let typed = call!(it, memories.call_add(ORCHESTRATOR, &new.to_string())).unwrap();
    let added: Value = same(typed, ask(&it, "add_memories", &new));
    let ids: Vec<&str> = added["memories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["decision_id"].as_str().unwrap())
        .collect();

    let one = json!({"ids": [ids[0]]});
    let typed = call!(it, memories.call_read(ORCHESTRATOR, &one.to_string())).unwrap();
    same(typed, ask(&it, "read_memories", &one));
    let change = json!({"id": ids[0], "importance": 9});
    let typed = call!(it, memories.call_update(ORCHESTRATOR, &change.to_string())).unwrap();
    same(typed, ask(&it, "update_memory", &change));
    let by = json!({"id": ids[0], "by": ids[1]});
    let typed = call!(it, memories.call_supersede(ORCHESTRATOR, &by.to_string())).unwrap();
    same(typed, ask(&it, "supersede_memory", &by));
    let mark = json!({"ids": [ids[0]], "mark": "active"});
    let typed = call!(it, memories.call_mark(ORCHESTRATOR, &mark.to_string())).unwrap();
    same(typed, ask(&it, "mark_memories", &mark));
    let search = json!({"query": "PostgreSQL"});
    let typed = call!(it, memories.call_search(ORCHESTRATOR, &search.to_string())).unwrap();
    let found = same(typed, ask(&it, "search_memories", &search));
    assert_eq!((&found["total"], &found["memories"][0]["importance"]), (&json!(1), &json!(9)));
    let typed = call!(it, memories.call_rehydrate(ORCHESTRATOR, "{}")).unwrap();
    let told = same(typed, ask(&it, "rehydrate", &json!({})));
    assert!(told["text"].as_str().unwrap().contains("Use SQLite"), "{told}");
    let typed = call!(it, memories.call_maintain(ORCHESTRATOR, r#"{"dry_run":true}"#)).unwrap();
    same(typed, ask(&it, "maintain", &json!({"dry_run": true})));
    let typed = call!(it, memories.call_decision_log(ORCHESTRATOR, "{}")).unwrap();
    same(typed, ask(&it, "decision_log", &json!({})));
    let secret = json!({"id": ids[1], "reason": "holds a password"});
    let typed = call!(it, memories.call_redact(ORCHESTRATOR, &secret.to_string())).unwrap();
    same(typed, ask(&it, "redact_memory", &secret));

    let versions = json!({"id": ids[1]});
    let typed = call!(it, memories.call_history(ORCHESTRATOR, &versions.to_string())).unwrap();
    same(typed, ask(&it, "memory_history", &versions));

    let refused = rejected(call!(it, memories.call_add(ORCHESTRATOR, r#"{"memories":[]}"#)));
    assert_eq!(refused.code, "MALFORMED_REQUEST");
}

/// The summary of a session is the same, and its memories can be added as they are.
#[test]
fn a_summary_proposes_memories_that_can_be_added() {
    let it = Bench::new();
    call!(it, projects.call_create("admin", "{}")).unwrap();
    let said = json!({"conversation": [
        {"id": "1", "kind": "user_message", "text": "DECISION: Use PostgreSQL for orders."},
    ]});
    let typed = call!(it, memories.call_summarize(ORCHESTRATOR, &said.to_string())).unwrap();
    let summary: Value = serde_json::from_str(&typed.json).unwrap();
    let memory = &summary["summary"]["decisions_made"][0]["memory"];
    assert_eq!(memory["importance"], 8, "{summary}");
    let new = json!({"memories": [memory]}).to_string();
    call!(it, memories.call_add(ORCHESTRATOR, &new)).unwrap();
    let refused =
        rejected(call!(it, memories.call_summarize(ORCHESTRATOR, r#"{"max_tokens":499}"#)));
    assert_eq!(refused.code, "MALFORMED_REQUEST");
}
