//! `prompts/list` and `prompts/get`.

use serde_json::{Value, json};
use shared_context_codec::Failure;

use crate::{
    bench::{ADMIN_KEY, Bench},
    both::error,
};

/// Returns the prompt that `token` gets for `arguments`: its text, and its description.
#[track_caller]
fn prompt(bench: &Bench, token: &str, arguments: Value) -> (String, String) {
    let mut params = json!({"name": "shared_context"});
    params["arguments"] = arguments;
    let told = bench.told(token, "prompts/get", params);
    assert_eq!(told.ttl_ms, None, "the protocol says nothing of keeping it");
    let [message] = &told.result["messages"].as_array().unwrap()[..] else { panic!("{told:?}") };
    assert_eq!((&message["role"], &message["content"]["type"]), (&json!("user"), &json!("text")));
    let [text, description] = [&message["content"]["text"], &told.result["description"]]
        .map(|it| it.as_str().unwrap().to_owned());
    (text, description)
}

#[track_caller]
fn is_refused(bench: &Bench, token: &str, params: Value, told: &str) {
    let shown = params.to_string();
    let error = bench.refused(token, "prompts/get", params);
    assert_eq!(error["code"], -32602, "{shown}");
    assert!(error["message"].as_str().unwrap().contains(told), "{shown}: {error}");
}

#[test]
fn there_is_one_prompt_and_none_of_its_arguments_is_required() {
    let bench = Bench::new();
    let told = bench.told(&bench.agent, "prompts/list", json!({}));
    told.may_be_kept(3_600_000, "public");
    let [prompt] = &told.result["prompts"].as_array().unwrap()[..] else { panic!("{told:?}") };
    assert_eq!(prompt["name"], "shared_context");
    assert!(prompt["title"].is_string() && prompt["description"].is_string());
    let arguments = prompt["arguments"].as_array().unwrap();
    let names: Vec<&str> = arguments.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["participant", "max_tokens", "session"]);
    for argument in arguments {
        assert_eq!(argument["required"], false);
        assert!(argument["description"].is_string());
    }
    assert_eq!(bench.told(ADMIN_KEY, "prompts/list", json!({})).result, told.result);
    assert_eq!(bench.refused(&bench.agent, "prompts/list", json!({"cursor": "a"}))["code"], -32602);
}

#[test]
fn the_prompt_is_the_tools_for_the_participant_asked_for_or_the_caller() {
    let bench = Bench::new();
    let (text, description) = prompt(&bench, &bench.agent, json!({}));
    assert!(text.starts_with("You are subagent:analysis. "), "{text}");
    assert!(description.ends_with(" tokens)"), "{description}");
    let tool = r#"{"action":"prompt"}"#;
    let rendered = bench.check("POST /v1/sessions/s/shared_context", tool, 200, "").json();
    assert_eq!(rendered["text"], *text);
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

#[test]
fn arguments_left_empty_are_left_out() {
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
fn what_did_not_fit_is_named() {
    let bench = Bench::new();
    let (_, all) = prompt(&bench, &bench.agent, json!({}));
    assert!(!all.contains("left out"), "{all}");
    let (text, some) = prompt(&bench, &bench.agent, json!({"max_tokens": "700"}));
    assert!(some.contains("left out to fit max_tokens: write discipline in full)"), "{some}");
    assert!(text.chars().count() <= 4 * 700);
    let (_, most) = prompt(&bench, &bench.agent, json!({"max_tokens": "250"}));
    assert!(most.contains(", key conventions)"), "{most}");
    let params = json!({"name": "shared_context", "arguments": {"max_tokens": "10"}});
    is_refused(&bench, &bench.agent, params, "the shortest prompt has");
}

#[test]
fn what_there_is_not_and_what_is_wrong_is_refused() {
    let bench = Bench::new();
    let check = |params: Value, told: &str| is_refused(&bench, &bench.agent, params, told);
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
    is_refused(&bench, ADMIN_KEY, with(json!({})), "say which one with session");
    let error = bench.refused(ADMIN_KEY, "prompts/get", with(json!({"session": "none"})));
    assert_eq!(error["data"]["error"]["code"], "SESSION_NOT_FOUND");
}

#[test]
fn a_failing_store_is_an_internal_error() {
    let bench = Bench::new();
    let failure = Failure::new("STORAGE_UNAVAILABLE", "the disk is away");
    *bench.engine.fails_with.lock().unwrap() = Some(failure);
    let seen = bench.modern(&bench.agent, "prompts/get", json!({"name": "shared_context"}));
    assert_eq!(error(&seen)["code"], -32603);
}
