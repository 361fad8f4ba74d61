//! In-process state of the legacy protocols: handshakes and subscriptions.

use std::sync::atomic::Ordering;

use serde_json::json;
use shared_context_codec::Failure;

use crate::{
    bench::{ADMIN_KEY, Bench},
    legacy::{A, Client, KEYS},
};

#[test]
fn deleting_a_handshake_ends_its_stream() {
    let client = Client::new();
    let bench = &client.bench;
    let (_, mut watch) = client.stream(None);
    let end = || {
        let headers = [("mcp-session-id", &*client.id)];
        bench.send(&bench.agent, "DELETE /mcp", &headers, "").status.as_u16()
    };
    assert_eq!(end(), 204);
    bench.write_during_wait("a");
    assert_eq!(bench.next(&mut watch), None);
    assert_eq!(end(), 404);
    assert_eq!(client.ask("resources/subscribe", A).status, 404);
    let headers = [("mcp-session-id", &*client.id), ("accept", "text/event-stream")];
    assert_eq!(bench.send(&bench.agent, "GET /mcp", &headers, "").status, 404);
    drop(watch);
    assert_eq!(bench.open_streams(), 0);
}

#[test]
fn too_many_handshakes_evict_the_least_recently_used() {
    let client = Client::new();
    let bench = &client.bench;
    let (_, mut watch) = client.stream(None);
    let unused = bench.initialize(&bench.agent);
    let others = bench.initialize(&bench.orchestrator);
    let status = |token: &str, id: &str| bench.legacy(token, Some(id), "ping", json!({})).status;
    for _ in 0..100 {
        // The first handshake has no activity except heartbeats.
        bench.engine.micros.fetch_add(15_000_000, Ordering::SeqCst);
        assert_eq!(client.next(&mut watch), ": heartbeat\n");
        bench.initialize(&bench.agent);
    }
    assert_eq!(status(&bench.agent, &client.id), 200);
    assert_eq!(status(&bench.agent, &unused), 404);
    assert_eq!(status(&bench.orchestrator, &others), 200);
    assert_eq!(status(&bench.agent, &others), 404, "another's is unknown");
}

#[test]
fn only_resources_of_the_own_session_are_subscribable() {
    let client = Client::new();
    client.bench.create("t");
    for uri in [
        "session://t/keys",
        "session://t/entries/a",
        "session://s/entries/A%20b",
        "session://s/snapshots/a",
        "skill://shared-context/SKILL.md",
        "file:///etc/passwd",
        "",
    ] {
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            let seen = client.ask(method, uri);
            assert_eq!(seen.status, 200);
            let error = &seen.json()["error"];
            assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(-32002), &json!(uri)));
            let message = error["message"].as_str().unwrap();
            for resource in ["keys", "context", "packets/{address}", "entries/{key}"] {
                assert!(message.contains(&format!("session://s/{resource}")), "{error}");
            }
        }
    }
    for params in [json!({}), json!({"uri": 7})] {
        let bench = &client.bench;
        let seen = bench.legacy(&bench.agent, Some(&client.id), "resources/subscribe", params);
        assert_eq!(seen.json()["error"]["code"], -32602, "{seen:?}");
    }
}

#[test]
fn a_limited_credential_subscribes_to_its_keys_only() {
    let bench = Bench::new();
    let body = r#"{"participant":"subagent:brief","keys":["inv_*"]}"#;
    let minted = bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/credentials", &[], body, 201, "");
    let token = minted.json()["credential"].as_str().unwrap().to_owned();
    let id = bench.initialize(&token);
    let code = |uri: &str| {
        let seen = bench.legacy(&token, Some(&id), "resources/subscribe", json!({ "uri": uri }));
        seen.json()["error"]["code"].as_i64()
    };
    assert_eq!(code(A), Some(-32002));
    assert_eq!(code("session://s/entries/inv_1"), None);
    assert_eq!((code(KEYS), code("session://s/context")), (None, None));
}

#[test]
fn the_number_of_subscriptions_is_limited() {
    let client = Client::new();
    for nth in 0..1_000 {
        client.subscribe(&format!("session://s/entries/k{nth}"));
    }
    let seen = client.ask("resources/subscribe", KEYS);
    assert_eq!(seen.json()["error"]["code"], -32602, "{seen:?}");
    client.subscribe("session://s/entries/k7");
    client.ask("resources/unsubscribe", "session://s/entries/k7");
    client.subscribe(KEYS);
}

#[test]
fn subscriptions_and_streams_require_a_handshake() {
    let bench = Bench::new();
    let params = json!({ "uri": A });
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        let seen = bench.legacy(&bench.agent, None, method, params.clone());
        assert_eq!((seen.status.as_u16(), &seen.json()["error"]["code"]), (400, &json!(-32600)));
        assert!(seen.body.contains("initialize"), "{seen:?}");
        let seen = bench.legacy(&bench.agent, Some("made-up"), method, params.clone());
        assert_eq!(seen.status, 404);
    }
    let stream = [("accept", "text/event-stream")];
    bench.check_as(&bench.agent, "GET /mcp", &stream, "", 405, "Mcp-Session-Id");
    bench.check_as(&bench.agent, "DELETE /mcp", &[], "", 405, "Mcp-Session-Id");
}

#[test]
fn the_admin_key_cannot_open_a_stream() {
    let bench = Bench::new();
    let id = bench.initialize(ADMIN_KEY);
    let headers = [("accept", "text/event-stream"), ("mcp-session-id", &*id)];
    bench.check_as(ADMIN_KEY, "GET /mcp", &headers, "", 405, "subscriptions/listen");
    let seen = bench.legacy(ADMIN_KEY, Some(&id), "resources/subscribe", json!({ "uri": A }));
    assert_eq!(seen.json()["error"]["code"], -32002, "{seen:?}");
    assert!(seen.body.contains("admin key"), "{seen:?}");
}

#[test]
fn an_invalid_stream_request_is_rejected() {
    let client = Client::new();
    let bench = &client.bench;
    let check = |headers: &[(&str, &str)], status: u16, expected: &str| {
        let headers = [&[("mcp-session-id", &*client.id)], headers].concat();
        bench.check_as(&bench.agent, "GET /mcp", &headers, "", status, expected);
    };
    let stream = ("accept", "text/event-stream");
    check(&[], 400, "text/event-stream");
    for id in ["x", "-1", "1.0", ""] {
        check(&[stream, ("last-event-id", id)], 400, "no revision");
    }
    let failure = Failure::new("STORAGE_UNAVAILABLE", "the disk is away");
    *bench.engine.next_failure.lock().unwrap() = Some(failure);
    check(&[stream], 503, "the disk is away");
    bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/revoke", &[], "", 200, "");
    check(&[stream], 401, "UNAUTHENTICATED");
    assert_eq!(client.ask("resources/subscribe", A).status, 401);
    assert_eq!(bench.open_streams(), 0);
}
