//! Messages to `/mcp`: the properties of [`crate::rest`] hold for every answer, and each
//! message is answered once, with its id, as JSON-RPC 2.0 requires.

use bytes::Bytes;
use http::{Method, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    cases,
    rest::{Answer, Server},
    script::{HttpRequest, requests},
};

/// The checked members of a message, ours or the client's.
#[derive(Debug, Deserialize)]
struct Message<'b> {
    #[serde(borrow, default)]
    id: Option<&'b RawValue>,
    #[serde(borrow, default)]
    method: Option<&'b RawValue>,
    #[serde(borrow, default)]
    result: Option<&'b RawValue>,
    #[serde(default)]
    error: Option<ErrorObject>,
}

#[derive(Debug, Deserialize)]
struct ErrorObject {
    code: i64,
    message: String,
}

/// The error codes of JSON-RPC and MCP.
const CODES: [i64; 8] = [-32700, -32600, -32601, -32602, -32603, -32002, -32020, -32022];

/// Sends the messages of `input`, all of them to `/mcp`.
pub fn run(input: &[u8]) {
    let mut server = Server::new();
    let mut handshake = None;
    for mut sent in requests(input).filter_map(HttpRequest::read) {
        *sent.request.uri_mut() = http::Uri::from_static("/mcp");
        // A script cannot know the id that the server assigns.
        if let Some(id) = &handshake
            && sent.request.headers().get("mcp-session-id").is_some_and(|it| it == "$")
        {
            sent.request.headers_mut().insert("mcp-session-id", Clone::clone(id));
        }
        let (method, body) = (sent.request.method().clone(), sent.request.body().clone());
        let before = server.host.revisions();
        let answer = server.send(sent);
        if let Some(id) = answer.headers.get("mcp-session-id") {
            handshake = Some(id.clone());
        }
        if method == Method::POST {
            let is_rejected = check(&body, &answer) && !answer.reports_a_lost_lease();
            assert!(!is_rejected || server.host.revisions() == before, "it changed: {answer:?}");
        }
    }
}

/// Checks the answer to the message `body`; returns true if it must not have changed
/// anything.
fn check(body: &Bytes, answer: &Answer) -> bool {
    let kind = answer.headers.get(header::CONTENT_TYPE).map(http::HeaderValue::as_bytes);
    if kind == Some(b"application/problem+json") {
        return true;
    }
    let sent: Option<Message<'_>> = serde_json::from_slice(body).ok();
    let id = sent.as_ref().and_then(|it| it.id).map(RawValue::get);
    if answer.is_live {
        assert_eq!(answer.status, StatusCode::OK);
        assert!(id.is_some(), "a stream without a request: {answer:?}");
        return false;
    }
    if answer.status == StatusCode::ACCEPTED {
        assert!(answer.body.is_empty() && sent.is_some_and(|it| it.id.is_none()), "{answer:?}");
        return true;
    }
    assert_eq!(kind, Some(&b"application/json"[..]), "{answer:?}");
    let message: Message<'_> =
        serde_json::from_slice(&answer.body).expect("an answer is a message");
    assert!(message.method.is_none(), "{answer:?}");
    assert!(message.result.is_some() != message.error.is_some(), "{answer:?}");
    match (message.id.map(RawValue::get), id) {
        (Some(answered), Some(sent)) => assert_eq!(answered, sent, "{answer:?}"),
        (Some(answered), None) => assert_eq!(answered, "null", "an unknown id: {answer:?}"),
        (None, _) => assert!(message.error.is_some(), "a result without an id: {answer:?}"),
    }
    if let Some(error) = message.error {
        assert!(CODES.contains(&error.code), "an unknown code {}: {answer:?}", error.code);
        assert!(!error.message.is_empty(), "{answer:?}");
        return true;
    }
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let whole: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    whole["result"]["isError"] == true
}

const METHODS: [(&str, &str); 18] = [
    ("tools/list", "{}"),
    ("tools/call", r#"{"name":"context_list","arguments":{}}"#),
    ("tools/call", r#"{"name":"context_write","arguments":{"key":"inv_1","value":"x"}}"#),
    (
        "tools/call",
        r#"{"name":"context_session","arguments":{"action":"add_subagent","task":"analysis","keys":["inv_*"],"ttl_seconds":3600}}"#,
    ),
    ("resources/list", "{}"),
    ("resources/read", r#"{"uri":"session://main/keys"}"#),
    ("resources/read", r#"{"uri":"session://main/entries/vault"}"#),
    ("resources/templates/list", "{}"),
    ("resources/subscribe", r#"{"uri":"session://main/entries/scope"}"#),
    ("resources/unsubscribe", r#"{"uri":"session://main/entries/scope"}"#),
    ("prompts/list", "{}"),
    ("prompts/get", r#"{"name":"shared_context","arguments":{"role":"agent","max_tokens":"300"}}"#),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/resource","uri":"session://main/entries/{key}"},"argument":{"name":"key","value":"s"}}"#,
    ),
    ("server/discover", "{}"),
    ("subscriptions/listen", r#"{"resourceSubscriptions":["session://main/keys"]}"#),
    ("logging/setLevel", r#"{"level":"info"}"#),
    ("notifications/initialized", "{}"),
    ("ping", "{}"),
];

/// Returns the messages of the conformance suite, and each method in both protocol versions
/// with its required headers.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = cases::scripts(|step| {
        let is_mcp = step.get("http")?.as_str()?.contains("/mcp");
        is_mcp.then(|| cases::http_request(step)).flatten()
    });
    let hello = concat!(
        "POST /mcp\nas: orchestrator\ncontent-type: application/json\n\n",
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}"#,
        "\u{1e}"
    );
    for (method, params) in METHODS {
        let mut params: Value = serde_json::from_str(params).unwrap_or_default();
        let message = |params: &Value| {
            let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
            if !method.starts_with("notifications/") {
                message["id"] = 1.into();
            }
            message
        };
        let name = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str);
        let name = name.map(|it| format!("mcp-name: {it}\n")).unwrap_or_default();
        let session = params.pointer("/arguments/session").and_then(Value::as_str);
        let session = session.map(|it| format!("mcp-param-session: {it}\n")).unwrap_or_default();
        let common =
            "accept: application/json, text/event-stream\ncontent-type: application/json\n";
        let legacy = format!(
            "{hello}POST /mcp\nas: orchestrator\n{common}mcp-protocol-version: 2025-11-25\n\
             mcp-session-id: $\n\n{}\u{1e}GET /mcp\nas: orchestrator\naccept: text/event-stream\n\
             mcp-session-id: $\n\n",
            message(&params)
        );
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "f", "version": "1"},
        });
        let modern = format!(
            "POST /mcp\nas: subagent:a\n{common}mcp-protocol-version: 2026-07-28\nmcp-method: \
             {method}\n{name}{session}\n{}",
            message(&params)
        );
        seeds.extend([legacy.into_bytes(), modern.into_bytes()]);
    }
    seeds
}
