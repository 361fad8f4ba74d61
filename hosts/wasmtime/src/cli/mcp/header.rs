//! The headers of a request: its metadata, so that HTTP intermediaries need not read the
//! body (2026-07-28, Streamable HTTP, Request Metadata), and the session of older
//! protocols.
//!
//! # Invariant
//!
//! A header has the same value as the message, whatever its characters.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::{handshake::Handshake, message::Message};

pub(super) static MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
static MCP_PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
static MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Carries the argument `session`, which the tools' definitions mark with `x-mcp-header`.
static MCP_PARAM_SESSION: HeaderName = HeaderName::from_static("mcp-param-session");
/// The prefix and suffix of a Base64 value.
const SENTINEL: [&str; 2] = ["=?base64?", "?="];

/// Returns the headers of the request that carries `message`. A message of an older
/// protocol needs its `handshake`.
pub(super) fn of(message: &Message, handshake: Option<&Handshake>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accepted = HeaderValue::from_static("application/json, text/event-stream");
    headers.insert(header::ACCEPT, accepted);
    match (message.version(), handshake) {
        (Some(version), _) => modern(message, version, &mut headers),
        // `initialize` starts a new handshake.
        (None, Some(_)) if message.method == "initialize" => {}
        (None, Some(handshake)) => legacy(handshake, &mut headers),
        // The server reports missing headers.
        (None, None) => {}
    }
    headers
}

/// Returns the headers to open the stream of `handshake`, or to end it.
pub(super) fn of_handshake(handshake: &Handshake) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
    legacy(handshake, &mut headers);
    headers
}

fn legacy(handshake: &Handshake, headers: &mut HeaderMap) {
    let id = handshake.session_id.as_deref();
    for (name, value) in [(&MCP_SESSION_ID, id), (&MCP_PROTOCOL_VERSION, Some(&handshake.version))]
    {
        plain(name, value, headers);
    }
}

fn modern(message: &Message, version: &str, headers: &mut HeaderMap) {
    plain(&MCP_PROTOCOL_VERSION, Some(version), headers);
    plain(&MCP_METHOD, Some(&message.method), headers);
    let name = match &*message.method {
        "tools/call" | "prompts/get" => message.text("name"),
        "resources/read" => message.text("uri"),
        _ => None,
    };
    let session = message.argument("session").filter(|_| message.method == "tools/call");
    for (header, value) in [(&MCP_NAME, name), (&MCP_PARAM_SESSION, session)] {
        if let Some(value) = value.and_then(encoded) {
            headers.insert(header, value);
        }
    }
}

/// Sets a header without encoding its value. An invalid value is left out; the server then
/// reports the header as missing.
fn plain(name: &HeaderName, value: Option<&str>, headers: &mut HeaderMap) {
    let value = value.filter(|it| is_plain(it)).and_then(|it| HeaderValue::from_str(it).ok());
    if let Some(value) = value {
        headers.insert(name, value);
    }
}

/// Encodes `value` for a header: unchanged, or as Base64 where it could not be read back
/// (Value Encoding).
fn encoded(value: &str) -> Option<HeaderValue> {
    let [prefix, suffix] = SENTINEL;
    let looks_encoded = value.starts_with(prefix) && value.ends_with(suffix);
    if is_plain(value) && !looks_encoded {
        return HeaderValue::from_str(value).ok();
    }
    let base64 = BASE64_STANDARD.encode(value);
    HeaderValue::from_str(&format!("{prefix}{base64}{suffix}")).ok()
}

/// Returns true if `value` needs no encoding: visible ASCII, with spaces and tabs only
/// within.
fn is_plain(value: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b' '..=b'~' | b'\t');
    value.bytes().all(is_allowed) && value.trim_matches([' ', '\t']) == value
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;

    /// The examples of the specification, and more values that need encoding.
    #[test]
    fn a_value_is_plain_or_base64() {
        #[track_caller]
        fn check(value: &str, expected: &str) {
            assert_eq!(encoded(value).unwrap(), expected, "{value:?}");
        }
        check("us-west1", "us-west1");
        check("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
        check(" padded ", "=?base64?IHBhZGRlZCA=?=");
        check("line1\nline2", "=?base64?bGluZTEKbGluZTI=?=");
        check("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
        check("two words\tand ~!", "two words\tand ~!");
        check("=?base64?open", "=?base64?open");
        check("\t", "=?base64?CQ==?=");
        check("\u{7f}", "=?base64?fw==?=");
        check("", "");
    }

    /// Returns the `mcp-*` headers.
    fn headers(message: &Value, handshake: Option<&Handshake>) -> BTreeMap<String, String> {
        let message = Message::parse(message.to_string().into_bytes()).unwrap();
        let headers = of(&message, handshake);
        assert_eq!(headers[header::CONTENT_TYPE], "application/json");
        assert_eq!(headers[header::ACCEPT], "application/json, text/event-stream");
        let own = headers.iter().filter(|(name, _)| name.as_str().starts_with("mcp-"));
        own.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
    }

    #[track_caller]
    fn check(message: &Value, handshake: Option<&Handshake>, expected: &[(&str, &str)]) {
        let expected = expected.iter().map(|(name, it)| ((*name).to_owned(), (*it).to_owned()));
        assert_eq!(headers(message, handshake), expected.collect(), "{message}");
    }

    fn modern_request(method: &str, params: Value) -> Value {
        let mut params = params;
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    }

    #[test]
    fn a_modern_request_tells_what_it_is() {
        let version = ("mcp-protocol-version", "2026-07-28");
        let call = json!({"name": "context_list", "arguments": {"session": "käse"}});
        check(
            &modern_request("tools/call", call),
            None,
            &[
                version,
                ("mcp-method", "tools/call"),
                ("mcp-name", "context_list"),
                ("mcp-param-session", "=?base64?a8Okc2U=?="),
            ],
        );
        check(
            &modern_request("resources/read", json!({"uri": "session://s/keys", "name": "x"})),
            None,
            &[version, ("mcp-method", "resources/read"), ("mcp-name", "session://s/keys")],
        );
        let prompt = json!({"name": "shared_context", "arguments": {"session": "s"}});
        check(
            &modern_request("prompts/get", prompt),
            None,
            &[version, ("mcp-method", "prompts/get"), ("mcp-name", "shared_context")],
        );
        check(
            &modern_request("tools/list", json!({"name": "x", "uri": "y"})),
            None,
            &[version, ("mcp-method", "tools/list")],
        );
    }

    #[test]
    fn an_older_request_tells_which_handshake_it_belongs_to() {
        let handshake = Handshake {
            session_id: Some("abc".to_owned()),
            version: "2025-11-25".to_owned(),
            ..Handshake::default()
        };
        let own = [("mcp-session-id", "abc"), ("mcp-protocol-version", "2025-11-25")];
        let list =
            json!({"id": 1, "method": "tools/list", "params": {"_meta": {"progressToken": 1}}});
        check(&list, Some(&handshake), &own);
        check(&json!({"method": "notifications/initialized"}), Some(&handshake), &own);
        check(&json!({"id": 1, "method": "initialize", "params": {}}), Some(&handshake), &[]);
        check(&list, None, &[]);
        // A client may use both protocols.
        let headers = headers(&modern_request("tools/list", json!({})), Some(&handshake));
        assert_eq!(headers.get("mcp-session-id"), None);
    }

    #[test]
    fn values_unfit_for_a_header_are_omitted_without_base64() {
        let request = modern_request("tools/\nlist", json!({}));
        check(&request, None, &[("mcp-protocol-version", "2026-07-28")]);
    }
}
