//! Protocol versions: headers, `_meta`, handshake and discovery.

use serde_json::{Value, json};

use crate::{
    bench::Bench,
    client::{LEGACY, MODERN, meta},
};

/// Sends `tools/list` with this version header and `_meta`. Checks the status and the error
/// code; 0 expects a result. Returns the response.
#[track_caller]
fn check(header: Option<&str>, meta: Value, status: u16, code: i64) -> Value {
    let bench = Bench::new();
    let mut headers = vec![("mcp-method", "tools/list")];
    headers.extend(header.map(|it| ("mcp-protocol-version", it)));
    let mut body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}});
    if !meta.is_null() {
        body["params"]["_meta"] = meta;
    }
    let seen = bench.mcp(&bench.agent, &headers, &body.to_string());
    assert_eq!(seen.status, status, "{seen:?}");
    let answer = seen.json();
    assert_eq!(answer["error"]["code"].as_i64().unwrap_or(0), code, "{seen:?}");
    assert_eq!(answer["id"], 7);
    answer
}

fn without(name: &str) -> Value {
    let mut meta = meta();
    meta.as_object_mut().unwrap().remove(&format!("io.modelcontextprotocol/{name}"));
    meta
}

#[test]
fn a_modern_request_requires_its_meta() {
    let answer = check(Some(MODERN), meta(), 200, 0);
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["cacheScope"], "private");
    let info = &answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "shared-context");
    check(Some(MODERN), without("clientInfo"), 200, 0);
    check(Some(MODERN), Value::Null, 400, -32602);
    check(Some(MODERN), json!({}), 400, -32602);
    check(Some(MODERN), json!(7), 400, -32602);
    check(Some(MODERN), without("protocolVersion"), 400, -32602);
    check(Some(MODERN), without("clientCapabilities"), 400, -32602);
    let mut wrong = meta();
    wrong["io.modelcontextprotocol/clientCapabilities"] = json!([]);
    check(Some(MODERN), wrong, 400, -32602);
}

#[test]
fn versions_in_header_and_body_must_match() {
    check(None, meta(), 400, -32020);
    check(Some(LEGACY), meta(), 400, -32020);
    let mut older = meta();
    older["io.modelcontextprotocol/protocolVersion"] = LEGACY.into();
    check(Some(MODERN), older, 400, -32020);
}

#[test]
fn an_unsupported_version_is_rejected_with_supported_ones() {
    for version in ["1900-01-01", "2024-11-05", "2099-01-01", "x", ""] {
        let mut meta = meta();
        meta["io.modelcontextprotocol/protocolVersion"] = version.into();
        let answer = check(Some(version), meta, 400, -32022);
        let data = &answer["error"]["data"];
        assert_eq!(data["supported"], json!([MODERN, LEGACY, "2025-06-18"]));
        assert_eq!(data["requested"], version);
        check(Some(version), Value::Null, 400, -32022);
    }
}

#[test]
fn legacy_results_have_no_modern_members() {
    for header in [Some(LEGACY), Some("2025-06-18"), None] {
        let answer = check(header, Value::Null, 200, 0);
        let members: Vec<&String> = answer["result"].as_object().unwrap().keys().collect();
        assert_eq!(members, ["tools"], "{header:?}");
    }
}

#[test]
fn a_handshake_negotiates_the_version() {
    let bench = Bench::new();
    for (requested, expected) in
        [(LEGACY, LEGACY), ("2025-06-18", "2025-06-18"), ("2024-11-05", LEGACY), ("x", LEGACY)]
    {
        let params = json!({"protocolVersion": requested, "capabilities": {}, "clientInfo": {}});
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let seen = bench.mcp(&bench.agent, &[], &body.to_string());
        assert_eq!(seen.json()["result"]["protocolVersion"], expected, "{seen:?}");
        assert!(seen.json()["result"]["instructions"].as_str().unwrap().contains("context_list"));
        assert!(!seen.header("mcp-session-id").is_empty());
    }
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}});
    let seen = bench.mcp(&bench.agent, &[], &body.to_string());
    assert_eq!(seen.json()["error"]["code"], -32602);
    assert!(!seen.headers.contains_key("mcp-session-id"));
}

#[test]
fn discovery_returns_versions_and_capabilities() {
    let bench = Bench::new();
    let seen = bench.modern_result(&bench.agent, "server/discover", json!({}));
    assert_eq!(seen["supportedVersions"], json!([MODERN, LEGACY, "2025-06-18"]));
    assert_eq!(
        seen["capabilities"],
        json!({
            "tools": {}, "prompts": {}, "completions": {},
            "resources": {"subscribe": true, "listChanged": true},
            "extensions": {"io.modelcontextprotocol/skills": {}},
        })
    );
    assert_eq!(seen["cacheScope"], "public");
    // A client that omits the headers of its version.
    for method in ["server/discover", "subscriptions/listen"] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method}).to_string();
        let seen = bench.mcp(&bench.agent, &[], &body);
        assert_eq!((seen.status.as_u16(), &seen.json()["error"]["code"]), (400, &json!(-32020)));
    }
}
