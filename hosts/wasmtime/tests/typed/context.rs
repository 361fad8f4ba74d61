//! The interface `context`.

use serde_json::{Value, json};
use shared_context_wasmtime::bindings::{
    exports::shared_context::core::context::{Parts, Shares, Window},
    shared_context::core::types::Answer,
};

use crate::bench::{Bench, call, rejected};

fn window(used_tokens: u32) -> Window {
    Window {
        window_tokens: None,
        shares: None,
        parts: None,
        used_tokens,
        to_load_tokens: 0,
        operations: 0,
        reports: Vec::new(),
        sample: None,
        encoding: None,
    }
}

/// Returns the request of the JSON tool.
fn request(it: &Window) -> Value {
    let shares = it.shares.as_ref().map(|it| {
        json!({"knowledge": it.knowledge, "active": it.active,
            "session_memory": it.session_memory, "buffer": it.buffer})
    });
    let parts = it.parts.as_ref().map(|it| {
        json!({"knowledge": it.knowledge, "active": it.active,
            "session_memory": it.session_memory, "buffer": it.buffer})
    });
    json!({
        "action": "plan_window",
        "window_tokens": it.window_tokens,
        "shares": shares,
        "parts": parts,
        "used_tokens": it.used_tokens,
        "to_load_tokens": it.to_load_tokens,
        "operations": it.operations,
        "reports": it.reports,
        "sample": it.sample,
        "encoding": it.encoding,
    })
}

#[test]
fn plans_of_windows_are_the_same() {
    let it = Bench::new();
    let shares = Shares {
        knowledge: Some(20.0),
        active: Some(50.0),
        session_memory: None,
        buffer: Some(12.25),
    };
    let parts =
        Parts { knowledge: Some(1_000), active: None, session_memory: Some(900), buffer: None };
    for window in [
        window(164_000),
        Window { shares: Some(shares), to_load_tokens: 20_001, ..window(0) },
        Window {
            window_tokens: Some(8_000),
            parts: Some(parts),
            operations: 50,
            reports: vec!["handoff".to_owned(), "asked".to_owned()],
            ..window(9_000)
        },
        Window { sample: Some("one two three".to_owned()), ..window(1) },
        Window {
            sample: Some("one two three".to_owned()),
            encoding: Some("o200k_base".to_owned()),
            ..window(1)
        },
    ] {
        let typed = call!(it, context.call_plan_window("admin", &window)).unwrap();
        let json = it.json("admin", request(&window));
        assert_eq!(json, serde_json::from_str::<Value>(&typed.json).unwrap());
        assert_eq!(json["revision"], typed.revision);
    }
}

#[test]
fn rejected_plans_are_the_same() {
    let it = Bench::new();
    let knowledge = |percent| {
        Some(Shares { knowledge: Some(percent), active: None, session_memory: None, buffer: None })
    };
    for window in [
        Window { window_tokens: Some(0), ..window(0) },
        Window { shares: knowledge(40.01), ..window(0) },
        Window { shares: knowledge(-1.0), ..window(0) },
        Window {
            shares: knowledge(1.0),
            parts: Some(Parts {
                knowledge: Some(1),
                active: None,
                session_memory: None,
                buffer: None,
            }),
            ..window(0)
        },
        Window { reports: vec!["capacity".to_owned()], ..window(0) },
        Window { encoding: Some("o200k_base".to_owned()), ..window(0) },
        Window { sample: Some("a".repeat(65_537)), ..window(0) },
        Window { sample: Some("a".to_owned()), encoding: Some("no_such".to_owned()), ..window(0) },
    ] {
        let typed = rejected(call!(it, context.call_plan_window("admin", &window)));
        assert_eq!(typed, it.json_rejected("admin", request(&window)), "{window:?}");
    }
}

/// Every function answers as the action of its name, also with an error.
#[test]
fn assemblies_and_missing_context_are_the_same() {
    let it = Bench::new();
    // The sessions differ in their names, and so do digests over them.
    let comparable = |mut it: Value| {
        it["envelope"]["session"] = Value::Null;
        it["digest"] = Value::Null;
        it["document_digest"] = Value::Null;
        it
    };
    let same = |typed: Answer, json: Value| {
        let typed_json = serde_json::from_str::<Value>(&typed.json).unwrap();
        if json["envelope"].is_object() {
            assert_eq!(comparable(typed_json), comparable(json.clone()));
        } else {
            assert_eq!(typed_json, json);
        }
        assert_eq!(json["revision"], typed.revision);
    };
    let request = json!({
        "task": "retry", "keep": true,
        "items": [{"id": "a.rs", "kind": "file_excerpt", "text": "const RETRY: u8 = 5;"}],
    });
    let kept = call!(it, context.call_assemble_context("orchestrator", &request.to_string()));
    assert!(kept.unwrap().json.contains("\"ENV-1\""));
    let with_action = |action: &str, mut request: Value| {
        request["action"] = json!(action);
        request
    };
    it.json("orchestrator", with_action("assemble_context", request));
    for request in [json!({}), json!({"task": "retry"})] {
        let typed = call!(it, context.call_assemble_context("orchestrator", &request.to_string()));
        let json = it.json("orchestrator", with_action("assemble_context", request));
        same(typed.unwrap(), json);
    }
    let envelope = json!({"envelope": "ENV-1"});
    same(
        call!(it, context.call_read_envelope("orchestrator", "ENV-1")).unwrap(),
        it.json("orchestrator", with_action("read_envelope", envelope.clone())),
    );
    same(
        call!(it, context.call_export_evidence("orchestrator", "ENV-1")).unwrap(),
        it.json("orchestrator", with_action("export_evidence", envelope.clone())),
    );
    let id = Some("i-1");
    let typed = call!(
        it,
        context.call_record_injection("orchestrator", "ENV-1", "ui_panel", Some("user"), id)
    );
    let request = json!({
        "envelope": "ENV-1", "place": "ui_panel", "target": "user", "request_id": "i-1",
    });
    same(typed.unwrap(), it.json("orchestrator", with_action("record_injection", request)));
    let typed = call!(
        it,
        context.call_report_missing("orchestrator", "input", "More.", Some("ENV-1"), Some("m-1"))
    );
    let request = json!({
        "kind": "input", "text": "More.", "envelope": "ENV-1", "request_id": "m-1",
    });
    same(typed.unwrap(), it.json("orchestrator", with_action("report_missing", request)));
    let typed =
        call!(it, context.call_answer_missing("orchestrator", "MIS-1", "Enough.", Some("a-1")));
    let request = json!({"missing": "MIS-1", "answer": "Enough.", "request_id": "a-1"});
    same(typed.unwrap(), it.json("orchestrator", with_action("answer_missing", request)));
    same(
        call!(it, context.call_list_missing("orchestrator", Some("answered"))).unwrap(),
        it.json("orchestrator", json!({"action": "list_missing", "state": "answered"})),
    );
    for request in ["", "[]", "{", "{\"task\":1}", "{\"action\":\"read\"}"] {
        let typed = rejected(call!(it, context.call_assemble_context("orchestrator", request)));
        assert_eq!(typed.code, "MALFORMED_REQUEST", "{request}");
    }
    let typed = rejected(call!(it, context.call_read_envelope("orchestrator", "ENV-9")));
    let request = json!({"action": "read_envelope", "envelope": "ENV-9"});
    assert_eq!(typed, it.json_rejected("orchestrator", request));
}
