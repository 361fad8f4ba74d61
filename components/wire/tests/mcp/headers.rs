//! Headers that repeat the body: they must match it, so proxies can rely on them.

use bytes::Bytes;
use http::{HeaderValue, Request};
use serde_json::{Value, json};

use crate::{
    bench::{ADMIN_KEY, Bench},
    client::meta,
};

/// Sends `method` with `params` and these headers. Checks the error code; 0 expects a result.
#[track_caller]
fn check(method: &str, params: Value, headers: &[(&str, &str)], code: i64) {
    let bench = Bench::new();
    check_as(&bench, &bench.agent, method, params, headers, code);
}

#[track_caller]
fn check_as(
    bench: &Bench,
    token: &str,
    method: &str,
    mut params: Value,
    headers: &[(&str, &str)],
    code: i64,
) {
    bench.call(&bench.orchestrator, "context_write", json!({"key": "scope", "value": "x"}));
    params["_meta"] = meta();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut all = vec![("mcp-protocol-version", "2026-07-28")];
    all.extend(headers);
    let before = bench.engine.requests.lock().unwrap().len();
    let seen = bench.mcp(token, &all, &body.to_string());
    let answer = seen.json();
    assert_eq!(answer["error"]["code"].as_i64().unwrap_or(0), code, "{headers:?} {seen:?}");
    if code == -32020 {
        assert_eq!(seen.status, 400, "{seen:?}");
        assert_eq!(bench.engine.requests.lock().unwrap().len(), before);
        assert!(answer["error"]["message"].as_str().unwrap().contains("header"), "{seen:?}");
    }
}

const CALL: (&str, &str) = ("mcp-method", "tools/call");
const NAME: (&str, &str) = ("mcp-name", "context_list");

fn call(arguments: Value) -> Value {
    json!({"name": "context_list", "arguments": arguments})
}

#[test]
fn the_method_is_required_in_a_header() {
    check("tools/list", json!({}), &[("mcp-method", "tools/list")], 0);
    check("tools/list", json!({}), &[("MCP-METHOD", " tools/list ")], 0);
    check("tools/list", json!({}), &[], -32020);
    check("tools/list", json!({}), &[("mcp-method", "prompts/list")], -32020);
    check("tools/list", json!({}), &[("mcp-method", "TOOLS/LIST")], -32020);
    let twice = [("mcp-method", "tools/list"), ("mcp-method", "tools/list")];
    check("tools/list", json!({}), &twice, -32020);
}

#[test]
fn the_name_is_required_in_a_header() {
    let params = call(json!({}));
    check("tools/call", params.clone(), &[CALL, NAME], 0);
    check("tools/call", params.clone(), &[CALL], -32020);
    check("tools/call", params.clone(), &[CALL, ("mcp-name", "context_read")], -32020);
    check("tools/call", params.clone(), &[CALL, ("mcp-name", "=?base64?Y29udGV4dF9saXN0?=")], 0);
    for wrong in
        ["=?base64?c2hhcmVkX2NvbnRleHQ?=", "=?base64?%%?=", "=?base64?/w==?=", "=?BASE64?eA==?="]
    {
        check("tools/call", params.clone(), &[CALL, ("mcp-name", wrong)], -32020);
    }
    let read = json!({"uri": "session://s/entries/scope"});
    let method = ("mcp-method", "resources/read");
    check("resources/read", read.clone(), &[method, ("mcp-name", "session://s/entries/scope")], 0);
    check("resources/read", read, &[method, ("mcp-name", "session://s/entries/other")], -32020);
    // The name is missing in the body too, so the method rejects the request.
    check("tools/call", json!({}), &[CALL], -32602);
}

#[test]
fn the_session_is_required_in_a_header() {
    let check = |method: &str, params: Value, headers: &[(&str, &str)], code: i64| {
        check_as(&Bench::new(), ADMIN_KEY, method, params, headers, code);
    };
    let named = call(json!({"session": "s"}));
    let header = "mcp-param-session";
    check("tools/call", named.clone(), &[CALL, NAME, (header, "s")], 0);
    check("tools/call", named.clone(), &[CALL, NAME, (header, "=?base64?cw==?=")], 0);
    check("tools/call", named.clone(), &[CALL, NAME], -32020);
    check("tools/call", named, &[CALL, NAME, (header, "other")], -32020);
    let none = call(json!({}));
    check("tools/call", none, &[CALL, NAME, (header, "s")], -32020);
    let null = call(json!({"session": null}));
    check("tools/call", null.clone(), &[CALL, NAME], 0);
    check("tools/call", null, &[CALL, NAME, (header, "s")], -32020);
    // A member name with escapes is the same name.
    let escaped: Value =
        serde_json::from_str(r#"{"name":"context_list","arguments":{"\u0073ession":"other"}}"#)
            .unwrap();
    check("tools/call", escaped, &[CALL, NAME, (header, "s")], -32020);
    check("tools/call", call(json!({})), &[CALL, NAME, ("mcp-param-other", "x")], 0);
}

/// A GET or DELETE with a header that is not text got a JSON-RPC error, but the `OpenAPI`
/// document declared that error for POST only. The fuzz target `mcp` found this.
#[test]
fn openapi_declares_header_errors_for_every_method() {
    let bench = Bench::new();
    let document: Value = serde_json::from_str(include_str!("../../openapi.json")).unwrap();
    for method in ["GET", "DELETE"] {
        let mut request = Request::builder().method(method).uri("/mcp");
        request = request.header("authorization", format!("Bearer {}", bench.orchestrator));
        request = request.header("mcp-session-id", HeaderValue::from_bytes(b"\xf2").unwrap());
        let seen = bench.handle(request.body(Bytes::new()).unwrap());
        assert_eq!(seen.status, 400, "{seen:?}");
        let announced = &document["paths"]["/mcp"][method.to_lowercase()]["responses"]["400"];
        assert!(announced["content"][seen.header("content-type")].is_object(), "{seen:?}");
    }
}
