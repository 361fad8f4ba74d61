//! A client of both protocol eras: builds complete requests.

#![allow(dead_code, reason = "each test module uses a part")]

use serde_json::{Value, json};

use crate::bench::{Bench, TestResponse};

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// Returns the `_meta` of a modern request.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    })
}

/// Builds a complete modern request. Returns its required headers and its body.
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
    /// Creates a server with the session `s`, which uses rounds.
    pub(crate) fn with_rounds() -> Self {
        Self::configured(|options| options, r#"{"tools":["delta_rounds"]}"#)
    }

    /// Sends `body` to `/mcp` with the bearer `token` and these headers.
    pub(crate) fn mcp(&self, token: &str, headers: &[(&str, &str)], body: &str) -> TestResponse {
        let mut all = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        all.extend(headers);
        self.send(token, "POST /mcp", &all, body.to_owned())
    }

    /// Sends a valid modern request to `/mcp` with `query`.
    pub(crate) fn modern_at(
        &self,
        token: &str,
        query: &str,
        method: &str,
        params: Value,
    ) -> TestResponse {
        let (headers, body) = modern_request(method, params);
        let mut all: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (&**n, &**v)).collect();
        all.extend([("content-type", "application/json"), ("accept", "application/json")]);
        self.send(token, &format!("POST /mcp{query}"), &all, body.to_string())
    }

    /// Sends a valid modern request.
    pub(crate) fn modern(&self, token: &str, method: &str, params: Value) -> TestResponse {
        let (headers, body) = modern_request(method, params);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (&**n, &**v)).collect();
        self.mcp(token, &headers, &body.to_string())
    }

    /// Sends a valid modern request and returns its result.
    #[track_caller]
    pub(crate) fn modern_result(&self, token: &str, method: &str, params: Value) -> Value {
        result(&self.modern(token, method, params))
    }

    /// Sends a valid modern request and returns its error.
    #[track_caller]
    pub(crate) fn modern_error(&self, token: &str, method: &str, params: Value) -> Value {
        self.modern(token, method, params).json()["error"].clone()
    }

    /// Sends a request of the legacy protocol, with the handshake id `session` if given.
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

    /// Sends a request of the legacy protocol and returns its result.
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

    /// Makes a handshake in the legacy protocol and returns the `Mcp-Session-Id`.
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

    /// Calls the tool `name` and returns its result.
    #[track_caller]
    pub(crate) fn call(&self, token: &str, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
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
