//! The interface `outline`.

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

/// Every function answers as its action, over the life of a section.
#[test]
fn outlines_are_the_same() {
    let it = Bench::new();
    call!(it, projects.call_create("admin", "{}")).unwrap();
    let (admin, create) = (Caller::trusted("admin"), br#"{"action":"create_project"}"#);
    COMPONENT.invoke(&it.host, "project/json", &admin, create).unwrap();
    let same = |typed: Answer, json: Value| {
        assert_eq!(json["revision"], typed.revision);
        assert_eq!(serde_json::from_str::<Value>(&typed.json).unwrap(), json);
    };
    let of = json!({"marker": "§3.1"});
    let text = of.to_string();

    let new = json!({"marker": "§3.1", "title": "Details", "content": "Text"});
    let typed = call!(it, outline.call_put(ORCHESTRATOR, &new.to_string())).unwrap();
    same(typed, ask(&it, "put_section", &new));
    let typed = call!(it, outline.call_read(ORCHESTRATOR, &text)).unwrap();
    same(typed, ask(&it, "read_section", &of));
    let typed = call!(it, outline.call_index(ORCHESTRATOR, "{}")).unwrap();
    same(typed, ask(&it, "read_index", &json!({})));
    let typed = call!(it, outline.call_check(ORCHESTRATOR, "{}")).unwrap();
    same(typed, ask(&it, "check_outline", &json!({})));
    let typed = call!(it, outline.call_acquire(ORCHESTRATOR, &text)).unwrap();
    same(typed, ask(&it, "acquire", &of));
    let typed = call!(it, outline.call_renew(ORCHESTRATOR, &text)).unwrap();
    same(typed, ask(&it, "renew", &of));
    let to = json!({"marker": "§3.1", "to": ORCHESTRATOR});
    let typed = call!(it, outline.call_transfer(ORCHESTRATOR, &to.to_string())).unwrap();
    same(typed, ask(&it, "transfer", &to));
    let state = json!({"sync_version": 0, "global_blockers": ["PCI review"]});
    let typed = call!(it, outline.call_coordinate(ORCHESTRATOR, &state.to_string())).unwrap();
    same(typed, ask(&it, "coordinate", &state));
    let typed = call!(it, outline.call_coordination(ORCHESTRATOR, "{}")).unwrap();
    same(typed, ask(&it, "coordination", &json!({})));
    let typed = call!(it, outline.call_release(ORCHESTRATOR, &text)).unwrap();
    same(typed, ask(&it, "release", &of));
    let redact = json!({"marker": "§3.1", "reason": "a password"});
    let typed = call!(it, outline.call_redact(ORCHESTRATOR, &redact.to_string())).unwrap();
    same(typed, ask(&it, "redact_section", &redact));
    let typed = call!(it, outline.call_delete(ORCHESTRATOR, &text)).unwrap();
    same(typed, ask(&it, "delete_section", &of));
    let gone = rejected(call!(it, outline.call_read(ORCHESTRATOR, &text)));
    assert_eq!(gone.code, "SECTION_NOT_FOUND");
}
