//! `completion/complete`.

use serde_json::{Value, json};

use crate::bench::{ADMIN_KEY, Bench};

const ENTRIES: &str = "session://{session}/entries/{key}";
const KEYS: &str = "session://{session}/keys";

fn resource(uri: &str) -> Value {
    json!({"type": "ref/resource", "uri": uri})
}

fn prompt() -> Value {
    json!({"type": "ref/prompt", "name": "shared_context"})
}

fn params(reference: &Value, name: &str, value: &str) -> Value {
    json!({"ref": reference, "argument": {"name": name, "value": value}})
}

/// Returns the completion for `token`.
#[track_caller]
fn completed(bench: &Bench, token: &str, params: Value) -> Value {
    let reply = bench.result_in_both_eras(token, "completion/complete", params);
    assert_eq!(reply.ttl_ms, None, "the protocol has no cache hints here");
    reply.result["completion"].clone()
}

/// Checks the suggestions for `token`.
#[track_caller]
fn check(bench: &Bench, token: &str, params: Value, expected: &[&str]) {
    let shown = params.to_string();
    let seen = completed(bench, token, params);
    let expected = json!({"values": expected, "total": expected.len(), "hasMore": false});
    assert_eq!(seen, expected, "{shown}");
}

#[track_caller]
fn check_rejected(bench: &Bench, token: &str, params: Value, expected: &str) {
    let shown = params.to_string();
    let error = bench.error_in_both_eras(token, "completion/complete", params);
    assert_eq!(error["code"], -32602, "{shown}");
    assert!(error["message"].as_str().unwrap().contains(expected), "{shown}: {error}");
}

#[test]
fn keys_with_the_typed_prefix_come_before_other_matches() {
    let bench = Bench::new();
    for key in ["scope", "findings_a", "open_findings", "plan"] {
        bench.write(key);
    }
    let key = |value| params(&resource(ENTRIES), "key", value);
    let agent = &bench.agent;
    check(&bench, agent, key(""), &["findings_a", "open_findings", "plan", "scope"]);
    check(&bench, agent, key("find"), &["findings_a", "open_findings"]);
    check(&bench, agent, key("op"), &["open_findings", "scope"]);
    check(&bench, agent, key("none"), &[]);
    check(&bench, agent, key("*\"\\"), &[]);
}

#[test]
fn hidden_keys_are_not_suggested() {
    let bench = Bench::new();
    bench.write("plan");
    let write =
        json!({"action": "write", "key": "plan_b", "value": "x", "readable_by": ["orchestrator"]});
    bench.use_tool(&bench.orchestrator, &write);
    let key = params(&resource(ENTRIES), "key", "plan");
    check(&bench, &bench.agent, key.clone(), &["plan"]);
    check(&bench, &bench.orchestrator, key, &["plan", "plan_b"]);
    // Participants come from visible entries too.
    let participant = params(&prompt(), "participant", "");
    check(&bench, &bench.agent, participant, &["orchestrator", "subagent:analysis"]);
}

#[test]
fn at_most_100_keys_are_suggested_and_all_are_counted() {
    let bench = Bench::new();
    for it in 0..130 {
        bench.write(&format!("k{it:03}"));
    }
    let seen = completed(&bench, &bench.agent, params(&resource(ENTRIES), "key", "k"));
    assert_eq!(seen["values"].as_array().unwrap().len(), 100);
    assert_eq!((&seen["total"], &seen["hasMore"]), (&json!(130), &json!(true)));
    let sessions: Vec<String> = (0..130).map(|it| format!("t-{it:03}")).collect();
    for session in &sessions {
        bench.create(session);
    }
    let seen = completed(&bench, ADMIN_KEY, params(&resource(KEYS), "session", "t-"));
    assert_eq!(seen["values"], json!(sessions[..100]));
    assert_eq!(
        (seen.get("total"), &seen["hasMore"]),
        (None, &json!(true)),
        "the suggestions were not counted"
    );
}

#[test]
fn only_the_admin_gets_suggestions_of_other_sessions() {
    let bench = Bench::new();
    for session in ["ticket-1", "ticket-2", "tickets", "u"] {
        bench.create(session);
    }
    for reference in [resource(ENTRIES), resource(KEYS), prompt()] {
        let session = |value| params(&reference, "session", value);
        check(&bench, &bench.agent, session(""), &["s"]);
        check(&bench, &bench.agent, session("s"), &["s"]);
        check(&bench, &bench.agent, session("t"), &[]);
        check(&bench, ADMIN_KEY, session(""), &["s", "ticket-1", "ticket-2", "tickets", "u"]);
        check(&bench, ADMIN_KEY, session("ticket-"), &["ticket-1", "ticket-2"]);
        check(&bench, ADMIN_KEY, session("tickets"), &["tickets"]);
        check(&bench, ADMIN_KEY, session("ü"), &[]);
    }
}

#[test]
fn keys_are_suggested_from_the_session_in_the_context() {
    let bench = Bench::new();
    bench.write("plan");
    let with = |session: &str| {
        let mut params = params(&resource(ENTRIES), "key", "");
        params["context"] = json!({"arguments": {"session": session}});
        params
    };
    check(&bench, ADMIN_KEY, with("s"), &["plan"]);
    check(&bench, &bench.agent, with("s"), &["plan"]);
    check(&bench, &bench.agent, with(""), &["plan"]);
    bench.create("other");
    check(&bench, ADMIN_KEY, with("other"), &[]);
    check_rejected(&bench, ADMIN_KEY, with("none"), "none");
    check_rejected(&bench, ADMIN_KEY, with(""), "say which one with session");
    check_rejected(&bench, ADMIN_KEY, params(&resource(ENTRIES), "key", ""), "say which one");
    check_rejected(&bench, &bench.agent, with("other"), "this credential is for the session s");
}

#[test]
fn participants_are_the_orchestrator_and_the_writers() {
    let bench = Bench::new();
    let participant = |value| params(&prompt(), "participant", value);
    check(&bench, &bench.agent, participant(""), &["orchestrator"]);
    let reviewer = bench.mint("s", "subagent:review:2");
    for (token, key) in [(&reviewer, "b"), (&bench.agent, "a"), (&reviewer, "c")] {
        bench.use_tool(token, &json!({"action": "write", "key": key, "value": "x"}));
    }
    bench.use_tool(&bench.orchestrator, &json!({"action": "write", "key": "d", "value": "x"}));
    let all = ["orchestrator", "subagent:analysis", "subagent:review:2"];
    check(&bench, &bench.agent, participant(""), &all);
    check(&bench, &bench.agent, participant("subagent:r"), &["subagent:review:2"]);
    check(&bench, &bench.agent, participant("analysis"), &["subagent:analysis"]);
}

#[test]
fn a_numeric_argument_gets_no_suggestions() {
    let bench = Bench::new();
    check(&bench, &bench.agent, params(&prompt(), "max_tokens", "1"), &[]);
    check(&bench, ADMIN_KEY, params(&prompt(), "max_tokens", ""), &[]);
}

#[test]
fn an_invalid_completion_request_is_rejected() {
    let bench = Bench::new();
    let check =
        |params: Value, expected: &str| check_rejected(&bench, &bench.agent, params, expected);
    check(params(&resource(ENTRIES), "keys", ""), "has no argument \"keys\"");
    check(params(&resource(KEYS), "key", ""), "has no argument \"key\"");
    check(params(&resource("session://s/keys"), "session", ""), "ref.uri is no template");
    check(params(&resource("file:///{path}"), "path", ""), "ref.uri is no template");
    check(params(&json!({"type": "ref/resource"}), "key", ""), "uri is missing");
    check(params(&json!({"type": "ref/prompt"}), "key", ""), "name is missing");
    check(params(&json!({"type": "ref/prompt", "name": "other"}), "a", ""), "Unknown prompt");
    check(params(&prompt(), "task", ""), "no argument \"task\"");
    check(params(&json!({"type": "ref/tool", "name": "a"}), "a", ""), "ref.type must be");
    check(params(&json!({}), "a", ""), "type is missing");
    check(params(&json!("shared_context"), "a", ""), "ref must be an object");
    check(json!({"ref": prompt()}), "argument is missing");
    check(json!({"argument": {"name": "session", "value": ""}}), "ref is missing");
    check(json!({"ref": prompt(), "argument": {"name": "session"}}), "value is missing");
    check(json!({"ref": prompt(), "argument": {"value": ""}}), "name is missing");
    check(json!({"ref": prompt(), "argument": {"name": "session", "value": 7}}), "value must be");
    let mut context = params(&resource(ENTRIES), "key", "");
    context["context"] = json!([]);
    check(context.clone(), "context must be an object");
    context["context"] = json!({"arguments": "s"});
    check(context.clone(), "context.arguments must be an object");
    context["context"] = json!({"arguments": {"session": 7}});
    check(context, "session must be a string");
}
