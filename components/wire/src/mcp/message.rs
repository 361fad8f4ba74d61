//! Framing: one message of JSON-RPC 2.0 per request, with one response.
//!
//! MCP accepts one message at a time, with an id that is a string or a whole number (2026-07-28,
//! Overview, Messages).
//!
//! # Invariant
//!
//! An error names the position of the fault, and never repeats the input there: it may have been a
//! value meant for the store.

use std::borrow::Cow;

use rmcp::model::{ErrorCode, ErrorData};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::IgnoredAny};
use serde_json::{error::Category, value::RawValue};
use shared_context_core::syntax::syntax_error;

use super::fault::Fault;
use crate::http::JsonText;

/// A message from a client.
#[derive(Debug)]
pub(crate) struct Message<'b> {
    /// Id to respond to; `None` for a notification.
    pub(crate) id: Option<Id<'b>>,
    pub(crate) method: Cow<'b, str>,
    pub(crate) params: Option<&'b RawValue>,
}

/// Id of a request, as it was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Id<'b>(&'b RawValue);

/// Id of a request that outlives its message.
#[derive(Debug)]
pub(super) struct OwnedId(Box<RawValue>);

/// An invalid message, with its id if that could be parsed.
#[derive(Debug)]
pub(crate) struct InvalidMessage<'b> {
    pub(crate) id: Option<Id<'b>>,
    pub(crate) fault: Fault,
}

/// Members of a message.
#[derive(Deserialize)]
struct Form<'b> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'b, str>>,
    /// `null` counts as an id, and an invalid one.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'b RawValue>,
    #[serde(default)]
    result: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'b> Message<'b> {
    /// Parses `body`, which must contain exactly one message.
    ///
    /// # Errors
    ///
    /// A parse error (-32700) if it is not JSON in UTF-8; an invalid request (-32600) if it is not
    /// a request or notification.
    pub(crate) fn parse(body: &'b [u8]) -> Result<Self, InvalidMessage<'b>> {
        let invalid = |fault| InvalidMessage { id: None, fault };
        let text = std::str::from_utf8(body).map_err(|error| {
            invalid(not_json(format!("the body is not UTF-8 at byte {}", error.valid_up_to())))
        })?;
        match text.trim_ascii_start().bytes().next() {
            None => return Err(invalid(not_json("the body is empty"))),
            Some(b'[') => {
                return Err(invalid(no_message(
                    "the body is a JSON array: this protocol has no batches; send each message by \
                     itself",
                )));
            }
            Some(_) => {}
        }
        let form: Form<'b> = serde_json::from_str(text).map_err(|error| {
            invalid(match error.classify() {
                Category::Data => no_message(
                    "the body is no JSON-RPC message: send one object with jsonrpc, method and, \
                     for a request, id, each of them once",
                ),
                _ => not_json(format!("the body is not JSON: {}", syntax_error(&error))),
            })
        })?;
        form.check()
    }
}

impl<'b> Form<'b> {
    fn check(self) -> Result<Message<'b>, InvalidMessage<'b>> {
        let id = match self.id.map(Id::check).transpose() {
            Ok(id) => id,
            Err(fault) => return Err(InvalidMessage { id: None, fault }),
        };
        let invalid_request = |message: &str| InvalidMessage { id, fault: no_message(message) };
        if self.jsonrpc.as_deref() != Some("2.0") {
            return Err(invalid_request("the member jsonrpc must be the string \"2.0\""));
        }
        let Some(method) = self.method else {
            return Err(invalid_request(if self.result.is_some() || self.error.is_some() {
                "this server sends no requests, so there is nothing to respond to"
            } else {
                "the member method is missing: send a request or a notification"
            }));
        };
        let method = serde_json::from_str::<JsonText<'b>>(method.get())
            .map_err(|_| invalid_request("the member method must be a string"))?;
        if self.params.is_some_and(|it| !it.get().starts_with('{')) {
            return Err(invalid_request("the member params must be an object, or be left out"));
        }
        Ok(Message { id, method: method.0, params: self.params })
    }
}

impl<'b> Id<'b> {
    fn check(raw: &'b RawValue) -> Result<Self, Fault> {
        let text = raw.get();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_integer = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if text.starts_with('"') || is_integer {
            return Ok(Self(raw));
        }
        Err(no_message("the member id must be a string or a whole number; a notification has none"))
    }

    /// Returns the id as JSON.
    pub(crate) fn as_json(self) -> &'b str {
        self.0.get()
    }

    /// Returns a copy of the id that outlives its message.
    pub(super) fn into_owned(self) -> OwnedId {
        OwnedId(self.0.to_owned())
    }
}

impl Serialize for Id<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl OwnedId {
    pub(super) fn get(&self) -> Id<'_> {
        Id(&self.0)
    }
}

/// Returns the response to `id` with `result`, which is JSON.
pub(crate) fn response(id: Id<'_>, result: &[u8]) -> Vec<u8> {
    let id = id.as_json().as_bytes();
    let parts: [&[u8]; 5] = [b"{\"jsonrpc\":\"2.0\",\"id\":", id, b",\"result\":", result, b"}"];
    parts.concat()
}

/// Returns the error response for `error`, with `id` if it could be parsed.
pub(crate) fn error(id: Option<Id<'_>>, error: &ErrorData) -> Vec<u8> {
    #[derive(Serialize)]
    struct Response<'e> {
        jsonrpc: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'e RawValue>,
        error: &'e ErrorData,
    }
    let response = Response { jsonrpc: "2.0", id: id.map(|it| it.0), error };
    serde_json::to_vec(&response).unwrap_or_default()
}

fn not_json(message: impl Into<String>) -> Fault {
    Fault::bad_request(ErrorCode::PARSE_ERROR, message)
}

fn no_message(message: impl Into<String>) -> Fault {
    Fault::bad_request(ErrorCode::INVALID_REQUEST, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &[u8], expected: Result<&str, (i32, Option<&str>)>) {
        let seen = Message::parse(body);
        let seen = match &seen {
            Ok(message) => Ok(&*message.method),
            Err(it) => Err((it.fault.error.code.0, it.id.map(Id::as_json))),
        };
        assert_eq!(seen, expected, "{}", String::from_utf8_lossy(body));
    }

    #[test]
    fn a_body_is_one_message() {
        check(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Ok("ping"));
        check(br#" {"params":{},"method":"p\u0069ng","id":"a","jsonrpc":"2.0"} "#, Ok("ping"));
        check(
            br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            Ok("notifications/initialized"),
        );
        check(br#"{"jsonrpc":"2.0","id":-7,"method":"x","more":[1]}"#, Ok("x"));
        check(br#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"x"}"#, Ok("x"));
    }

    #[test]
    fn invalid_json_is_a_parse_error() {
        for body in ["", "  ", "x", "{", r#"{"jsonrpc":"2.0",}"#, "\u{feff}{}", r#"{"a":1}{"a":1}"#]
        {
            check(body.as_bytes(), Err((-32700, None)));
        }
        check(b"{\"method\":\"\xff\"}", Err((-32700, None)));
    }

    #[test]
    fn an_invalid_message_is_an_invalid_request() {
        for body in [
            "[]",
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            "null",
            "7",
            r#""ping""#,
            "{}",
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1e2,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#,
        ] {
            check(body.as_bytes(), Err((-32600, None)));
        }
        for (body, id) in [
            (r#"{"id":1,"method":"ping"}"#, "1"),
            (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, r#""a""#),
            (r#"{"jsonrpc":"2.0","id":1}"#, "1"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "1"),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#, "1"),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "1"),
            (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, "1"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, "1"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#, "1"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#, "1"),
        ] {
            check(body.as_bytes(), Err((-32600, Some(id))));
        }
    }

    #[test]
    fn an_error_never_repeats_what_was_sent() {
        for body in [
            r#"{"jsonrpc":"secret","id":1,"method":"x"}"#,
            r#"{"method":{"secret":1}}"#,
            r#""secret""#,
            r#"["secret"]"#,
            r#"{"jsonrpc":["secret"]}"#,
            r#"{"jsonrpc":"2.0","secret"}"#,
            "secret",
        ] {
            let it = Message::parse(body.as_bytes()).unwrap_err();
            assert!(!it.fault.error.message.contains("secret"), "{:?}", it.fault);
        }
    }
}
