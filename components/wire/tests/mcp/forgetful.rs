//! MCP where nothing is kept between requests: the older protocols without sessions.

use http::Request;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    anything::Place,
    bench::{ADMIN_KEY, Bench, TestResponse},
    client::{LEGACY, MODERN},
    legacy::A,
    listen::{check_result, everything},
    live::told,
    requests::{Sent, sent},
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
fn a_handshake_gives_no_session_and_offers_what_needs_none() {
    let bench = Bench::stateless();
    for version in [LEGACY, "2025-06-18"] {
        let result = initialize(&bench, version, &[]).json()["result"].take();
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["serverInfo"]["name"], "shared-context");
        let offered = json!({"tools": {}, "prompts": {}, "completions": {}, "resources": {}});
        assert_eq!(result["capabilities"], offered);
        assert!(result["instructions"].as_str().unwrap().contains("list_keys"));
    }
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}});
    let seen = bench.mcp(&bench.agent, &[], &body.to_string());
    assert_eq!(seen.json()["error"]["code"], -32602);
}

#[test]
fn everything_else_of_the_older_protocols_goes_on_without_a_session() {
    let bench = Bench::stateless();
    initialize(&bench, LEGACY, &[]);
    let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let seen = bench.mcp(&bench.agent, &[("mcp-protocol-version", LEGACY)], &body);
    assert_eq!((seen.status.as_u16(), &*seen.body), (202, ""));
    let asks =
        |method: &str, params: Value| bench.legacy_result(&bench.agent, None, method, params);
    assert_eq!(asks("ping", json!({})), json!({}));
    let write = json!({"action": "write", "key": "a", "value": "x"});
    let called = asks("tools/call", json!({"name": "shared_context", "arguments": write}));
    assert_eq!(called["structuredContent"]["version"], 1);
    assert!(!asks("tools/list", json!({}))["tools"].as_array().unwrap().is_empty());
    let read = asks("resources/read", json!({ "uri": A }));
    assert_eq!(read["contents"][0]["text"], "x");
    assert_eq!(asks("resources/list", json!({}))["resources"].as_array().unwrap().len(), 3);
    assert!(asks("resources/templates/list", json!({}))["resourceTemplates"].is_array());
    assert!(asks("prompts/list", json!({}))["prompts"].is_array());
    assert!(asks("prompts/get", json!({"name": "shared_context"}))["messages"].is_array());
    let key = json!({"ref": {"type": "ref/resource", "uri": "session://{session}/entries/{key}"},
                     "argument": {"name": "key", "value": ""}});
    assert_eq!(asks("completion/complete", key)["completion"]["values"], json!(["a"]));
}

/// No id was ever given, so one that comes is another server's, or a proxy's.
#[test]
fn an_id_of_a_session_means_nothing() {
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
fn what_would_have_to_be_remembered_is_refused_with_what_to_do_instead() {
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
        // In the newest protocol there is no such method anywhere.
        let kept = Bench::new();
        let [forgotten, kept] =
            [&bench, &kept].map(|it| it.modern(&it.agent, method, params.clone()).json());
        assert_eq!(forgotten, kept);
    }
    bench.check_as("no.such.credential", "POST /mcp", &[], "{}", 401, "UNAUTHENTICATED");
}

/// The newest protocol is without sessions everywhere: a stream of it belongs to the
/// request that asks for it.
#[test]
fn the_newest_protocol_is_whole() {
    let bench = Bench::stateless();
    let discovered = bench.modern_result(&bench.agent, "server/discover", json!({}));
    let kept = Bench::new();
    assert_eq!(discovered, kept.modern_result(&kept.agent, "server/discover", json!({})));
    assert_eq!(discovered["supportedVersions"], json!([MODERN, LEGACY, "2025-06-18"]));
    let mut watch = bench.listen(&bench.agent, &json!(7), &everything());
    let acknowledged = &bench.next_messages(&mut watch)[0];
    assert_eq!(acknowledged["params"]["notifications"], everything());
    bench.write_during_wait("a");
    assert_eq!(told(&bench.next(&mut watch).unwrap()), "a keys list");
    assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
    bench.during_wait(crate::bench::WaitEvent::ServerStops);
    check_result(&bench.next_messages(&mut watch)[0], &json!(7));
    assert_eq!(bench.next(&mut watch), None);
}

#[test]
fn who_remembers_tells_what_can_be_used_without_a_session() {
    let bench = Bench::new();
    let stream = [("accept", "text/event-stream")];
    for target in ["GET /mcp", "DELETE /mcp"] {
        let seen = bench.check_as(&bench.agent, target, &stream, "", 405, "Mcp-Session-Id");
        assert_eq!(seen.header("allow"), "POST, OPTIONS", "{target}");
    }
    let id = bench.initialize(ADMIN_KEY);
    let headers = [stream[0], ("mcp-session-id", &*id)];
    let seen = bench.check_as(ADMIN_KEY, "GET /mcp", &headers, "", 405, "");
    assert_eq!(seen.header("allow"), "POST, OPTIONS");
    let seen = bench.check_as("", "OPTIONS /mcp", &[], "", 204, "");
    assert_eq!(seen.header("allow"), "POST, GET, DELETE, OPTIONS");
}

/// Returns what is answered, but for the id of the request.
fn without_id(text: &str) -> Value {
    let mut answer = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    if let Some(members) = answer.as_object_mut() {
        members.remove("instance");
    }
    answer
}

/// Returns whether an answer to `sent` tells whether handshakes are remembered.
fn is_of_memory(sent: &Sent) -> bool {
    let body = String::from_utf8_lossy(&sent.body.0).replace('\\', "");
    let methods = ["initialize", "subscribe", "setLevel", "u0"];
    sent.method != "POST" || methods.iter().any(|it| body.contains(it))
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 60, ..ProptestConfig::default()
    })]

    #[test]
    fn anything_gets_one_answer(all in prop::collection::vec(sent(), 24..=24)) {
        let place = Place::of(Bench::stateless());
        for sent in &all {
            place.send(sent);
        }
    }

    #[test]
    fn without_a_session_who_forgets_answers_as_who_remembers(
        all in prop::collection::vec(sent(), 24..=24)
    ) {
        let places = [Place::of(Bench::new()), Place::of(Bench::stateless())];
        for sent in all {
            let mut sent = Sent { handshake: None, ..sent };
            sent.headers.retain(|(name, _)| name != "mcp-session-id");
            let [kept, forgotten] = places.each_ref().map(|it| without_id(&it.send(&sent)));
            if !is_of_memory(&sent) {
                prop_assert_eq!(kept, forgotten, "{:?}", sent);
            }
        }
    }
}

/// A request that nobody could answer differently: the same bytes.
#[test]
fn a_request_by_hand_is_answered_with_the_same_bytes() {
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
