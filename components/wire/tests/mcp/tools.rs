//! The tools as agents call them.

use serde_json::{Value, json};

use crate::bench::{ADMIN_KEY, Bench, WaitEvent};

/// Returns the structured content of a tool result and its error flag.
#[track_caller]
fn unpack(result: &Value) -> (Value, bool) {
    assert!(result["content"][0]["text"].is_string(), "{result}");
    assert_eq!(result["content"].as_array().unwrap().len(), 1);
    (result["structuredContent"].clone(), result["isError"].as_bool().unwrap())
}

/// Calls the tool `name`, which must succeed, and returns its reply.
#[track_caller]
fn call(bench: &Bench, token: &str, name: &str, arguments: Value) -> Value {
    let (content, is_error) = unpack(&bench.call(token, name, arguments));
    assert!(!is_error, "{content}");
    content
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
    let result = bench.call(token, name, arguments);
    let (content, is_error) = unpack(&result);
    assert!(is_error, "{content}");
    assert_eq!(content["error"]["code"], code, "{content}");
    let message = content["error"]["message"].as_str().unwrap();
    assert!(message.contains(warning), "{message}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("{code}: {message}")), "{text}");
}

/// Returns the names of the tools that are listed for `token` at `/mcp` with `query`.
#[track_caller]
fn listed(bench: &Bench, token: &str, query: &str) -> Vec<String> {
    let seen = bench.modern_at(token, query, "tools/list", json!({}));
    assert_eq!(seen.status, 200, "{seen:?}");
    let answer = seen.json();
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_call_returns_the_reply_of_the_json_tool() {
    let bench = Bench::new();
    let value = "Find \"it\".\n\u{e4}";
    let write = json!({"key": "scope", "value": value, "if_version": null});
    assert_eq!(call(&bench, &bench.orchestrator, "context_write", write)["version"], 1);
    let read = r#"{"action":"read_batch","keys":["scope"]}"#;
    let rest = bench.check("POST /v1/sessions/s/shared_context", read, 200, "").json();
    let arguments = json!({"keys": ["scope"]});
    assert_eq!(call(&bench, &bench.agent, "context_read", arguments.clone()), rest);
    let params = json!({"name": "context_read", "arguments": arguments});
    let legacy = bench.legacy_result(&bench.agent, None, "tools/call", params);
    assert_eq!(unpack(&legacy).0, rest);
    assert!(legacy.get("resultType").is_none());
    // The text is for models: the value as it is.
    let text = legacy["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(&format!("\n```\n{value}\n```")), "{text}");
}

/// A session of 10,000 keys was one answer of more than a megabyte, which no model reads.
#[test]
fn ten_thousand_keys_are_listed_in_pages() {
    let bench = Bench::new();
    let patch = [("content-type", "application/merge-patch+json")];
    let config = r#"{"config":{"keys_max":10000}}"#;
    bench.check_as(ADMIN_KEY, "PATCH /v1/sessions/s", &patch, config, 200, "");
    for part in 0..100 {
        let keys = (0..100).map(|it| format!("k{part:02}{it:02}"));
        let writes: Vec<Value> = keys.map(|it| json!({"key": it, "value": "x"})).collect();
        let batch = json!({"action": "write_batch", "writes": writes}).to_string();
        bench.engine.invoke_as("orchestrator", &batch);
    }
    let whole = bench.check("GET /v1/sessions/s/entries", "", 200, "").json();
    let (mut seen, mut arguments) = (Vec::new(), json!({}));
    for nth in 1..=50 {
        let result = bench.call(&bench.agent, "context_list", arguments);
        assert!(result.to_string().len() < 100_000, "{}", result.to_string().len());
        let (page, is_error) = unpack(&result);
        assert!(!is_error, "{page}");
        let keys = page["keys"].as_array().unwrap();
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("200 of 10000 keys, 10000 of 10000 tokens"), "{text}");
        assert_eq!((keys.len(), &page["key_count"]), (200, &json!(10_000)));
        seen.extend(keys.iter().cloned());
        arguments = json!({"after": page["next_after"]});
        // All that the reply of the JSON tool has, and the cursor.
        let mut rest = page.as_object().unwrap().clone();
        assert_eq!(rest.remove("next_after").is_some(), nth < 50, "{nth}");
        rest.insert("keys".to_owned(), whole["keys"].clone());
        assert_eq!(Value::from(rest), whole, "{nth}");
    }
    assert_eq!(Value::from(seen), whole["keys"]);
}

#[test]
fn an_error_is_a_result_that_an_agent_can_act_on() {
    let bench = Bench::new();
    let check = |tool: &str, arguments: Value, code: &str, part: &str| {
        check_rejected(&bench, &bench.agent, tool, arguments, code, part);
    };
    let malformed = |tool: &str, arguments: Value, part: &str| {
        check(tool, arguments, "MALFORMED_REQUEST", part);
    };
    check("context_delete", json!({"key": "gone"}), "KEY_NOT_FOUND", "gone");
    check("context_delete", json!({"key": "A B"}), "INVALID_KEY", "write it as a_b");
    check("context_delete", json!({"key": "a_*"}), "INVALID_KEY", "takes no patterns");
    malformed("context_write", json!({}), "context_write needs key (a-z");
    malformed("context_write", json!({"key": "a", "content": "x"}), "did you mean value?");
    malformed("context_write", json!({"key": "a", "text": "x"}), "did you mean value?");
    let lifetime = json!({"key": "a", "value": "x", "ttl": 5});
    malformed("context_write", lifetime, "did you mean ttl_seconds?");
    let object = json!({"key": "a", "value": {"b": 1}});
    malformed("context_write", object, "value must be text, not an object; send JSON as text");
    let readers = json!({"key": "a", "value": "x", "readable_by": "orchestrator"});
    malformed("context_write", readers, "readable_by must be a list of texts");
    malformed("context_read", json!({"key": "a"}), "did you mean keys?");
    malformed("context_read", json!({"keys": "a"}), "keys must be a list of texts");
    malformed("context_list", json!({"prefix": "a"}), "context_list takes no prefix");
    check("context_list", json!({"after": "A B"}), "INVALID_KEY", "write it as a_b");
    malformed("context_list", json!({"after": 200}), "after must be text");
    malformed("context_list", json!({"session": "s"}), "for one session already; leave it out");
    malformed("context_changes", json!({"since": "1"}), "since must be a whole number");
    malformed("context_changes", json!({"since": 1.5}), "since must be a whole number");
    // These once gave advice that could not work, or named one type twice.
    let one = "keys must be text, not a list; it takes one: send it without the brackets";
    malformed("context_changes", json!({"since": 1, "keys": ["scope"]}), one);
    malformed(
        "context_write",
        json!({"key": ["a"], "value": "x"}),
        "key must be text, not a list; it",
    );
    malformed("context_read", json!({"keys": [1]}), "keys[item 1] must be text, not this number");
    let version = json!({"key": "a", "value": "x", "version": 1});
    malformed("context_write", version, "did you mean if_version?");
    let revision = json!({"key": "a", "value": "x", "if_revision": 0});
    malformed("context_write", revision, "if_version, the version of the entry that you read");
    malformed("context_changes", json!({"since": 1, "wait_seconds": 61}), "0 to 60");
    let action = json!({"action": "write", "key": "a", "value": "x"});
    malformed("context_write", action, "context_write takes no action; leave it out");
    // It once listed the members of the tool that writes, to an agent that wanted to delete.
    let delete = json!({"action": "delete", "key": "a"});
    malformed("context_write", delete, "no action \"delete\"; call context_delete for it");
    malformed("context_list", json!({"action": "write"}), "call context_write for it");
    check("context_session", json!({"action": "redact"}), "FORBIDDEN", "for the orchestrator");
}

#[test]
fn the_orchestrators_mistakes_are_answered_by_action() {
    let bench = Bench::new();
    let malformed = |arguments: Value, part: &str| {
        let (token, code) = (&bench.orchestrator, "MALFORMED_REQUEST");
        check_rejected(&bench, token, "context_session", arguments, code, part);
    };
    malformed(json!({}), "context_session needs action: snapshot, list_snapshots");
    malformed(json!({"action": 7}), "action must be text");
    malformed(json!({"action": "write"}), "has no action \"write\"; call context_write for it");
    malformed(json!({"action": "rollback"}), "did you mean restore_snapshot?");
    malformed(json!({"action": "spawn"}), "did you mean add_subagent?");
    malformed(json!({"action": "snapshot"}), "snapshot needs label");
    malformed(json!({"action": "snapshot", "name": "a"}), "did you mean label?");
    malformed(json!({"action": "list_snapshots", "label": "a"}), "takes no label");
    malformed(json!({"action": "list_snapshots", "labels": null}), "takes no labels");
    // Strict tool calling fills the members of other actions with null.
    let filled = json!({"action": "list_snapshots", "label": null, "task": null});
    call(&bench, &bench.orchestrator, "context_session", filled);
    malformed(json!({"action": "delete_session"}), "has no action");
    malformed(json!({"action": "add_subagent", "name": "a"}), "did you mean task?");
    malformed(json!({"action": "read_snapshot", "name": "a"}), "did you mean label?");
    // An agent that knows the HTTP route for credentials sends that route's member. The error once
    // advised to leave it out.
    let participant = json!({"action": "add_subagent", "participant": "subagent:a"});
    malformed(participant, "takes no participant; send its task");
    malformed(json!({"action": "add_subagent"}), "add_subagent needs task (such as review)");
    // Suggestions were once the opposite of what was asked, such as `restore_snapshot` for
    // `remove_snapshot`, or a list of ten actions.
    for (wrong, next) in [
        ("remove_snapshot", "did you mean delete_snapshot?"),
        ("compare_snapshots", "did you mean diff_snapshots?"),
        ("take_snapshot", "did you mean snapshot?"),
        ("create_snapshot", "did you mean snapshot?"),
        ("get", "call context_read for it"),
        ("read", "call context_read for it"),
        ("get_access", "call context_list for it"),
        ("update_snapshot", "it has snapshot, list_snapshots"),
        ("delete_subagent", "it has snapshot, list_snapshots"),
    ] {
        malformed(json!({"action": wrong}), next);
    }
}

#[test]
fn a_wrong_action_of_rounds_leads_to_no_opposite_one() {
    let bench = Bench::with_rounds();
    for (wrong, next) in [
        ("start_round", "did you mean open_round?"),
        ("open", "did you mean open_round?"),
        ("end_round", "did you mean close_round?"),
        ("close", "did you mean close_round?"),
        ("read_rounds", "call delta_rounds_read with the action read_state"),
        ("list_rounds", "call delta_rounds_read with the action read_state"),
        ("accept_deltas", "it has open_round"),
    ] {
        let (token, code) = (&bench.orchestrator, "MALFORMED_REQUEST");
        let arguments = json!({"action": wrong});
        check_rejected(&bench, token, "delta_rounds_manage", arguments, code, next);
    }
}

/// A session without rounds did not list their tools, and performed them.
#[test]
fn a_tool_that_is_not_listed_is_refused() {
    let bench = Bench::new();
    let open = json!({"action": "open_round"});
    let other = "not among the tools of this session";
    let (orchestrator, tool) = (&bench.orchestrator, "delta_rounds_manage");
    check_rejected(&bench, orchestrator, tool, open.clone(), "FORBIDDEN", other);
    let with_session = json!({"action": "open_round", "session": "s"});
    let connection = "connect to /mcp?tools=delta_rounds";
    check_rejected(&bench, ADMIN_KEY, tool, with_session, "FORBIDDEN", connection);
    let params = json!({"name": tool, "arguments": open});
    let seen = bench.modern_at(orchestrator, "?tools=delta_rounds", "tools/call", params);
    assert_eq!(seen.json()["result"]["isError"], false, "{seen:?}");
    // Nor does an error name it.
    let missing = json!({"name": "list_rounds", "arguments": {}});
    let seen = bench.modern(orchestrator, "tools/call", missing).json();
    let message = seen["error"]["message"].as_str().unwrap();
    assert!(!message.contains("delta_rounds"), "{message}");
    let bench = Bench::with_rounds();
    let (code, agent) = ("MALFORMED_REQUEST", &bench.agent);
    let result = bench.call(agent, "delta_rounds_read", json!({"action": "close_round"}));
    let (content, _) = unpack(&result);
    assert_eq!(content["error"]["code"], code);
    let message = content["error"]["message"].as_str().unwrap();
    assert!(!message.contains("delta_rounds_manage"), "an agent may not use it: {message}");
}

/// The advice of the prompt, `{task}_findings`, was once answered with `OUTSIDE_NAMESPACE`, and
/// `60.0` was no integer.
#[test]
fn what_the_prompt_and_the_schema_say_is_accepted() {
    let bench = Bench::new();
    let config = r#"{"config":{"namespace":{"keys":[{"key":"scope","group":"g","purpose":"p"}]}}}"#;
    bench.check_as(ADMIN_KEY, "PATCH /v1/sessions/s", &[], config, 200, "");
    let write = |key: &str| json!({"key": key, "value": "x", "ttl_seconds": 60.0});
    let seen = call(&bench, &bench.agent, "context_write", write("analysis_findings"));
    assert_eq!(seen.get("warnings"), None, "{seen}");
    let seen = call(&bench, &bench.agent, "context_write", write("findings"));
    assert_eq!(seen["warnings"][0]["code"], "OUTSIDE_NAMESPACE", "{seen}");
}

/// A `\ud800` alone was once "must be text, not text".
#[test]
fn half_of_a_character_is_named() {
    let bench = Bench::new();
    let (headers, body) = crate::client::modern_request(
        "tools/call",
        json!({"name": "context_write", "arguments": {"key": "a", "value": "HALF"}}),
    );
    let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (&**n, &**v)).collect();
    let body = body.to_string().replace("HALF", r"\ud800");
    let seen = bench.mcp(&bench.agent, &headers, &body).json();
    let text = seen["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("value: an escape such as"), "{text}");
}

/// A client of the time when one tool had all actions, or a model that remembers it.
#[test]
fn an_unknown_tool_is_answered_with_the_right_one() {
    let bench = Bench::new();
    let check = |name: &str, arguments: Value, part: &str| {
        let params = json!({"name": name, "arguments": arguments});
        let seen = bench.modern(&bench.orchestrator, "tools/call", params.clone());
        let error = seen.json()["error"].take();
        assert_eq!((error["code"].as_i64(), seen.status.as_u16()), (Some(-32602), 200));
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(part), "{params}: {message}");
    };
    check("shared_context", json!({"action": "list_keys"}), "call context_list");
    check("shared_context", json!({"action": "read", "key": "a"}), "call context_read");
    check("shared_context", json!({"action": "set"}), "call context_write");
    check("context_get", json!({}), "call context_read");
    check("context_update", json!({}), "call context_write");
    check("snapshot", json!({}), "call context_session with the action snapshot");
    check("contextwrite", json!({}), "call context_write");
    check("contxt_delete", json!({}), "call context_delete");
    check("context_undelete", json!({}), "there are context_list");
    check("weather", json!({}), "there are context_list, context_read");
    for params in [
        json!({"arguments": {}}),
        json!({"name": 7}),
        json!({"name": "context_list", "arguments": []}),
        json!({"name": "context_list", "arguments": "x"}),
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
    let tool = "context_list";
    let list = |session: &str| json!({"session": session});
    let leave_out = "leave it out";
    check_rejected(&bench, &bench.agent, tool, list("s"), "MALFORMED_REQUEST", leave_out);
    call(&bench, ADMIN_KEY, tool, list("other"));
    check_rejected(&bench, ADMIN_KEY, tool, json!({}), "MALFORMED_REQUEST", "session");
    let create = "create it first: shared-context session create gone";
    check_rejected(&bench, ADMIN_KEY, tool, list("gone"), "SESSION_NOT_FOUND", create);
    // Without a header for a proxy the answer is the same, not an error of the protocol.
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": list("s"), "_meta": crate::client::meta(),
    }});
    let headers = [
        ("mcp-protocol-version", crate::client::MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    let seen = bench.mcp(&bench.agent, &headers, &body.to_string()).json();
    assert!(seen["result"]["content"][0]["text"].as_str().unwrap().contains(leave_out), "{seen}");
}

#[test]
fn an_orchestrator_mints_a_credential_for_a_subagent() {
    let bench = Bench::new();
    let arguments = json!({
        "action": "add_subagent", "task": "analysis", "id": "3", "ttl_seconds": 600,
        "keys": ["inv_*", "scope"],
    });
    let invited = call(&bench, &bench.orchestrator, "context_session", arguments);
    assert_eq!(invited["participant"], "subagent:analysis:3");
    assert_eq!(invited["session"], "s");
    assert_eq!(invited["expires_at"], "2026-02-20T14:40:00Z");
    let credential = invited["credential"].as_str().unwrap();
    let write = |key: &str| json!({"key": key, "value": "x"});
    let written = call(&bench, credential, "context_write", write("inv_cause"));
    assert_eq!(written["written_by"], "subagent:analysis:3");
    check_rejected(&bench, credential, "context_write", write("other"), "FORBIDDEN", "inv_*");
    call(&bench, &bench.orchestrator, "context_write", write("other"));
    let seen = call(&bench, credential, "context_read", json!({"keys": ["other"]}));
    assert_eq!(seen["missing"], json!(["other"]));
    let listed = call(&bench, credential, "context_list", json!({}));
    assert_eq!(listed["total_tokens"], 1, "what it does not see is not counted");
}

#[test]
fn an_invalid_invitation_is_rejected() {
    let bench = Bench::new();
    let check = |arguments: Value, part: &str| {
        let mut arguments = arguments;
        arguments["action"] = json!("add_subagent");
        let (token, code) = (&bench.orchestrator, "MALFORMED_REQUEST");
        check_rejected(&bench, token, "context_session", arguments, code, part);
    };
    check(json!({}), "add_subagent needs task");
    check(json!({"task": "a b"}), "participant");
    // Writes by this subagent would look like the orchestrator's own.
    check(json!({"task": "Orchestrator"}), "taken for the orchestrator");
    // Otherwise this would be subagent 3 of the task `review`.
    check(json!({"task": "review:3"}), "no colon");
    check(json!({"task": "a", "id": "3:4"}), "no colon");
    check(json!({"task": 7}), "task must be text");
    check(json!({"task": "a", "ttl_seconds": 5}), "60");
    check(json!({"task": "a", "ttl_seconds": "x"}), "ttl_seconds must be a whole number");
    check(json!({"task": "a", "role": "admin"}), "add_subagent takes no role");
    check(json!({"task": "a", "keys": ["A*"]}), "A*");
    let arguments = json!({"action": "add_subagent", "task": "a"});
    check_rejected(&bench, &bench.agent, "context_session", arguments, "FORBIDDEN", "orchestrator");
}

#[test]
fn agents_merge_deltas_in_rounds() {
    let bench = Bench::with_rounds();
    let (orchestrator, agent) = (&bench.orchestrator, &bench.agent);
    let deltas = |value: Value| {
        json!({"action": "propose_deltas", "deltas": [
            {"operation": "add", "path": "$.rules", "value": value, "provenance": "seen"},
        ]})
    };
    let propose = "delta_rounds_propose";
    check_rejected(&bench, agent, propose, deltas(json!(1)), "ROUND_NOT_OPEN", "open");
    let unexplained = json!([{"operation": "add", "path": "$.rules", "value": 1}]);
    let unexplained = json!({"action": "propose_deltas", "deltas": unexplained});
    let (code, part) = ("MALFORMED_REQUEST", "deltas[item 1] needs provenance");
    check_rejected(&bench, agent, propose, unexplained, code, part);
    let plan = json!({"action": "open_round", "weights": [{"participant": "*", "weight": 0.5}]});
    call(&bench, orchestrator, "delta_rounds_manage", plan);
    assert_eq!(call(&bench, agent, propose, deltas(json!({"holds": null})))["last_sequence"], 1);
    assert_eq!(call(&bench, agent, propose, deltas(json!(2)))["last_sequence"], 2);
    assert_eq!(call(&bench, agent, propose, deltas(json!(3)))["deltas"][0]["effect"], "appends");
    let withdraw = json!({"action": "withdraw_deltas", "sequences": [2]});
    assert_eq!(call(&bench, agent, propose, withdraw)["sequences"], json!([2]));
    let reject = json!({"action": "reject_deltas", "sequences": [3], "reason": "no rule"});
    assert_eq!(call(&bench, orchestrator, "delta_rounds_manage", reject)["outcome"], "rejected");
    call(&bench, orchestrator, "delta_rounds_manage", json!({"action": "close_round"}));
    let state = call(&bench, agent, "delta_rounds_read", json!({"action": "read_state"}));
    assert_eq!(state["state"]["rules"], json!([{"holds": null}]));
    let body = r#"{"action":"read_state"}"#;
    let seen = bench.check("POST /v1/sessions/s/shared_context", body, 200, "");
    assert_eq!(seen.json(), state, "over HTTP the JSON tool is one");
}

/// The reply named `next_after`, which no member of the tool took.
#[test]
fn more_than_a_hundred_deltas_are_read_in_pages() {
    let bench = Bench::with_rounds();
    let (orchestrator, agent) = (&bench.orchestrator, &bench.agent);
    call(&bench, orchestrator, "delta_rounds_manage", json!({"action": "open_round"}));
    let delta = |nth: usize| json!({"operation": "add", "path": "$.rules", "value": nth, "provenance": "seen"});
    let deltas: Vec<Value> = (0..101).map(delta).collect();
    let arguments = json!({"action": "propose_deltas", "deltas": deltas});
    call(&bench, agent, "delta_rounds_propose", arguments);
    let read = |after: Value| {
        let arguments = json!({"action": "read_deltas", "after": after});
        call(&bench, agent, "delta_rounds_read", arguments)
    };
    let first = read(json!(null));
    assert_eq!(first["deltas"].as_array().unwrap().len(), 100);
    let rest = read(first["next_after"].clone());
    assert_eq!(rest["deltas"].as_array().unwrap().len(), 1, "{rest}");
    assert_eq!(rest.get("next_after"), None);
}

/// An error once described a member by other actions, and proposed one that was there.
#[test]
fn help_does_not_name_other_actions_or_sent_members() {
    let bench = Bench::with_rounds();
    let (token, code) = (&bench.orchestrator, "MALFORMED_REQUEST");
    let reject = json!({"action": "reject_deltas", "sequences": [1]});
    let seen = bench.call(token, "delta_rounds_manage", reject);
    let text = "MALFORMED_REQUEST: reject_deltas needs reason";
    assert_eq!(seen["content"][0]["text"], text, "{seen}");
    let access = json!({"action": "set_access", "readable_by": ["*"]});
    let seen = bench.call(token, "context_session", access);
    assert_eq!(seen["content"][0]["text"], "MALFORMED_REQUEST: set_access needs key", "{seen}");
    let redact = json!({"action": "redact", "key": "a", "revision": 1, "reason": "x"});
    check_rejected(
        &bench,
        token,
        "context_session",
        redact,
        code,
        "no revision; it takes key, reason",
    );
    let redact = json!({"action": "redact", "key": "a", "reasn": "x"});
    check_rejected(&bench, token, "context_session", redact, code, "did you mean reason?");
}

/// Three agents made 145 of 393 calls to ask whether something had changed.
#[test]
fn an_agent_waits_for_a_change_of_others() {
    let bench = Bench::with_rounds();
    let since = call(&bench, &bench.agent, "context_list", json!({}))["revision"].clone();
    let write = |who: &'static str, key: &str| {
        let request = json!({"action": "write", "key": key, "value": "x"});
        WaitEvent::Request(who, request.to_string())
    };
    let wait = |since: &Value, more: Value| {
        let mut arguments = json!({"since": since, "wait_seconds": 60});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call(&bench, &bench.agent, "context_changes", arguments)
    };
    let later = [write("subagent:analysis", "own"), write("orchestrator", "other")];
    bench.engine.wait_events.lock().unwrap().extend(later);
    let seen = wait(&since, json!({"except_own": true}));
    assert_eq!(seen["changes"].as_array().unwrap().len(), 1, "{seen}");
    assert_eq!(seen["changes"][0]["key"], "other");

    // A wait for one key also ends when a round opens.
    let open = r#"{"action":"open_round"}"#.to_owned();
    let later = [write("orchestrator", "x"), WaitEvent::Request("orchestrator", open)];
    bench.engine.wait_events.lock().unwrap().extend(later);
    let seen = wait(&seen["next_since"], json!({"keys": "findings_*"}));
    assert_eq!(seen["changes"][0]["action"], "open_round", "{seen}");

    // Nothing happens: the wait ends when the time is up. Clients gave up on a wait of 60 seconds
    // in the moment in which it was answered.
    bench.engine.wait_events.lock().unwrap().push_back(WaitEvent::TimePasses(55_000));
    let seen = wait(&seen["next_since"], json!({}));
    assert_eq!((&seen["changes"], &seen["has_more"]), (&json!([]), &json!(false)));

    let close = r#"{"action":"close_round"}"#.to_owned();
    let later = [write("orchestrator", "y"), WaitEvent::Request("orchestrator", close)];
    bench.engine.wait_events.lock().unwrap().extend(later);
    let arguments =
        json!({"action": "read_state", "since": seen["next_since"], "wait_seconds": 60});
    let state = call(&bench, &bench.agent, "delta_rounds_read", arguments);
    assert_eq!((&state["round"], &state["open_round"]), (&json!(1), &Value::Null), "{state}");
    let (code, part) = ("MALFORMED_REQUEST", "wait_seconds needs since");
    let arguments = json!({"action": "read_state", "wait_seconds": 1});
    check_rejected(&bench, &bench.agent, "delta_rounds_read", arguments, code, part);
}

/// A client that allowed one tool did not allow the actions of another: once, one tool accepted
/// every action.
#[test]
fn a_tool_accepts_only_the_actions_it_lists() {
    let bench = Bench::with_rounds();
    let check = |token: &str, tool: &str, action: &str, next: &str| {
        let arguments = json!({"action": action});
        check_rejected(&bench, token, tool, arguments, "MALFORMED_REQUEST", next);
    };
    // The entries were read instead of the state of the round.
    check(&bench.agent, "delta_rounds_read", "read", "it has ");
    for tool in ["context_session", "delta_rounds_read", "delta_rounds_manage"] {
        for action in ["list_keys", "write", "delete"] {
            check(&bench.orchestrator, tool, action, "call context_");
        }
        check(&bench.orchestrator, tool, "delete_session", "has no action");
    }
    check(&bench.orchestrator, "context_session", "close_round", "call delta_rounds_manage");
    check(&bench.agent, "delta_rounds_read", "propose_deltas", "call delta_rounds_propose");
    bench.check_as(ADMIN_KEY, "GET /v1/sessions/s", &[], "", 200, r#""revision":1"#);
}

const MEMORY: [&str; 5] =
    ["context_list", "context_read", "context_changes", "context_write", "context_delete"];

/// Tools of rounds are listed if the session, the credential or the connection uses rounds.
#[test]
fn tools_are_listed_where_they_are_used() {
    let bench = Bench::new();
    let with_rounds = [&MEMORY[..], &["delta_rounds_read", "delta_rounds_propose"]].concat();
    assert_eq!(listed(&bench, &bench.agent, ""), MEMORY);
    assert_eq!(listed(&bench, &bench.agent, "?tools=delta_rounds"), with_rounds);
    assert_eq!(listed(&bench, ADMIN_KEY, ""), [&MEMORY[..], &["context_session"]].concat());
    assert_eq!(listed(&bench, &bench.orchestrator, "?tools=delta_rounds").len(), 9);

    let body = r#"{"session_id":"r","config":{"tools":["delta_rounds"]}}"#;
    bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], body, 201, "");
    let agent = bench.mint("r", "subagent:a");
    assert_eq!(listed(&bench, &agent, ""), with_rounds);
    assert_eq!(listed(&bench, &agent, "?tools="), MEMORY);

    let mint = |body: &str| {
        let target = "POST /v1/sessions/r/credentials";
        let minted = bench.check_as(ADMIN_KEY, target, &[], body, 201, "").json();
        minted["credential"].as_str().unwrap().to_owned()
    };
    let limited = mint(r#"{"participant":"subagent:b","keys":["inv_*"]}"#);
    assert_eq!(listed(&bench, &limited, ""), MEMORY, "rounds have no keys");
    let without = mint(r#"{"participant":"subagent:c","tools":[]}"#);
    assert_eq!(listed(&bench, &without, ""), MEMORY);
    let read = || json!({"action": "read_state"});
    check_rejected(&bench, &without, "delta_rounds_read", read(), "FORBIDDEN", "your credential");
    let target = "POST /v1/sessions/s/credentials";
    let body = r#"{"participant":"subagent:d","tools":["delta_rounds"]}"#;
    let minted = bench.check_as(ADMIN_KEY, target, &[], body, 201, "").json();
    assert_eq!(minted["tools"], json!(["delta_rounds"]));
    assert_eq!(listed(&bench, minted["credential"].as_str().unwrap(), ""), with_rounds);
}

#[test]
fn an_unknown_set_of_tools_is_rejected() {
    let bench = Bench::new();
    let body = r#"{"participant":"subagent:a","tools":["billing"]}"#;
    let target = "POST /v1/sessions/s/credentials";
    bench.check_as(ADMIN_KEY, target, &[], body, 400, "shared_context, delta_rounds");
    let body = r#"{"session_id":"r","config":{"tools":["billing"]}}"#;
    bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], body, 400, "config.tools may have");
    let seen = bench.modern_at(&bench.agent, "?tools=billing", "tools/list", json!({}));
    assert_eq!(seen.status, 400, "{seen:?}");
    assert!(seen.body.contains(r#"no \"billing\"; it may have shared_context"#), "{seen:?}");
    let body = r#"{"participant":"subagent:c","tools":[]}"#;
    let minted = bench.check_as(ADMIN_KEY, target, &[], body, 201, "").json();
    let token = minted["credential"].as_str().unwrap();
    let seen = bench.modern_at(token, "?tools=delta_rounds", "tools/list", json!({}));
    assert_eq!(seen.status, 403, "{seen:?}");
    // Every credential has the working memory; a request for it was once rejected.
    assert_eq!(listed(&bench, token, "?tools=shared_context"), MEMORY);
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
