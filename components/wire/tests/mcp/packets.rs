//! Packets over MCP: tools, resources and their updates.

use serde_json::{Value, json};

use crate::{
    bench::{ADMIN_KEY, Bench},
    streams::subjects,
};

const URI: &str = "session://s/packets/subagent:analysis";
const SHARED: &str = "session://s/packets/shared";

/// Creates a server with the session `s`, which uses packets and keeps them after feedback.
fn with_packets() -> Bench {
    let config = r#"{"tools":["context_packets"],"packet":{"auto_cleanup":false}}"#;
    Bench::configured(|options| options, config)
}

/// Calls a tool and returns its reply, with the text that a model sees.
#[track_caller]
fn call(bench: &Bench, token: &str, name: &str, arguments: Value) -> (Value, String) {
    let result = bench.call(token, name, arguments);
    assert_eq!(result["isError"], false, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    (result["structuredContent"].clone(), text)
}

/// Returns the code of the error of a call.
#[track_caller]
fn code(bench: &Bench, token: &str, name: &str, arguments: Value) -> Value {
    let result = bench.call(token, name, arguments);
    assert_eq!(result["isError"], true, "{result}");
    result["structuredContent"]["error"]["code"].clone()
}

/// Writes the packet of the agent.
#[track_caller]
fn generate(bench: &Bench, address: &str) -> (Value, String) {
    let arguments = json!({
        "action": "context_generate", "task": "Add JWT auth to the login route",
        "address": address, "task_type": "implementation",
        "facts": {
            "constraints": ["Do not touch the registration route."],
            "decisions": [{"choice": "Sign JWT with RS256", "reason": "others verify it"}],
        },
    });
    call(bench, &bench.orchestrator, "context_packets_manage", arguments)
}

/// A worker reads its packet, queries it, and reports what it lacked; the orchestrator sees all of
/// this.
#[test]
fn a_worker_reads_asks_and_gives_feedback() {
    let bench = with_packets();
    let (written, text) = generate(&bench, "subagent:analysis");
    assert!(text.contains("RS256") && text.contains("packet for subagent:analysis"), "{text}");
    assert_eq!(written["version"], 1);

    let worker = |arguments| call(&bench, &bench.agent, "context_packets", arguments);
    let (read, text) = worker(json!({"action": "context_read"}));
    assert_eq!(read["checksum"], written["checksum"]);
    for part in ["registration route", "RS256", "others verify it"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let ask = |question: &str| worker(json!({"action": "context_query", "question": question}));
    let (answer, text) = ask("Which algorithm signs JWT?");
    assert!(answer["findings"][0]["text"].as_str().unwrap().contains("RS256"), "{answer}");
    assert!(text.contains("RS256") && !text.contains("nothing found"), "{text}");
    let (answer, text) = ask("Which colour has the banner?");
    assert_eq!(answer["findings"], json!([]), "{answer}");
    assert!(text.starts_with("nothing found"), "{text}");

    let feedback =
        || json!({"action": "context_feedback", "outcome": "done", "gaps": ["testing approach"]});
    worker(feedback());
    let again = code(&bench, &bench.agent, "context_packets", feedback());
    assert_eq!(again, "FEEDBACK_GIVEN");

    let manage = |action: &str| {
        let arguments = json!({ "action": action });
        call(&bench, &bench.orchestrator, "context_packets_manage", arguments).0
    };
    let listed = manage("list_packets");
    let reader = &listed["packets"][0]["readers"][0];
    assert_eq!(reader["participant"], "subagent:analysis", "{listed}");
    assert_eq!(reader["read_version"], 1, "{listed}");
    let types = manage("context_stats")["types"].clone();
    let types = types.as_array().unwrap();
    let own = types.iter().find(|it| it["task_type"] == "implementation").unwrap();
    assert_eq!(own["success_rate"], 1.0, "{own}");
    let gaps: Vec<&str> =
        own["gaps"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert!(gaps.contains(&"testing approach"), "{gaps:?}");
}

/// A credential for a task comes with a packet, unless the session turns that off.
#[test]
fn a_subagent_gets_its_packet_with_its_credential() {
    let add = json!({
        "action": "add_subagent", "task": "impl", "packet_task": "Add JWT auth to the login route",
    });
    let bench = with_packets();
    let (added, _) = call(&bench, &bench.orchestrator, "context_session", add.clone());
    assert_eq!(added["packet"]["version"], 1, "{added}");
    let token = added["credential"].as_str().unwrap();
    let (read, text) = call(&bench, token, "context_packets", json!({"action": "context_read"}));
    assert_eq!(read["id"], added["packet"]["id"]);
    assert!(text.contains("Add JWT auth"), "{text}");
    let body = r#"{"participant":"subagent:b","packet_task":"Add JWT auth"}"#;
    let target = "POST /v1/sessions/s/credentials";
    let minted = bench.check_as(&bench.orchestrator, target, &[], body, 201, "packet").json();
    assert_eq!(minted["packet"]["id"], "PKT-2", "{minted}");
    bench.check_as(ADMIN_KEY, target, &[], body, 403, "leave packet_task out");
    let empty = r#"{"participant":"subagent:c","packet_task":" "}"#;
    bench.check_as(&bench.orchestrator, target, &[], empty, 400, "task");

    let config = r#"{"tools":["context_packets"],"packet":{"auto_generate":false}}"#;
    let without = Bench::configured(|options| options, config);
    let (added, _) = call(&without, &without.orchestrator, "context_session", add);
    assert!(added.get("packet").is_none(), "{added}");
}

/// The tools depend on the role, and are rejected in sessions without packets.
#[test]
fn packets_are_offered_where_they_are_used() {
    let bench = with_packets();
    let generate = || json!({"action": "context_generate", "task": "Add JWT auth"});
    assert_eq!(code(&bench, &bench.agent, "context_packets_manage", generate()), "FORBIDDEN");
    let wrong = || json!({"action": "context_clear"});
    assert_eq!(code(&bench, &bench.agent, "context_packets", wrong()), "MALFORMED_REQUEST");
    let facts = || json!({"action": "context_generate", "task": "Add JWT", "facts": "RS256"});
    let wrong = code(&bench, &bench.orchestrator, "context_packets_manage", facts());
    assert_eq!(wrong, "MALFORMED_REQUEST");
    let without = Bench::new();
    let read = || json!({"action": "context_read"});
    assert_eq!(code(&without, &without.agent, "context_packets", read()), "FORBIDDEN");
}

/// Rounds have no keys to which a credential could be limited; a packet has only what its receiver
/// may read.
#[test]
fn a_limited_credential_gets_packets_and_no_rounds() {
    let bench =
        Bench::configured(|options| options, r#"{"tools":["delta_rounds","context_packets"]}"#);
    let body = r#"{"participant":"subagent:limited","keys":["inv_*"]}"#;
    let minted = bench.check_as(
        &bench.orchestrator,
        "POST /v1/sessions/s/credentials",
        &[],
        body,
        201,
        "subagent:limited",
    );
    let minted = minted.json();
    let token = minted["credential"].as_str().unwrap();
    // With the query, rounds were listed, and then every call was rejected by the session.
    for query in ["", "?tools=delta_rounds,context_packets"] {
        let seen = bench.modern_at(token, query, "tools/list", json!({})).json();
        let tools = seen["result"]["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"context_packets"), "{names:?}");
        assert!(!names.iter().any(|it| it.starts_with("delta_rounds")), "{names:?}");
        let params = json!({"name": "delta_rounds_read", "arguments": {"action": "read_state"}});
        let seen = bench.modern_at(token, query, "tools/call", params);
        assert!(seen.body.contains("a credential that is limited to keys"), "{seen:?}");
    }
}

#[test]
fn a_packet_is_a_resource_for_those_who_may_read_it() {
    let bench = with_packets();
    generate(&bench, "subagent:analysis");
    generate(&bench, "subagent:other");
    generate(&bench, "shared");
    let uris = |token: &str| -> Vec<String> {
        let listed = bench.modern_result(token, "resources/list", json!({}));
        let listed = listed["resources"].as_array().unwrap().clone();
        let uris = listed.iter().map(|it| it["uri"].as_str().unwrap().to_owned());
        uris.filter(|it| it.contains("/packets/")).collect()
    };
    assert_eq!(uris(&bench.agent), [SHARED, URI]);
    assert_eq!(uris(&bench.orchestrator).len(), 3);
    let read = |token: &str, uri: &str| {
        bench.modern(token, "resources/read", json!({ "uri": uri })).json()
    };
    for (token, uri) in [(&*bench.agent, URI), (&*bench.agent, SHARED), (ADMIN_KEY, URI)] {
        let contents = read(token, uri)["result"]["contents"][0].clone();
        assert_eq!(contents["mimeType"], "text/markdown", "{contents}");
        assert!(contents["text"].as_str().unwrap().contains("RS256"), "{contents}");
    }
    for uri in ["session://s/packets/subagent:other", "session://s/packets/none"] {
        let answer = read(&bench.agent, uri);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("Resource not found"), "{answer}");
    }
}

#[test]
fn a_new_version_updates_the_resource() {
    let bench = with_packets();
    let wanted = json!({"resourceSubscriptions": [URI, SHARED]});
    let mut watch = bench.listen(&bench.agent, &json!(1), &wanted);
    bench.next(&mut watch).unwrap();
    generate(&bench, "subagent:other");
    generate(&bench, "subagent:analysis");
    assert_eq!(subjects(&bench.next(&mut watch).unwrap()), "subagent:analysis");
    generate(&bench, "shared");
    assert_eq!(subjects(&bench.next(&mut watch).unwrap()), "shared");
}
