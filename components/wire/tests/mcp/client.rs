//! A client of either era: requests with all that their version asks for.

#![allow(dead_code, reason = "each module of tests uses some of it")]

use serde_json::{Value, json};

use crate::bench::{Bench, TestResponse};

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// Returns what a modern request tells of itself.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    })
}

/// Returns a modern request, whole: its body, and the headers it has to have.
pub(crate) fn modern_request(method: &str, mut params: Value) -> (Vec<(String, String)>, Value) {
    let mut headers = vec![
        ("mcp-protocol-version".to_owned(), MODERN.to_owned()),
        ("mcp-method".to_owned(), method.to_owned()),
    ];
    let name = params.get("name").or(params.get("uri")).and_then(Value::as_str);
    if let ("tools/call" | "prompts/get" | "resources/read", Some(name)) = (method, name) {
        headers.push(("mcp-name".to_owned(), name.to_owned()));
    }
    if let Some(session) = params.pointer("/arguments/session").and_then(Value::as_str) {
        headers.push(("mcp-param-session".to_owned(), session.to_owned()));
    }
    params["_meta"] = meta();
    (headers, json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

impl Bench {
    /// Sends `body` to `/mcp` with these headers, as the bearer of `token`.
    pub(crate) fn mcp(&self, token: &str, headers: &[(&str, &str)], body: &str) -> TestResponse {
        let mut all = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        all.extend(headers);
        self.send(token, "POST /mcp", &all, body.to_owned())
    }

    /// Sends a modern request that is as it should be.
    pub(crate) fn modern(&self, token: &str, method: &str, params: Value) -> TestResponse {
        let (headers, body) = modern_request(method, params);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (&**n, &**v)).collect();
        self.mcp(token, &headers, &body.to_string())
    }

    /// Returns the same; its result.
    #[track_caller]
    pub(crate) fn modern_result(&self, token: &str, method: &str, params: Value) -> Value {
        result(&self.modern(token, method, params))
    }

    /// Returns the same; its error.
    #[track_caller]
    pub(crate) fn modern_error(&self, token: &str, method: &str, params: Value) -> Value {
        self.modern(token, method, params).json()["error"].clone()
    }

    /// Sends a request of the older protocol, after the handshake `session` if
    /// there is one.
    pub(crate) fn legacy(
        &self,
        token: &str,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> TestResponse {
        let mut headers = vec![("mcp-protocol-version", LEGACY)];
        headers.extend(session.map(|it| ("mcp-session-id", it)));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.mcp(token, &headers, &body.to_string())
    }

    /// Returns the same; its result.
    #[track_caller]
    pub(crate) fn legacy_result(
        &self,
        token: &str,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Value {
        result(&self.legacy(token, session, method, params))
    }

    /// Shakes hands in the older protocol; the `Mcp-Session-Id`.
    #[track_caller]
    pub(crate) fn initialize(&self, token: &str) -> String {
        let params = json!({
            "protocolVersion": LEGACY, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let seen = self.mcp(token, &[], &body.to_string());
        assert_eq!(seen.status, 200, "{seen:?}");
        seen.header("mcp-session-id").to_owned()
    }

    /// Calls the tool `shared_context`; its result.
    #[track_caller]
    pub(crate) fn call(&self, token: &str, arguments: Value) -> Value {
        let params = json!({"name": "shared_context", "arguments": arguments});
        self.modern_result(token, "tools/call", params)
    }
}

#[track_caller]
fn result(seen: &TestResponse) -> Value {
    assert_eq!(seen.status, 200, "{seen:?}");
    let mut answer = seen.json();
    assert_eq!(answer["jsonrpc"], "2.0", "{seen:?}");
    assert!(answer["result"].is_object(), "{seen:?}");
    answer["result"].take()
}
