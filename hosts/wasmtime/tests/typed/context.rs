//! The interface `context`.

use serde_json::{Value, json};
use shared_context_wasmtime::bindings::exports::shared_context::core::context::{
    Parts, Shares, Window,
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
