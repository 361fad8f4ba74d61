//! The tools as agents call them.

use serde_json::{Value, json};

use crate::bench::{ADMIN_KEY, Bench};

/// Returns the content of a tool result and its error flag. Text and structured content must
/// agree.
#[track_caller]
fn unpack(result: &Value) -> (Value, bool) {
    let content = &result["structuredContent"];
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(*content, serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(result["content"].as_array().unwrap().len(), 1);
    (content.clone(), result["isError"].as_bool().unwrap())
}

#[track_caller]
fn check_rejected(
    bench: &Bench,
    token: &str,
    name: &str,
    arguments: Value,
    code: &str,
    warning: &str,
) {
    let params = json!({"name": name, "arguments": arguments});
    let (content, is_error) = unpack(&bench.modern_result(token, "tools/call", params));
    assert!(is_error, "{content}");
    assert_eq!(content["error"]["code"], code, "{content}");
    let message = content["error"]["message"].as_str().unwrap();
    assert!(message.contains(warning), "{message}");
}

#[test]
fn a_call_returns_the_reply_of_the_json_tool() {
    let bench = Bench::new();
    let write = json!({"action": "write", "key": "scope", "value": "Find \"it\".\n\u{e4}"});
    let (written, is_error) = unpack(&bench.call(&bench.orchestrator, write));
    assert!(!is_error);
    assert_eq!(written["version"], 1);
    let read = r#"{"action":"read","key":"scope"}"#;
    let rest = bench.check("POST /v1/sessions/s/shared_context", read, 200, "");
    let (seen, _) = unpack(&bench.call(&bench.agent, json!({"action": "read", "key": "scope"})));
    assert_eq!(seen, rest.json());
    let legacy = bench.legacy_result(
        &bench.agent,
        None,
        "tools/call",
        json!({"name": "shared_context", "arguments": {"action": "read", "key": "scope"}}),
    );
    assert_eq!(unpack(&legacy).0, rest.json());
    assert!(legacy.get("resultType").is_none());
}

#[test]
fn an_error_is_a_result_that_an_agent_can_act_on() {
    let bench = Bench::new();
    let (agent, tool) = (&bench.agent, "shared_context");
    check_rejected(
        &bench,
        agent,
        tool,
        json!({"action": "read", "key": "gone"}),
        "KEY_NOT_FOUND",
        "gone",
    );
    check_rejected(&bench, agent, tool, json!({}), "MALFORMED_REQUEST", "action");
    check_rejected(&bench, agent, tool, json!({"action": "x"}), "MALFORMED_REQUEST", "list_keys");
    check_rejected(
        &bench,
        agent,
        tool,
        json!({"action": "read", "key": "A B"}),
        "INVALID_KEY",
        "a-z",
    );
    check_rejected(
        &bench,
        agent,
        tool,
        json!({"action": "read", "key": "a", "x": 1}),
        "MALFORMED_REQUEST",
        "x",
    );
    check_rejected(
        &bench,
        agent,
        tool,
        json!({"action": "snapshot", "label": "a"}),
        "FORBIDDEN",
        "orchestrator",
    );
    check_rejected(
        &bench,
        agent,
        tool,
        json!({"action": "list_keys", "session": 7}),
        "MALFORMED_REQUEST",
        "session",
    );
}

#[test]
fn an_invalid_call_is_an_error_of_the_protocol() {
    let bench = Bench::new();
    for params in [
        json!({"name": "other", "arguments": {}}),
        json!({"arguments": {}}),
        json!({"name": 7}),
        json!({"name": "shared_context", "arguments": []}),
        json!({"name": "shared_context", "arguments": "x"}),
    ] {
        let seen = bench.modern(&bench.agent, "tools/call", params.clone());
        assert_eq!(seen.json()["error"]["code"], -32602, "{params} {seen:?}");
        assert_eq!(seen.status, 200, "{params}");
    }
}

#[test]
fn only_the_admin_names_the_session() {
    let bench = Bench::new();
    bench.create("other");
    let tool = "shared_context";
    let list = |session: &str| json!({"action": "list_keys", "session": session});
    assert!(!unpack(&bench.call(&bench.agent, list("s"))).1);
    check_rejected(&bench, &bench.agent, tool, list("other"), "FORBIDDEN", "the session s");
    assert!(!unpack(&bench.call(ADMIN_KEY, list("other"))).1);
    check_rejected(
        &bench,
        ADMIN_KEY,
        tool,
        json!({"action": "list_keys"}),
        "MALFORMED_REQUEST",
        "session",
    );
    check_rejected(&bench, ADMIN_KEY, tool, list("gone"), "SESSION_NOT_FOUND", "gone");
}

#[test]
fn an_orchestrator_mints_a_credential_for_a_subagent() {
    let bench = Bench::new();
    let params = json!({"name": "subagent", "arguments": {
        "task": "analysis", "id": "3", "ttl_seconds": 600, "keys": ["inv_*", "scope"],
    }});
    let (invited, is_error) =
        unpack(&bench.modern_result(&bench.orchestrator, "tools/call", params));
    assert!(!is_error, "{invited}");
    assert_eq!(invited["participant"], "subagent:analysis:3");
    assert_eq!(invited["session"], "s");
    assert_eq!(invited["expires_at"], "2026-02-20T14:40:00Z");
    let credential = invited["credential"].as_str().unwrap();
    let write = |key: &str| json!({"action": "write", "key": key, "value": "x"});
    let (written, _) = unpack(&bench.call(credential, write("inv_cause")));
    assert_eq!(written["written_by"], "subagent:analysis:3");
    check_rejected(&bench, credential, "shared_context", write("other"), "FORBIDDEN", "inv_*");
    bench.call(&bench.orchestrator, write("other"));
    let read = json!({"action": "read", "key": "other"});
    check_rejected(&bench, credential, "shared_context", read, "KEY_NOT_FOUND", "other");
}

#[test]
fn only_orchestrator_and_operator_mint_credentials() {
    let bench = Bench::new();
    let tool = "subagent";
    check_rejected(&bench, &bench.agent, tool, json!({"task": "a"}), "FORBIDDEN", "orchestrator");
    let orchestrator = &bench.orchestrator;
    check_rejected(&bench, orchestrator, tool, json!({}), "MALFORMED_REQUEST", "task is missing");
    check_rejected(
        &bench,
        orchestrator,
        tool,
        json!({"task": "a b"}),
        "MALFORMED_REQUEST",
        "participant",
    );
    // Writes by this subagent would look like the orchestrator's own.
    let named = json!({"task": "Orchestrator"});
    check_rejected(
        &bench,
        orchestrator,
        tool,
        named,
        "MALFORMED_REQUEST",
        "taken for the orchestrator",
    );
    // Otherwise this would be subagent 3 of the task `review`.
    check_rejected(
        &bench,
        orchestrator,
        tool,
        json!({"task": "review:3"}),
        "MALFORMED_REQUEST",
        "task holds a colon",
    );
    check_rejected(
        &bench,
        orchestrator,
        tool,
        json!({"task": "a", "id": "3:4"}),
        "MALFORMED_REQUEST",
        "id holds a colon",
    );
    check_rejected(&bench, orchestrator, tool, json!({"task": 7}), "MALFORMED_REQUEST", "string");
    check_rejected(
        &bench,
        orchestrator,
        tool,
        json!({"task": "a", "ttl_seconds": 5}),
        "MALFORMED_REQUEST",
        "60",
    );
    check_rejected(
        &bench,
        orchestrator,
        tool,
        json!({"task": "a", "ttl_seconds": "x"}),
        "MALFORMED_REQUEST",
        "ttl_seconds",
    );
    check_rejected(
        &bench,
        orchestrator,
        tool,
        json!({"task": "a", "role": "admin"}),
        "MALFORMED_REQUEST",
        "role",
    );
    check_rejected(
        &bench,
        orchestrator,
        tool,
        json!({"task": "a", "keys": ["A*"]}),
        "MALFORMED_REQUEST",
        "A*",
    );
    check_rejected(
        &bench,
        orchestrator,
        tool,
        json!({"task": "a", "session": "t"}),
        "FORBIDDEN",
        "session s",
    );
    check_rejected(&bench, ADMIN_KEY, tool, json!({"task": "a"}), "MALFORMED_REQUEST", "session");
    let names = |token: &str| -> Vec<Value> {
        let listed = bench.modern_result(token, "tools/list", json!({}));
        listed["tools"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect()
    };
    assert_eq!(names(orchestrator), ["shared_context", "subagent", "delta_rounds"]);
    assert_eq!(names(ADMIN_KEY), ["shared_context", "subagent", "delta_rounds"]);
    assert_eq!(names(&bench.agent), ["shared_context", "delta_rounds"]);
}

#[test]
fn agents_merge_deltas_in_rounds() {
    let bench = Bench::new();
    let tool = "delta_rounds";
    let call = |token: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments});
        let (content, is_error) = unpack(&bench.modern_result(token, "tools/call", params));
        assert!(!is_error, "{content}");
        content
    };
    let delta = |value: Value| {
        json!({"action": "propose_deltas", "deltas": [
            {"operation": "add", "path": "$.rules", "value": value, "provenance": "seen"},
        ]})
    };
    check_rejected(&bench, &bench.agent, tool, delta(json!(1)), "ROUND_NOT_OPEN", "open_round");
    let plan = json!({"action": "open_round", "weights": [{"participant": "*", "weight": 0.5}]});
    call(&bench.orchestrator, plan);
    assert_eq!(call(&bench.agent, delta(json!({"holds": null})))["last_sequence"], 1);
    // An argument of the wire next to one that may be any JSON.
    let mut named = delta(Value::Null);
    named["session"] = json!("s");
    assert_eq!(call(&bench.agent, named)["last_sequence"], 2);
    call(&bench.orchestrator, json!({"action": "close_round"}));
    let state = call(&bench.agent, json!({"action": "read_state"}));
    assert_eq!(state["state"]["rules"], json!([{"holds": null}, null]));
    let body = r#"{"action":"read_state"}"#;
    let seen = bench.check("POST /v1/sessions/s/shared_context", body, 200, "");
    assert_eq!(seen.json(), state, "over HTTP the JSON tool is one");
}

/// A client that allowed `shared_context` but not `delta_rounds` could still have rounds closed,
/// because `shared_context` accepted every action. Each tool now accepts only what it lists.
#[test]
fn a_tool_accepts_only_the_actions_it_lists() {
    let bench = Bench::new();
    let check = |token: &str, tool: &str, action: &str, warning: &str| {
        let arguments = json!({"action": action, "session": "s"});
        check_rejected(&bench, token, tool, arguments, "MALFORMED_REQUEST", warning);
    };
    for action in ["list_keys", "write", "delete", "redact"] {
        let warning = "delta_rounds has no action";
        check(&bench.orchestrator, "delta_rounds", action, warning);
        check(ADMIN_KEY, "delta_rounds", action, "call the tool shared_context");
    }
    for action in ["open_round", "propose_deltas", "close_round", "read_state", "redact_rounds"] {
        let warning = "shared_context has no action";
        check(&bench.orchestrator, "shared_context", action, warning);
        check(&bench.agent, "shared_context", action, "call the tool delta_rounds");
    }
    for tool in ["shared_context", "delta_rounds"] {
        check(&bench.orchestrator, tool, "delete_session", "no tool has");
        check(ADMIN_KEY, tool, "delete_session", "POST /v1/sessions/{session}/shared_context");
    }
    bench.check_as(ADMIN_KEY, "GET /v1/sessions/s", &[], "", 200, r#""revision":1"#);
    let (tool, code) = ("delta_rounds", "MALFORMED_REQUEST");
    check_rejected(&bench, &bench.orchestrator, tool, json!({"action": "fly"}), code, "known are");
    check_rejected(&bench, &bench.orchestrator, tool, json!({}), code, "action");
    check_rejected(&bench, &bench.orchestrator, tool, json!({"action": 7}), code, "action");
}

#[test]
fn the_list_of_tools_is_one_stable_page() {
    let bench = Bench::new();
    let first = bench.modern(&bench.agent, "tools/list", json!({})).body;
    assert_eq!(first, bench.modern(&bench.agent, "tools/list", json!({})).body);
    assert_eq!(
        bench.modern_error(&bench.agent, "tools/list", json!({"cursor": "x"}))["code"],
        -32602
    );
    let first: Value = serde_json::from_str(&first).unwrap();
    assert!(first["result"].get("nextCursor").is_none());
}
