//! The interface `handoffs`.

use serde_json::{Value, json};
use shared_context_wasmtime::{Caller, bindings::shared_context::core::types::Answer};

use crate::bench::{Bench, COMPONENT, call, rejected};

const ORCHESTRATOR: &str = "orchestrator";
const OLD: &str = "subagent:plan";
const NEW: &str = "subagent:impl";

/// Returns the JSON tool's reply to `action` of `who` on the project `json`.
fn ask(bench: &Bench, who: &str, action: &str, request: &Value) -> Value {
    let mut request = request.clone();
    request["action"] = json!(action);
    let (caller, request) = (Caller::trusted(who), request.to_string());
    let reply = COMPONENT.invoke(&bench.host, "project/json", &caller, request.as_bytes()).unwrap();
    serde_json::from_slice(&reply.body).unwrap()
}

/// Creates both projects: the old agent owns a section, and a decision is known.
fn bench() -> Bench {
    let it = Bench::new();
    call!(it, projects.call_create("admin", "{}")).unwrap();
    ask(&it, "admin", "create_project", &json!({}));
    let section = json!({"marker": "§3.1", "title": "Refunds", "content": "One refund an order."});
    call!(it, outline.call_put(OLD, &section.to_string())).unwrap();
    ask(&it, OLD, "put_section", &section);
    let memories = json!({"memories": [{
        "memory_type": "decision", "title": "Use PostgreSQL", "importance": 9,
        "content": {"decision": "Orders are in PostgreSQL."},
    }]});
    call!(it, memories.call_add(ORCHESTRATOR, &memories.to_string())).unwrap();
    ask(&it, ORCHESTRATOR, "add_memories", &memories);
    it
}

/// Removes what depends on the id of the project: ids of memories, digests and counts of tokens.
fn comparable(json: &Value) -> Value {
    let is_count = |name: &str| matches!(name, "tokens" | "context_token_count");
    match json {
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| !is_count(name))
            .map(|(name, it)| (name.clone(), comparable(it)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(comparable).collect(),
        Value::String(text) if text == "typed" || text == "json" => json!("the project"),
        Value::String(text) if text.starts_with("sha256:") => json!("a digest"),
        Value::String(text) if text.len() == 36 && text.matches('-').count() == 4 => json!("an id"),
        it => it.clone(),
    }
}

#[track_caller]
fn same(typed: Answer, json: Value) -> Value {
    assert_eq!(json["revision"], typed.revision);
    let typed: Value = serde_json::from_str(&typed.json).unwrap();
    assert_eq!(comparable(&typed), comparable(&json));
    typed
}

/// Every function answers as its action, over the life of handoffs.
#[test]
fn handoffs_are_the_same() {
    let it = bench();
    let offer = json!({
        "to_agent": NEW, "handoff_type": "complete", "summary": "Login works; refunds are next.",
        "sections": ["§3.1"], "completed": ["login"], "immediate": ["refunds"],
    });
    let typed = call!(it, handoffs.call_offer(OLD, &offer.to_string())).unwrap();
    let offered = same(typed, ask(&it, OLD, "offer_handoff", &offer));
    assert_eq!(offered["handoff"]["state"], "offered", "{offered}");
    let typed = call!(it, handoffs.call_list_handoffs(NEW, "{}")).unwrap();
    same(typed, ask(&it, NEW, "list_handoffs", &json!({})));

    let id = json!({"id": "HND-1"});
    let text = id.to_string();
    let typed = call!(it, handoffs.call_accept(NEW, &text)).unwrap();
    let accepted = same(typed, ask(&it, NEW, "accept_handoff", &id));
    assert_eq!(accepted["package"]["work_products"]["completed"], json!(["login"]), "{accepted}");
    let typed = call!(it, handoffs.call_read(NEW, &text)).unwrap();
    same(typed, ask(&it, NEW, "read_handoff", &id));
    let settled = rejected(call!(it, handoffs.call_accept(NEW, &text)));
    assert_eq!(settled.code, "HANDOFF_SETTLED");

    let back = json!({"to_agent": OLD, "handoff_type": "specialist", "summary": "The schema."});
    let typed = call!(it, handoffs.call_offer(NEW, &back.to_string())).unwrap();
    same(typed, ask(&it, NEW, "offer_handoff", &back));
    let decline = json!({"id": "HND-2", "reason": "no time"});
    let typed = call!(it, handoffs.call_decline(OLD, &decline.to_string())).unwrap();
    let declined = same(typed, ask(&it, OLD, "decline_handoff", &decline));
    assert_eq!(declined["handoff"]["note"], "no time", "{declined}");

    let from = json!({"from_agent": NEW, "sections": ["§3.1"]});
    let typed = call!(it, handoffs.call_take_over(ORCHESTRATOR, &from.to_string())).unwrap();
    let taken = same(typed, ask(&it, ORCHESTRATOR, "take_over", &from));
    assert_eq!(taken["handoff"]["is_takeover"], true, "{taken}");
    let late = json!({"marker": "§3.1", "content": "Late."}).to_string();
    let late = rejected(call!(it, outline.call_put(NEW, &late)));
    assert_eq!(late.code, "LEASE_EXPIRED");

    let redact = json!({"id": "HND-1", "reason": "names a customer"});
    let typed = call!(it, handoffs.call_redact(ORCHESTRATOR, &redact.to_string())).unwrap();
    // The end of the lease was recorded in one of the projects only.
    ask(&it, ORCHESTRATOR, "redact_handoff", &redact);
    let redacted: Value = serde_json::from_str(&typed.json).unwrap();
    assert_eq!(redacted["handoff"]["redacted"], "names a customer", "{redacted}");
    assert_eq!(redacted.get("package"), None, "{redacted}");
}

/// A trace and a system prompt are the same, and change nothing.
#[test]
fn traces_and_prompts_are_the_same() {
    let it = bench();
    let decisions = json!({"memory_type": "decision"});
    let found = ask(&it, ORCHESTRATOR, "search_memories", &decisions);
    let id = json!({"id": found["memories"][0]["decision_id"]});
    let typed = call!(it, handoffs.call_trace_decision(OLD, &id.to_string())).unwrap();
    let trace = same(typed, ask(&it, OLD, "trace_decision", &id));
    assert_eq!(trace["steps"][0]["title"], "Use PostgreSQL", "{trace}");
    let prompt = json!({"task": "Store refunds", "focus": "§3.1"});
    let typed = call!(it, handoffs.call_prompt(OLD, &prompt.to_string())).unwrap();
    let mut json = ask(&it, OLD, "project_prompt", &prompt);
    let mut typed: Value = serde_json::from_str(&typed.json).unwrap();
    for it in [&mut typed, &mut json] {
        it["text"] = it["text"].as_str().unwrap().replace("typed", "json").into();
    }
    assert_eq!(comparable(&typed), comparable(&json));
    assert!(typed["text"].as_str().unwrap().contains("Orders are in PostgreSQL."), "{typed}");
    let refused = rejected(call!(it, handoffs.call_prompt(OLD, r#"{"max_tokens":4999}"#)));
    assert_eq!(refused.code, "MALFORMED_REQUEST");
}
