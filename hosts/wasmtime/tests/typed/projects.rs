//! The interface `projects`.

use serde_json::{Value, json};
use shared_context_wasmtime::{Caller, Failure, bindings::shared_context::core::types::Answer};

use crate::bench::{Bench, COMPONENT, call, rejected};

/// Returns the JSON tool's reply to `action` on the project `json`.
fn ask(bench: &Bench, who: &str, action: &str) -> Result<Value, Failure> {
    ask_with(bench, who, json!({"action": action}))
}

fn ask_with(bench: &Bench, who: &str, request: Value) -> Result<Value, Failure> {
    let request = request.to_string();
    let caller = Caller::trusted(who);
    let reply = COMPONENT.invoke(&bench.host, "project/json", &caller, request.as_bytes())?;
    Ok(serde_json::from_slice(&reply.body).unwrap())
}

/// Compares the result on the project `typed` with the tool's reply on `json`.
#[track_caller]
fn check(typed: Result<Answer, Failure>, json: Result<Value, Failure>) {
    let named = |text: &str| text.replace("typed", "json");
    match (typed, json) {
        (Ok(typed), Ok(json)) => {
            assert_eq!(json["revision"], typed.revision);
            assert_eq!(serde_json::from_str::<Value>(&named(&typed.json)).unwrap(), json);
        }
        (typed, json) => {
            let (typed, json) = (rejected(typed), json.unwrap_err());
            assert_eq!((typed.code, named(&typed.message)), (json.code, json.message));
        }
    }
}

#[test]
fn project_lifecycles_are_the_same() {
    let it = Bench::new();
    let show = |it: &Bench| {
        check(call!(it, projects.call_show("admin")), ask(it, "admin", "show_project"));
    };
    show(&it);
    for who in ["orchestrator", "admin", "admin"] {
        let json = json!({"action": "create_project", "memories_max": 5});
        let typed = call!(it, projects.call_create(who, r#"{"memories_max":5}"#));
        check(typed, ask_with(&it, who, json));
    }
    show(&it);
    for who in ["orchestrator", "admin"] {
        check(call!(it, projects.call_archive(who, "{}")), ask(&it, who, "archive_project"));
    }
    for (request, since) in [(r#"{"since":0}"#, 0), (r#"{"since":9}"#, 9)] {
        let json = json!({"action": "project_changes", "since": since});
        check(call!(it, projects.call_changes("admin", request)), ask_with(&it, "admin", json));
    }
    for who in ["orchestrator", "admin", "admin"] {
        check(call!(it, projects.call_delete(who)), ask(&it, who, "delete_project"));
    }
    check(call!(it, projects.call_create("admin", "{}")), ask(&it, "admin", "create_project"));
    show(&it);
    for who in ["subagent:a", "orchestrator"] {
        let json = ask(&it, who, "project_sessions");
        check(call!(it, projects.call_sessions(who, "{}")), json);
    }
    let document = call!(it, projects.call_export_document("admin", "{}")).unwrap().json;
    let exported: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(exported["project"]["project_id"], "typed");
    call!(it, projects.call_delete("admin")).unwrap();
    let request = format!(r#"{{"document":{document}}}"#);
    let imported = call!(it, projects.call_import_document("admin", &request)).unwrap();
    assert!(imported.json.contains(r#""project_id":"typed""#), "{}", imported.json);
    let session = call!(it, sessions.call_show("admin")).unwrap();
    assert_eq!(session.revision, 1, "the session of that id is another place");
}
