//! The interface `prompt`, and the description of the tool.

use serde_json::json;

use crate::bench::{Bench, COMPONENT, call, rejected, wit};

#[test]
fn prompts_are_the_same() {
    let it = Bench::new();
    for (who, max_tokens) in [(None, None), (Some("subagent:analysis"), Some(300))] {
        let typed = call!(it, prompt.call_render("admin", who, max_tokens)).unwrap();
        let request = json!({"action": "prompt", "participant": who, "max_tokens": max_tokens});
        let json = it.json("admin", request);
        assert_eq!(json["text"], typed.text);
        assert_eq!(json["tokens"], typed.tokens);
        assert_eq!(json["left_out"], json!(typed.left_out));
    }
    for (who, max_tokens) in [(Some("nobody"), None), (None, Some(10))] {
        let typed = rejected(call!(it, prompt.call_render("admin", who, max_tokens)));
        let request = json!({"action": "prompt", "participant": who, "max_tokens": max_tokens});
        assert_eq!(typed, it.json_rejected("admin", request));
    }
}

#[test]
fn the_working_memory_as_text_is_the_same() {
    let it = Bench::new();
    for (task, max_tokens, since) in [
        (None, None, None),
        (Some("scope?"), None, None),
        (None, Some(60), None),
        (None, None, Some(1)),
    ] {
        let typed = call!(it, prompt.call_context("admin", task, max_tokens, since)).unwrap();
        let request = json!({
            "action": "render_context", "task": task, "max_tokens": max_tokens,
            "if_changed_since": since,
        });
        let json = it.json("admin", request);
        assert_eq!(json, serde_json::from_str::<serde_json::Value>(&typed.json).unwrap());
        assert_eq!(json["revision"], typed.revision);
    }
    let typed = rejected(call!(it, prompt.call_context("admin", None, Some(1), None)));
    let request = json!({"action": "render_context", "max_tokens": 1});
    assert_eq!(typed, it.json_rejected("admin", request));
}

#[test]
fn the_component_describes_the_tool_as_the_library_does() {
    let described = COMPONENT
        .call(&Bench::empty().host, |it: &wit::tool::Guest, store| it.call_describe(store).map(Ok));
    assert_eq!(described.unwrap(), shared_context_codec::describe());
}
