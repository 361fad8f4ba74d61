//! MCP on a stateless server: the legacy protocols without MCP sessions.

use http::Request;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    anything::Fixture,
    bench::{ADMIN_KEY, Bench, TestResponse},
    client::{LEGACY, MODERN},
    legacy::A,
    listen::{check_result, everything},
    requests::{TestRequest, any_request},
    streams::subjects,
};

#[track_caller]
fn initialize(bench: &Bench, version: &str, headers: &[(&str, &str)]) -> TestResponse {
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {}});
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let seen = bench.mcp(&bench.agent, headers, &body.to_string());
    assert_eq!(seen.status, 200, "{seen:?}");
    assert!(!seen.headers.contains_key("mcp-session-id"), "{seen:?}");
    seen
}

#[test]
fn initialize_returns_no_session_and_no_stateful_features() {
    let bench = Bench::stateless();
    for version in [LEGACY, "2025-06-18"] {
        let result = initialize(&bench, version, &[]).json()["result"].take();
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["serverInfo"]["name"], "shared-context");
        let offered = json!({"tools": {}, "prompts": {}, "completions": {}, "resources": {}});
        assert_eq!(result["capabilities"], offered);
        assert!(result["instructions"].as_str().unwrap().contains("context_list"));
    }
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}});
    let seen = bench.mcp(&bench.agent, &[], &body.to_string());
    assert_eq!(seen.json()["error"]["code"], -32602);
}

#[test]
fn legacy_requests_work_without_a_session() {
    let bench = Bench::stateless();
    initialize(&bench, LEGACY, &[]);
    let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let seen = bench.mcp(&bench.agent, &[("mcp-protocol-version", LEGACY)], &body);
    assert_eq!((seen.status.as_u16(), &*seen.body), (202, ""));
    let request =
        |method: &str, params: Value| bench.legacy_result(&bench.agent, None, method, params);
    assert_eq!(request("ping", json!({})), json!({}));
    let write = json!({"key": "a", "value": "x"});
    let called = request("tools/call", json!({"name": "context_write", "arguments": write}));
    assert_eq!(called["structuredContent"]["version"], 1);
    assert!(!request("tools/list", json!({}))["tools"].as_array().unwrap().is_empty());
    let read = request("resources/read", json!({ "uri": A }));
    assert_eq!(read["contents"][0]["text"], "x");
    assert_eq!(request("resources/list", json!({}))["resources"].as_array().unwrap().len(), 4);
    assert!(request("resources/templates/list", json!({}))["resourceTemplates"].is_array());
    assert!(request("prompts/list", json!({}))["prompts"].is_array());
    assert!(request("prompts/get", json!({"name": "shared_context"}))["messages"].is_array());
    let key = json!({"ref": {"type": "ref/resource", "uri": "session://{session}/entries/{key}"},
                     "argument": {"name": "key", "value": ""}});
    assert_eq!(request("completion/complete", key)["completion"]["values"], json!(["a"]));
}

/// A stateless server never issues an id, so a received one comes from another server or a proxy.
#[test]
fn an_mcp_session_id_is_ignored() {
    let bench = Bench::stateless();
    let id = ("mcp-session-id", "of-another-server");
    initialize(&bench, LEGACY, &[id]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    for version in [LEGACY, "2025-06-18"] {
        for headers in [&[id][..], &[id, id], &[("mcp-session-id", "")]] {
            let headers = [&[("mcp-protocol-version", version)], headers].concat();
            let seen = bench.mcp(&bench.agent, &headers, &body);
            assert_eq!(seen.body, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "{seen:?}");
            assert!(!seen.headers.contains_key("mcp-session-id"), "{seen:?}");
        }
    }
}

#[test]
fn there_is_no_stream_and_no_session_to_end() {
    let bench = Bench::stateless();
    let stream = [("accept", "text/event-stream"), ("mcp-protocol-version", LEGACY)];
    let with_id = [stream[0], ("mcp-session-id", "x"), ("last-event-id", "3")];
    for token in [&*bench.agent, ADMIN_KEY, ""] {
        for headers in [&[][..], &stream, &with_id] {
            for target in ["GET /mcp", "DELETE /mcp", "HEAD /mcp", "PUT /mcp"] {
                let seen = bench.check_as(token, target, headers, "", 405, "");
                assert_eq!(seen.header("allow"), "POST, OPTIONS", "{target}");
            }
            for target in ["GET /mcp", "DELETE /mcp"] {
                bench.check_as(token, target, headers, "", 405, "POST subscriptions/listen");
            }
        }
    }
    let seen = bench.check_as("", "OPTIONS /mcp", &[], "", 204, "");
    assert_eq!(seen.header("allow"), "POST, OPTIONS");
}

#[test]
fn stateful_methods_are_rejected_with_an_alternative() {
    let bench = Bench::stateless();
    for (method, params) in [
        ("resources/subscribe", json!({ "uri": A })),
        ("resources/unsubscribe", json!({ "uri": A })),
        ("resources/subscribe", json!({})),
        ("logging/setLevel", json!({"level": "info"})),
        ("logging/setLevel", json!({"level": "no such level"})),
    ] {
        for (token, path) in
            [(&*bench.agent, "/v1/sessions/s/changes"), (ADMIN_KEY, "/v1/sessions/{session}/")]
        {
            let seen = bench.legacy(token, None, method, params.clone());
            assert_eq!(seen.status, 200);
            let error = &seen.json()["error"];
            assert_eq!(error["code"], -32601, "{seen:?}");
            let message = error["message"].as_str().unwrap();
            for part in [method, path, "action changes", "subscriptions/listen"] {
                assert!(message.contains(part), "{part}: {message}");
            }
        }
        // The modern protocol has no such method on any server.
        let stateful = Bench::new();
        let [stateless, stateful] =
            [&bench, &stateful].map(|it| it.modern(&it.agent, method, params.clone()).json());
        assert_eq!(stateless, stateful);
    }
    bench.check_as("no.such.credential", "POST /mcp", &[], "{}", 401, "UNAUTHENTICATED");
}

/// The modern protocol never has MCP sessions: each stream belongs to the request that opened
/// it.
#[test]
fn the_modern_protocol_works_completely() {
    let bench = Bench::stateless();
    let discovered = bench.modern_result(&bench.agent, "server/discover", json!({}));
    let stateful = Bench::new();
    assert_eq!(discovered, stateful.modern_result(&stateful.agent, "server/discover", json!({})));
    assert_eq!(discovered["supportedVersions"], json!([MODERN, LEGACY, "2025-06-18"]));
    let mut watch = bench.listen(&bench.agent, &json!(7), &everything());
    let acknowledged = &bench.next_messages(&mut watch)[0];
    assert_eq!(acknowledged["params"]["notifications"], everything());
    bench.write_during_wait("a");
    assert_eq!(subjects(&bench.next(&mut watch).unwrap()), "a keys list");
    assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
    bench.during_wait(crate::bench::WaitEvent::ServerStops);
    check_result(&bench.next_messages(&mut watch)[0], &json!(7));
    assert_eq!(bench.next(&mut watch), None);
}

#[test]
fn a_stateful_server_allows_only_post_without_a_session() {
    let bench = Bench::new();
    let stream = [("accept", "text/event-stream")];
    for target in ["GET /mcp", "DELETE /mcp"] {
        let seen = bench.check_as(&bench.agent, target, &stream, "", 405, "Mcp-Session-Id");
        assert_eq!(seen.header("allow"), "POST, OPTIONS", "{target}");
    }
    let id = bench.initialize(ADMIN_KEY);
    let headers = [stream[0], ("mcp-session-id", &*id)];
    // It listed no DELETE, by which this client ends what it began.
    let seen = bench.check_as(ADMIN_KEY, "GET /mcp", &headers, "", 405, "");
    assert_eq!(seen.header("allow"), "POST, DELETE, OPTIONS");
    let modern = [&headers[..], &[("mcp-protocol-version", MODERN)]].concat();
    let seen = bench.check_as(ADMIN_KEY, "GET /mcp", &modern, "", 405, "");
    assert_eq!(seen.header("allow"), "POST, DELETE, OPTIONS");
    bench.check_as(ADMIN_KEY, "DELETE /mcp", &headers, "", 204, "");
    let seen = bench.check_as("", "OPTIONS /mcp", &[], "", 204, "");
    assert_eq!(seen.header("allow"), "POST, GET, DELETE, OPTIONS");
}

/// Returns the response without the id of its request.
fn without_id(text: &str) -> Value {
    let mut answer = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    if let Some(members) = answer.as_object_mut() {
        members.remove("instance");
    }
    answer
}

/// Returns true if the response to `sent` depends on stored handshakes.
fn depends_on_handshakes(sent: &TestRequest) -> bool {
    let body = String::from_utf8_lossy(&sent.body.0).replace('\\', "");
    let methods = ["initialize", "subscribe", "setLevel", "u0"];
    sent.method != "POST" || methods.iter().any(|it| body.contains(it))
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 60, ..ProptestConfig::default()
    })]

    #[test]
    fn every_request_gets_one_valid_response(all in prop::collection::vec(any_request(), 24..=24)) {
        let fixture = Fixture::of(Bench::stateless());
        for sent in &all {
            fixture.send(sent);
        }
    }

    #[test]
    fn stateless_and_stateful_servers_reply_alike(
        all in prop::collection::vec(any_request(), 24..=24)
    ) {
        let fixtures = [Fixture::of(Bench::new()), Fixture::of(Bench::stateless())];
        for sent in all {
            let mut sent = TestRequest { handshake: None, ..sent };
            sent.headers.retain(|(name, _)| name != "mcp-session-id");
            let [stateful, stateless] = fixtures.each_ref().map(|it| without_id(&it.send(&sent)));
            if !depends_on_handshakes(&sent) {
                prop_assert_eq!(stateful, stateless, "{:?}", sent);
            }
        }
    }
}

/// The request has no handshake and names no version.
#[test]
fn a_minimal_request_gets_the_same_bytes() {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let answer = |bench: &Bench| {
        let request = Request::post("/mcp")
            .header("authorization", format!("Bearer {}", bench.agent))
            .body(body.clone().into())
            .unwrap();
        bench.handle(request).body
    };
    assert_eq!(answer(&Bench::new()), answer(&Bench::stateless()));
}
