//! The tools as agents call them.

use serde_json::{Value, json};

use crate::bench::{ADMIN_KEY, Bench};

/// Returns what the tool told, and whether it refused; both forms of it agree.
#[track_caller]
fn told(result: &Value) -> (Value, bool) {
    let told = &result["structuredContent"];
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(*told, serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(result["content"].as_array().unwrap().len(), 1);
    (told.clone(), result["isError"].as_bool().unwrap())
}

#[track_caller]
fn refused(bench: &Bench, token: &str, name: &str, arguments: Value, code: &str, warning: &str) {
    let params = json!({"name": name, "arguments": arguments});
    let (told, is_error) = told(&bench.modern_result(token, "tools/call", params));
    assert!(is_error, "{told}");
    assert_eq!(told["error"]["code"], code, "{told}");
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains(warning), "{message}");
}

#[test]
fn a_call_is_answered_as_the_json_tool_answers() {
    let bench = Bench::new();
    let write = json!({"action": "write", "key": "scope", "value": "Find \"it\".\n\u{e4}"});
    let (written, is_error) = told(&bench.call(&bench.orchestrator, write));
    assert!(!is_error);
    assert_eq!(written["version"], 1);
    let read = r#"{"action":"read","key":"scope"}"#;
    let rest = bench.check("POST /v1/sessions/s/shared_context", read, 200, "");
    let (seen, _) = told(&bench.call(&bench.agent, json!({"action": "read", "key": "scope"})));
    assert_eq!(seen, rest.json());
    let legacy = bench.legacy_result(
        &bench.agent,
        None,
        "tools/call",
        json!({"name": "shared_context", "arguments": {"action": "read", "key": "scope"}}),
    );
    assert_eq!(told(&legacy).0, rest.json());
    assert!(legacy.get("resultType").is_none());
}

#[test]
fn a_refusal_is_a_result_an_agent_can_act_on() {
    let bench = Bench::new();
    let (agent, tool) = (&bench.agent, "shared_context");
    refused(&bench, agent, tool, json!({"action": "read", "key": "gone"}), "KEY_NOT_FOUND", "gone");
    refused(&bench, agent, tool, json!({}), "MALFORMED_REQUEST", "action");
    refused(&bench, agent, tool, json!({"action": "x"}), "MALFORMED_REQUEST", "list_keys");
    refused(&bench, agent, tool, json!({"action": "read", "key": "A B"}), "INVALID_KEY", "a-z");
    refused(
        &bench,
        agent,
        tool,
        json!({"action": "read", "key": "a", "x": 1}),
        "MALFORMED_REQUEST",
        "x",
    );
    refused(
        &bench,
        agent,
        tool,
        json!({"action": "snapshot", "label": "a"}),
        "FORBIDDEN",
        "orchestrator",
    );
    refused(
        &bench,
        agent,
        tool,
        json!({"action": "list_keys", "session": 7}),
        "MALFORMED_REQUEST",
        "session",
    );
}

#[test]
fn what_no_agent_can_mend_is_an_error_of_the_protocol() {
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
fn the_session_is_the_credentials_unless_the_admin_names_one() {
    let bench = Bench::new();
    bench.create("other");
    let tool = "shared_context";
    let list = |session: &str| json!({"action": "list_keys", "session": session});
    assert!(!told(&bench.call(&bench.agent, list("s"))).1);
    refused(&bench, &bench.agent, tool, list("other"), "FORBIDDEN", "the session s");
    assert!(!told(&bench.call(ADMIN_KEY, list("other"))).1);
    refused(
        &bench,
        ADMIN_KEY,
        tool,
        json!({"action": "list_keys"}),
        "MALFORMED_REQUEST",
        "session",
    );
    refused(&bench, ADMIN_KEY, tool, list("gone"), "SESSION_NOT_FOUND", "gone");
}

#[test]
fn an_orchestrator_lets_a_subagent_take_part() {
    let bench = Bench::new();
    let params = json!({"name": "subagent", "arguments": {
        "task": "analysis", "id": "3", "ttl_seconds": 600, "keys": ["inv_*", "scope"],
    }});
    let (handed, is_error) = told(&bench.modern_result(&bench.orchestrator, "tools/call", params));
    assert!(!is_error, "{handed}");
    assert_eq!(handed["participant"], "subagent:analysis:3");
    assert_eq!(handed["session"], "s");
    assert_eq!(handed["expires_at"], "2026-02-20T14:40:00Z");
    let credential = handed["credential"].as_str().unwrap();
    let write = |key: &str| json!({"action": "write", "key": key, "value": "x"});
    let (written, _) = told(&bench.call(credential, write("inv_cause")));
    assert_eq!(written["written_by"], "subagent:analysis:3");
    refused(&bench, credential, "shared_context", write("other"), "FORBIDDEN", "inv_*");
    bench.call(&bench.orchestrator, write("other"));
    let read = json!({"action": "read", "key": "other"});
    refused(&bench, credential, "shared_context", read, "KEY_NOT_FOUND", "other");
}

#[test]
fn only_the_orchestrator_and_the_operator_let_others_take_part() {
    let bench = Bench::new();
    let tool = "subagent";
    refused(&bench, &bench.agent, tool, json!({"task": "a"}), "FORBIDDEN", "orchestrator");
    let orchestrator = &bench.orchestrator;
    refused(&bench, orchestrator, tool, json!({}), "MALFORMED_REQUEST", "task is missing");
    refused(&bench, orchestrator, tool, json!({"task": "a b"}), "MALFORMED_REQUEST", "participant");
    // Its writes would read like the orchestrator's own.
    let named = json!({"task": "Orchestrator"});
    refused(&bench, orchestrator, tool, named, "MALFORMED_REQUEST", "taken for the orchestrator");
    // Otherwise this would be the subagent 3 of the task review.
    refused(
        &bench,
        orchestrator,
        tool,
        json!({"task": "review:3"}),
        "MALFORMED_REQUEST",
        "task holds a colon",
    );
    refused(
        &bench,
        orchestrator,
        tool,
        json!({"task": "a", "id": "3:4"}),
        "MALFORMED_REQUEST",
        "id holds a colon",
    );
    refused(&bench, orchestrator, tool, json!({"task": 7}), "MALFORMED_REQUEST", "string");
    refused(
        &bench,
        orchestrator,
        tool,
        json!({"task": "a", "ttl_seconds": 5}),
        "MALFORMED_REQUEST",
        "60",
    );
    refused(
        &bench,
        orchestrator,
        tool,
        json!({"task": "a", "ttl_seconds": "x"}),
        "MALFORMED_REQUEST",
        "ttl_seconds",
    );
    refused(
        &bench,
        orchestrator,
        tool,
        json!({"task": "a", "role": "admin"}),
        "MALFORMED_REQUEST",
        "role",
    );
    refused(
        &bench,
        orchestrator,
        tool,
        json!({"task": "a", "keys": ["A*"]}),
        "MALFORMED_REQUEST",
        "A*",
    );
    refused(
        &bench,
        orchestrator,
        tool,
        json!({"task": "a", "session": "t"}),
        "FORBIDDEN",
        "session s",
    );
    refused(&bench, ADMIN_KEY, tool, json!({"task": "a"}), "MALFORMED_REQUEST", "session");
    let names = |token: &str| -> Vec<Value> {
        let listed = bench.modern_result(token, "tools/list", json!({}));
        listed["tools"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect()
    };
    assert_eq!(names(orchestrator), ["shared_context", "subagent", "delta_rounds"]);
    assert_eq!(names(ADMIN_KEY), ["shared_context", "subagent", "delta_rounds"]);
    assert_eq!(names(&bench.agent), ["shared_context", "delta_rounds"]);
}

#[test]
fn agents_agree_on_a_state_in_rounds() {
    let bench = Bench::new();
    let tool = "delta_rounds";
    let call = |token: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments});
        let (told, is_error) = told(&bench.modern_result(token, "tools/call", params));
        assert!(!is_error, "{told}");
        told
    };
    let delta = |value: Value| {
        json!({"action": "propose_deltas", "deltas": [
            {"operation": "add", "path": "$.rules", "value": value, "provenance": "seen"},
        ]})
    };
    refused(&bench, &bench.agent, tool, delta(json!(1)), "ROUND_NOT_OPEN", "open_round");
    let plan = json!({"action": "open_round", "weights": [{"participant": "*", "weight": 0.5}]});
    call(&bench.orchestrator, plan);
    assert_eq!(call(&bench.agent, delta(json!({"holds": null})))["last_sequence"], 1);
    // An argument of the wire's beside one that is any JSON.
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

/// A client that allowed `shared_context` and not `delta_rounds` had rounds closed all
/// the same: `shared_context` took every action. Each tool takes what it lists now.
#[test]
fn a_tool_takes_no_action_that_it_does_not_list() {
    let bench = Bench::new();
    let check = |token: &str, tool: &str, action: &str, warning: &str| {
        let arguments = json!({"action": action, "session": "s"});
        refused(&bench, token, tool, arguments, "MALFORMED_REQUEST", warning);
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
    refused(&bench, &bench.orchestrator, tool, json!({"action": "fly"}), code, "known are");
    refused(&bench, &bench.orchestrator, tool, json!({}), code, "action");
    refused(&bench, &bench.orchestrator, tool, json!({"action": 7}), code, "action");
}

#[test]
fn the_list_of_tools_is_one_page_and_the_same_each_time() {
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
