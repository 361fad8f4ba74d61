//! `prompts/list` and `prompts/get`.

use serde_json::{Value, json};
use shared_context_codec::Failure;

use crate::{
    bench::{ADMIN_KEY, Bench},
    both_eras::error,
};

/// Returns text and description of the prompt for `arguments`.
#[track_caller]
fn prompt(bench: &Bench, token: &str, arguments: Value) -> (String, String) {
    let mut params = json!({"name": "shared_context"});
    params["arguments"] = arguments;
    let reply = bench.result_in_both_eras(token, "prompts/get", params);
    assert_eq!(reply.ttl_ms, None, "the protocol has no cache hints here");
    let [message] = &reply.result["messages"].as_array().unwrap()[..] else { panic!("{reply:?}") };
    assert_eq!((&message["role"], &message["content"]["type"]), (&json!("user"), &json!("text")));
    let [text, description] = [&message["content"]["text"], &reply.result["description"]]
        .map(|it| it.as_str().unwrap().to_owned());
    (text, description)
}

#[track_caller]
fn check_rejected(bench: &Bench, token: &str, params: Value, expected: &str) {
    let shown = params.to_string();
    let error = bench.error_in_both_eras(token, "prompts/get", params);
    assert_eq!(error["code"], -32602, "{shown}");
    assert!(error["message"].as_str().unwrap().contains(expected), "{shown}: {error}");
}

#[test]
fn the_only_prompt_has_no_required_arguments() {
    let bench = Bench::new();
    let reply = bench.result_in_both_eras(&bench.agent, "prompts/list", json!({}));
    reply.check_cacheable(3_600_000, "public");
    let [prompt] = &reply.result["prompts"].as_array().unwrap()[..] else { panic!("{reply:?}") };
    assert_eq!(prompt["name"], "shared_context");
    assert!(prompt["title"].is_string() && prompt["description"].is_string());
    let arguments = prompt["arguments"].as_array().unwrap();
    let names: Vec<&str> = arguments.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["participant", "max_tokens", "session"]);
    for argument in arguments {
        assert_eq!(argument["required"], false);
        assert!(argument["description"].is_string());
    }
    assert_eq!(
        bench.result_in_both_eras(ADMIN_KEY, "prompts/list", json!({})).result,
        reply.result
    );
    assert_eq!(
        bench.error_in_both_eras(&bench.agent, "prompts/list", json!({"cursor": "a"}))["code"],
        -32602
    );
}

#[test]
fn the_prompt_is_for_the_named_participant_or_the_caller() {
    let bench = Bench::new();
    let (text, description) = prompt(&bench, &bench.agent, json!({}));
    assert!(text.starts_with("You are subagent:analysis. "), "{text}");
    assert!(description.ends_with(" tokens)"), "{description}");
    let tool = r#"{"action":"prompt"}"#;
    let rendered = bench.check("POST /v1/sessions/s/shared_context", tool, 200, "").json();
    let lines = |it: &str| it.lines().count();
    assert_eq!(lines(rendered["text"].as_str().unwrap()), lines(&text));
    let (text, _) = prompt(&bench, &bench.orchestrator, json!({}));
    assert!(text.starts_with("You are the orchestrator. "), "{text}");
    let (text, _) =
        prompt(&bench, &bench.orchestrator, json!({"participant": "subagent:review:2"}));
    assert!(text.starts_with("You are subagent:review:2. "), "{text}");
    let (text, _) = prompt(&bench, ADMIN_KEY, json!({"session": "s"}));
    assert!(text.starts_with("You operate this session. "), "{text}");
    let (same, _) = prompt(&bench, ADMIN_KEY, json!({"session": "s", "participant": "admin"}));
    assert_eq!(same, text);
}

/// The prompt once advised agents to call `shared_context` and `list_keys`, which MCP rejects.
#[test]
fn the_prompt_names_tools_that_mcp_lists() {
    let bench = Bench::new();
    for (token, arguments) in [
        (&*bench.agent, json!({})),
        (&*bench.agent, json!({"max_tokens": "300"})),
        (&*bench.orchestrator, json!({})),
        (&*bench.orchestrator, json!({"max_tokens": "300"})),
        (ADMIN_KEY, json!({"session": "s"})),
    ] {
        let (text, _) = prompt(&bench, token, arguments);
        assert!(text.contains("call context_list first"), "{text}");
        for unknown in ["shared_context", "list_keys"] {
            assert!(!text.contains(unknown), "{text}");
        }
    }
}

#[test]
fn empty_arguments_are_ignored() {
    let bench = Bench::new();
    let full = prompt(&bench, &bench.agent, json!({}));
    for arguments in [
        json!({"participant": "", "max_tokens": "", "session": ""}),
        json!({"participant": null}),
        json!({"session": "s", "max_tokens": "1000"}),
        Value::Null,
    ] {
        assert_eq!(prompt(&bench, &bench.agent, arguments), full);
    }
}

#[test]
fn omitted_entries_are_named() {
    let bench = Bench::new();
    let (_, all) = prompt(&bench, &bench.agent, json!({}));
    assert!(!all.contains("left out"), "{all}");
    let (text, some) = prompt(&bench, &bench.agent, json!({"max_tokens": "700"}));
    assert!(some.contains("left out to fit max_tokens: write discipline in full)"), "{some}");
    assert!(text.chars().count() <= 4 * 700);
    let (_, most) = prompt(&bench, &bench.agent, json!({"max_tokens": "250"}));
    assert!(most.contains(", key conventions)"), "{most}");
    let params = json!({"name": "shared_context", "arguments": {"max_tokens": "10"}});
    check_rejected(&bench, &bench.agent, params, "the shortest prompt has");
}

#[test]
fn an_invalid_prompt_request_is_rejected() {
    let bench = Bench::new();
    let check =
        |params: Value, expected: &str| check_rejected(&bench, &bench.agent, params, expected);
    let with = |arguments: Value| json!({"name": "shared_context", "arguments": arguments});
    check(json!({"name": "other"}), "Unknown prompt: \"other\"; there is shared_context");
    check(json!({"name": ""}), "Unknown prompt");
    check(json!({}), "name is missing");
    check(json!({"name": 7}), "name must be a string");
    check(with(json!([])), "arguments must be an object");
    check(with(json!({"task": "a"})), "no argument \"task\", it knows participant, max_tokens");
    check(with(json!({"": ""})), "no argument");
    for max_tokens in ["-1", "1.5", "many", "1e3", " 100", "99999999999999999999"] {
        check(with(json!({"max_tokens": max_tokens})), "max_tokens must be a whole number");
    }
    check(with(json!({"max_tokens": 100})), "max_tokens must be a string");
    check(with(json!({"max_tokens": "18446744073709551615"})), "max_tokens");
    check(with(json!({"participant": "somebody"})), "a participant is orchestrator");
    check(with(json!({"session": "other"})), "this credential is for the session s");
    check_rejected(&bench, ADMIN_KEY, with(json!({})), "say which one with session");
    let error =
        bench.error_in_both_eras(ADMIN_KEY, "prompts/get", with(json!({"session": "none"})));
    assert_eq!(error["data"]["error"]["code"], "SESSION_NOT_FOUND");
}

#[test]
fn a_failing_store_is_an_internal_error() {
    let bench = Bench::new();
    let failure = Failure::new("STORAGE_UNAVAILABLE", "the disk is away");
    *bench.engine.next_failure.lock().unwrap() = Some(failure);
    let seen = bench.modern(&bench.agent, "prompts/get", json!({"name": "shared_context"}));
    assert_eq!(error(&seen)["code"], -32603);
}
