//! Invalid messages, unknown methods, and errors of transport.

use serde_json::json;

use crate::bench::{ADMIN_KEY, Bench};

/// Sends `body` as a modern client. Checks the status and the code of the error.
#[track_caller]
fn check(bench: &Bench, body: &str, status: u16, code: i64, expected: &str) {
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    let seen = bench.mcp(&bench.orchestrator, &headers, body);
    assert_eq!(seen.status, status, "{body}: {seen:?}");
    let answer = seen.json();
    assert_eq!(answer["error"]["code"], code, "{body}: {seen:?}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains(expected), "{body}: {message}");
    assert_eq!(bench.engine.requests.lock().unwrap().len(), 0, "{body}");
}

#[test]
fn an_invalid_message_gets_a_parse_or_request_error() {
    let bench = Bench::new();
    check(&bench, "", 400, -32700, "empty");
    check(&bench, "{", 400, -32700, "not JSON");
    check(&bench, "[]", 400, -32600, "no batches");
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    check(&bench, &format!("[{message}]"), 400, -32600, "no batches");
    check(&bench, &format!("[{}]", vec![message; 2_000].join(",")), 400, -32600, "no batches");
    check(&bench, r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, 400, -32600, "id");
    check(&bench, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400, -32600, "no requests");
    check(&bench, &format!("{message}{message}"), 400, -32700, "not JSON");
    check(&bench, &"[".repeat(100_000), 400, -32600, "no batches");
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{}"#, "[".repeat(50_000));
    check(&bench, &deep, 400, -32700, "not JSON");
}

#[test]
fn an_unknown_method_is_reported_as_not_found() {
    let bench = Bench::new();
    for method in ["tools/lists", "", "x", "initialize", "ping", "logging/setLevel", "roots/list"] {
        let seen = bench.modern(&bench.orchestrator, method, json!({}));
        assert_eq!(
            (seen.status.as_u16(), seen.json()["error"]["code"].as_i64()),
            (404, Some(-32601))
        );
        assert_eq!(seen.json()["id"], 1, "{seen:?}");
    }
    // In the legacy protocols this error has status 200.
    for method in ["tools/lists", "server/discover2", "skills/list", "roots/list"] {
        let seen = bench.legacy(&bench.orchestrator, None, method, json!({}));
        assert_eq!(
            (seen.status.as_u16(), seen.json()["error"]["code"].as_i64()),
            (200, Some(-32601))
        );
    }
}

#[test]
fn a_notification_is_accepted_without_a_response() {
    let bench = Bench::new();
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/other"] {
        for version in ["2026-07-28", "2025-11-25"] {
            let body = json!({"jsonrpc": "2.0", "method": method}).to_string();
            let headers = [("mcp-protocol-version", version)];
            let seen = bench.mcp(&bench.agent, &headers, &body);
            assert_eq!((seen.status.as_u16(), &*seen.body), (202, ""), "{method} {version}");
        }
    }
}

#[test]
fn an_id_is_returned_unchanged() {
    let bench = Bench::new();
    for id in ["1", "-5", "0", r#""a""#, r#""\u00e4 \" x""#, "123456789012345678901234567890"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let seen = bench.mcp(&bench.agent, &[("mcp-protocol-version", "2025-11-25")], &body);
        assert_eq!(seen.body, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
}

#[test]
fn a_missing_credential_gets_a_challenge_with_metadata() {
    let bench = Bench::new();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let host = [("host", "127.0.0.1:8787")];
    let seen = bench.mcp("", &host, body);
    assert_eq!(seen.status, 401);
    assert_eq!(
        seen.header("www-authenticate"),
        "Bearer realm=\"shared-context\", resource_metadata=\
         \"http://127.0.0.1:8787/.well-known/oauth-protected-resource/mcp\""
    );
    let path = "GET /.well-known/oauth-protected-resource/mcp";
    let seen = bench.send("", path, &host, "");
    assert_eq!(seen.status, 200);
    assert_eq!(seen.json()["resource"], "http://127.0.0.1:8787/mcp");
    assert_eq!(seen.json()["bearer_methods_supported"], json!(["header"]));
    let seen = bench.mcp("made-up", &host, body);
    assert!(seen.header("www-authenticate").contains("error=\"invalid_token\""));
}

/// A client checks the HTTP status to detect a revoked credential. It would pass a result to
/// its model unread.
#[test]
fn a_revoked_credential_gets_http_401() {
    let bench = Bench::new();
    bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/revoke", &[], "", 200, "");
    let params = json!({"name": "context_list", "arguments": {}});
    let seen = bench.modern(&bench.agent, "tools/call", params);
    assert_eq!(seen.status, 401, "{seen:?}");
    assert!(seen.header("www-authenticate").contains("resource_metadata="));
}

#[test]
fn a_body_is_json_and_of_bounded_length() {
    let bench = Bench::new();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let text = [("content-type", "text/plain")];
    assert_eq!(bench.send(&bench.agent, "POST /mcp", &text, body).status, 415);
    let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(300_000));
    assert_eq!(bench.mcp(&bench.agent, &[], &long).status, 413);
    let seen = bench.send(&bench.agent, "PUT /mcp", &[], "");
    assert_eq!((seen.status.as_u16(), seen.header("allow")), (405, "POST, GET, DELETE, OPTIONS"));
    // A HEAD once replaced the open stream of its client.
    assert_eq!(bench.send(&bench.agent, "HEAD /mcp", &[], "").status, 405);
    assert_eq!(bench.send(&bench.agent, "POST /mcp?x=1", &[], body).status, 400);
}

/// Sends a ping with these headers.
#[track_caller]
fn check_status(bench: &Bench, headers: &[(&str, &str)], status: u16) {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let seen = bench.mcp(&bench.agent, headers, body);
    assert_eq!(seen.status, status, "{headers:?} {seen:?}");
}

#[test]
fn pages_of_other_origins_are_rejected() {
    let bench =
        Bench::with(|options| shared_context_wire::http::Options { is_local: true, ..options });
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let local = ("host", "127.0.0.1:8787");
    check_status(&bench, &[local], 200);
    check_status(&bench, &[local, ("origin", "http://localhost:6274")], 200);
    check_status(&bench, &[local, ("origin", "https://evil.example.com")], 403);
    check_status(&bench, &[("host", "evil.example.com")], 403);
    // The origin is checked before the credential.
    let seen = bench.mcp("", &[("host", "evil.example.com")], body);
    assert_eq!(seen.status, 403);
}
