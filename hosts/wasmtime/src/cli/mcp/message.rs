//! Parses lines of the client as far as the bridge needs, and writes the bridge's own
//! lines.
//!
//! The server interprets methods and their parameters.
//!
//! # Invariant
//!
//! A line is forwarded unchanged. An error never repeats its content, which may have been a
//! value meant for the store.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};
use shared_context_wire::{REQUEST_ID, is_read_only};

/// JSON-RPC 2.0: the line is not JSON.
pub(super) const PARSE_ERROR: i32 = -32700;
/// JSON-RPC 2.0: the JSON is not a valid message.
pub(super) const INVALID_REQUEST: i32 = -32600;
/// JSON-RPC 2.0: the message is valid, but was not carried out.
pub(super) const INTERNAL_ERROR: i32 = -32603;

/// The longest that a server waits in a tool call, in seconds.
const WAIT_SECONDS_MAX: u64 = 60;
/// The member of `_meta` with the protocol version of a modern request (2026-07-28).
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The member of `_meta` with the subscription of a message.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The id of a request: a string or a whole number, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Id(Value);

/// A request or a notification.
#[derive(Debug, Default)]
pub(super) struct Message {
    /// The line as received.
    pub(super) line: Vec<u8>,
    pub(super) method: String,
    /// The id of a request; `None` for a notification.
    pub(super) id: Option<Id>,
    params: Map<String, Value>,
}

/// The reason why a line is not handled as a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ParseError {
    /// It is invalid; this line is the answer.
    Invalid(Vec<u8>),
    /// It is a response. The bridge sends no requests, so nothing waits for it.
    Response,
}

impl Id {
    /// Creates an id, if `value` is a valid one.
    pub(super) fn new(value: &Value) -> Option<Self> {
        let is_id = value.is_string() || value.is_i64() || value.is_u64();
        is_id.then(|| Self(value.clone()))
    }
}

impl Message {
    /// Parses `line`.
    ///
    /// # Errors
    ///
    /// The line is not a JSON message, or is a response.
    pub(super) fn parse(line: Vec<u8>) -> Result<Self, ParseError> {
        let invalid = |id: Option<&Id>, code, message: &str| {
            ParseError::Invalid(error(id, code, message, None))
        };
        let read = serde_json::from_slice(&line);
        let value: Value = read.map_err(|error| {
            let place = match error.column() {
                0 => String::new(),
                column => format!(" (at byte {column})"),
            };
            let message = format!("the line is not JSON{place}; send one message a line, in UTF-8");
            invalid(None, PARSE_ERROR, &message)
        })?;
        let Value::Object(mut members) = value else {
            let message = "a message is a JSON object; send each on a line of its own";
            return Err(invalid(None, INVALID_REQUEST, message));
        };
        let id = members.get("id").map(Id::new);
        let Some(Value::String(method)) = members.remove("method") else {
            let is_response = members.contains_key("result") || members.contains_key("error");
            if is_response {
                return Err(ParseError::Response);
            }
            let message = "a message has a method, which is a string";
            return Err(invalid(id.flatten().as_ref(), INVALID_REQUEST, message));
        };
        if id == Some(None) {
            let message = "the id of a request is a string or a whole number";
            return Err(invalid(None, INVALID_REQUEST, message));
        }
        let params = match members.remove("params") {
            Some(Value::Object(params)) => params,
            // The server reports other invalid parameters.
            _ => Map::new(),
        };
        Ok(Self { line, method, id: id.flatten(), params })
    }

    /// Returns the string parameter `name`.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.params.get(name)?.as_str()
    }

    /// Returns the string argument `name` of a tool call.
    pub(super) fn argument(&self, name: &str) -> Option<&str> {
        self.params.get("arguments")?.get(name)?.as_str()
    }

    /// Returns the protocol version in the message; older protocols have none there.
    pub(super) fn version(&self) -> Option<&str> {
        self.params.get("_meta")?.get(VERSION)?.as_str()
    }

    /// Returns the id of the request that this notification is about.
    pub(super) fn request_id(&self) -> Option<Id> {
        self.params.get("requestId").and_then(Id::new)
    }

    /// Returns how long the server may wait before it answers a tool call.
    pub(super) fn wait(&self) -> Duration {
        let arguments = self.params.get("arguments").filter(|_| self.method == "tools/call");
        let seconds = arguments.and_then(|it| it.get("wait_seconds")?.as_u64());
        Duration::from_secs(seconds.unwrap_or_default().min(WAIT_SECONDS_MAX))
    }

    /// Returns true if the message may be sent again when its answer is lost, because
    /// repeating it has no further effect.
    pub(super) fn is_repeatable(&self) -> bool {
        if self.method != "tools/call" {
            return true;
        }
        // A change with a request id is carried out once.
        let request_id = self.params.get("_meta").and_then(|it| it.get(REQUEST_ID));
        request_id.is_some_and(Value::is_string) || self.text("name").is_some_and(is_read_only)
    }
}

/// A message of the server, as far as the bridge reads it.
#[derive(Debug)]
pub(super) struct ServerMessage(Value);

impl ServerMessage {
    /// Parses a message; `None` if the line is not a JSON-RPC 2.0 message.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(line).ok()?;
        (value.get("jsonrpc")? == "2.0").then_some(Self(value))
    }

    /// Returns true if it answers the request `id`.
    pub(super) fn answers(&self, id: &Id) -> bool {
        self.0.get("method").is_none() && self.0.get("id") == Some(&id.0)
    }

    /// Returns the method of a notification.
    pub(super) fn method(&self) -> Option<&str> {
        self.0.get("method")?.as_str()
    }

    /// Returns the JSON-RPC error code, if it is an error.
    pub(super) fn error_code(&self) -> Option<i64> {
        self.0.get("error")?.get("code")?.as_i64()
    }

    /// Returns the server's error code, if it is an error with one.
    pub(super) fn failure_code(&self) -> Option<&str> {
        self.0.get("error")?.get("data")?.get("error")?.get("code")?.as_str()
    }

    /// Returns the parameter `name`.
    pub(super) fn param(&self, name: &str) -> Option<&Value> {
        self.0.get("params")?.get(name)
    }

    /// Returns the string member `name` of the result.
    pub(super) fn result_text(&self, name: &str) -> Option<&str> {
        self.0.get("result")?.get(name)?.as_str()
    }
}

/// A line that the bridge itself writes.
#[derive(Debug, Default, Serialize)]
struct Line<'l> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'l Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'l str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    params: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Error<'l>>,
}

#[derive(Debug, Serialize)]
struct Error<'l> {
    code: i32,
    message: &'l str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl Line<'_> {
    fn to_json(&self) -> Vec<u8> {
        // Serializing JSON values cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Returns an error that answers `id`. Without an id, which could not be read, there is no
/// member `id` (2026-07-28, Overview, Error Responses).
pub(super) fn error(id: Option<&Id>, code: i32, message: &str, data: Option<Value>) -> Vec<u8> {
    let error = Some(Error { code, message, data });
    Line { jsonrpc: "2.0", id: id.map(|Id(id)| id), error, ..Line::default() }.to_json()
}

/// Returns the result of a failed tool call, for the agent to read, as the server writes it (spec
/// 13.3). `is_modern` is set for a request that contains its protocol version.
pub(super) fn tool_error(id: &Id, is_modern: bool, code: &str, message: &str) -> Vec<u8> {
    let mut members = json!({
        "content": [{"type": "text", "text": format!("{code}: {message}")}],
        "structuredContent": {"error": {"code": code, "message": message}},
        "isError": true,
    });
    if let (Value::Object(members), true) = (&mut members, is_modern) {
        members.insert("resultType".to_owned(), "complete".into());
    }
    result(id, members)
}

/// Returns the result of `subscriptions/listen`, which ends the subscription.
pub(super) fn listen_result(id: &Id) -> Vec<u8> {
    result(id, json!({"resultType": "complete", "_meta": {SUBSCRIPTION: id.0}}))
}

fn result(Id(id): &Id, result: Value) -> Vec<u8> {
    Line { jsonrpc: "2.0", id: Some(id), result: Some(result), ..Line::default() }.to_json()
}

/// Returns a server notification, in the subscription `of` if there is one.
pub(super) fn notification(method: &str, uri: Option<&str>, of: Option<&Id>) -> Vec<u8> {
    let mut params = Map::new();
    if let Some(uri) = uri {
        params.insert("uri".to_owned(), uri.into());
    }
    if let Some(Id(id)) = of {
        params.insert("_meta".to_owned(), json!({SUBSCRIPTION: id}));
    }
    Line { jsonrpc: "2.0", method: Some(method), params, ..Line::default() }.to_json()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Message, ParseError> {
        Message::parse(line.as_bytes().to_vec())
    }

    #[track_caller]
    fn check_refused(line: &str, expected: &Value) {
        let Err(ParseError::Invalid(answer)) = parse(line) else { panic!("taken: {line}") };
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(answer["error"]["message"].is_string(), "{answer}");
        let seen = match answer.get("id") {
            Some(id) => json!([answer["error"]["code"], id]),
            None => json!([answer["error"]["code"]]),
        };
        assert_eq!(&seen, expected, "{line}");
    }

    #[test]
    fn an_invalid_message_is_rejected_to_its_sender_if_known() {
        for line in ["", "{", "nonsense", "{\"id\":1", "{}{}", "\"\u{1}\"", "{\"a\":01}"] {
            check_refused(line, &json!([PARSE_ERROR]));
        }
        for line in ["null", "5", "\"x\"", "[]", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#] {
            check_refused(line, &json!([INVALID_REQUEST]));
        }
        check_refused("{}", &json!([INVALID_REQUEST]));
        check_refused(r#"{"id":7,"method":5}"#, &json!([INVALID_REQUEST, 7]));
        check_refused(r#"{"id":"a"}"#, &json!([INVALID_REQUEST, "a"]));
        for id in ["null", "1.5", "{}", "[1]", "true"] {
            check_refused(&format!(r#"{{"id":{id},"method":"ping"}}"#), &json!([INVALID_REQUEST]));
        }
        assert_eq!(
            parse(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap_err(),
            ParseError::Response
        );
        let not_utf8 = Message::parse(b"{\"method\":\"\xff\"}".to_vec());
        assert!(matches!(not_utf8, Err(ParseError::Invalid(_))));
    }

    #[test]
    fn an_error_does_not_repeat_what_was_sent() {
        let Err(ParseError::Invalid(answer)) = parse(r#"{"value":"treasure","x":treasure}"#) else {
            panic!("taken")
        };
        assert!(!String::from_utf8(answer).unwrap().contains("treasure"));
    }

    #[test]
    fn what_a_message_says_is_found() {
        let line = r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"t",
            "arguments":{"session":"s","n":1},
            "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let message = parse(line).unwrap();
        assert_eq!(message.line, line.as_bytes());
        assert_eq!((message.method.as_str(), message.text("name")), ("tools/call", Some("t")));
        assert_eq!(message.id, Id::new(&json!("x")));
        assert_eq!((message.argument("session"), message.argument("n")), (Some("s"), None));
        assert_eq!(message.version(), Some("2026-07-28"));
        let message = parse(r#"{"method":"notifications/cancelled","params":{"requestId":4}}"#);
        let message = message.unwrap();
        assert_eq!((message.request_id(), message.id), (Id::new(&json!(4)), None));
        let message = parse(r#"{"method":"x","params":[1],"id":0}"#).unwrap();
        assert_eq!((message.text("name"), message.version()), (None, None));
    }

    #[test]
    fn only_what_changes_nothing_or_names_itself_is_sent_again() {
        #[track_caller]
        fn check(method: &str, params: &Value, expected: bool) {
            let line = json!({"id": 1, "method": method, "params": params}).to_string();
            assert_eq!(parse(&line).unwrap().is_repeatable(), expected, "{line}");
        }
        let call = |name: &str| json!({"name": name, "arguments": {"key": "k", "value": "v"}});
        check("tools/list", &json!({}), true);
        check("resources/subscribe", &json!({"uri": "x"}), true);
        for name in ["context_list", "context_read", "context_changes", "delta_rounds_read"] {
            check("tools/call", &call(name), true);
        }
        for name in ["context_write", "context_delete", "context_session", "new", ""] {
            check("tools/call", &call(name), false);
        }
        let mut named = call("context_write");
        named["_meta"] = json!({"shared-context/request_id": "r"});
        check("tools/call", &named, true);
        named["_meta"] = json!({"shared-context/request_id": null});
        check("tools/call", &named, false);
    }

    #[test]
    fn lines_of_the_bridge_are_messages() {
        let text = |line: Vec<u8>| String::from_utf8(line).unwrap();
        let id = Id::new(&json!(3)).unwrap();
        assert_eq!(
            text(listen_result(&id)),
            r#"{"jsonrpc":"2.0","id":3,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":3},"resultType":"complete"}}"#
        );
        assert_eq!(
            text(notification("notifications/resources/updated", Some("a:b"), None)),
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}"#
        );
        let reply: Value = serde_json::from_slice(&tool_error(&id, false, "X", "m")).unwrap();
        let failure = json!({"error": {"code": "X", "message": "m"}});
        assert_eq!(reply["result"]["structuredContent"], failure);
        // The text was once the raw JSON.
        assert_eq!(reply["result"]["content"][0]["text"], "X: m");
        assert_eq!(reply["result"]["isError"], true);
        assert_eq!(reply["result"].get("resultType"), None);
    }
}
