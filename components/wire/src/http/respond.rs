//! Responses: JSON, text, and errors as problem details (RFC 9457).

use std::fmt::Write as _;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, WWW_AUTHENTICATE},
};
use serde::Serialize;
use shared_context_codec::Failure;

use super::{Body, code, media};

/// Returns a response with `body` of the type `content_type`.
pub(crate) fn with_body(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Returns a response of JSON.
pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<Bytes> {
    with_body(status, media::JSON, body)
}

/// Returns a response without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

/// Adds a header to `response`.
pub(crate) fn with_header(
    mut response: Response<Bytes>,
    name: HeaderName,
    value: HeaderValue,
) -> Response<Bytes> {
    response.headers_mut().insert(name, value);
    response
}

/// Adds a header to `response`, if `text` is a valid value.
pub(crate) fn with_text(
    response: Response<Bytes>,
    name: HeaderName,
    text: String,
) -> Response<Bytes> {
    match HeaderValue::try_from(text) {
        Ok(value) => with_header(response, name, value),
        Err(_) => response,
    }
}

/// Problem document of an error, before the tool's `error` object is added.
#[derive(Serialize)]
struct Problem<'f> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: &'f str,
    instance: &'f str,
}

/// Returns the response with the problem document of `failure`.
pub(crate) fn problem(status: StatusCode, failure: &Failure, request_id: &str) -> Response<Bytes> {
    let problem = Problem {
        r#type: format!("urn:shared-context:error:{}", failure.code),
        title: code::of(&failure.code).title,
        status: status.as_u16(),
        detail: &failure.message,
        instance: request_id,
    };
    let error = failure.to_json();
    // Falls back to the tool's format if the problem cannot be serialized.
    let body = match serde_json::to_vec(&problem) {
        Ok(problem) => merge_objects(problem, &error),
        Err(_) => error,
    };
    with_body(status, media::PROBLEM, body)
}

/// Builds the `WWW-Authenticate` challenge (RFC 6750 §3), with the URL of the resource's metadata
/// (RFC 9728 §5.1).
pub(crate) fn challenge(
    request: &HeaderMap,
    failure: &Failure,
    metadata: Option<&str>,
) -> (HeaderName, HeaderValue) {
    const REALM: &str = "Bearer realm=\"shared-context\"";
    let mut challenge = if request.contains_key(AUTHORIZATION) {
        let quotable = |c: char| match c {
            '"' | '\\' => '\'',
            ' '..='~' => c,
            _ => '?',
        };
        let description: String = failure.message.chars().map(quotable).collect();
        format!("{REALM}, error=\"invalid_token\", error_description=\"{description}\"")
    } else {
        REALM.to_owned()
    };
    if let Some(url) = metadata {
        // Writing to a string does not fail.
        let _ = write!(challenge, ", resource_metadata=\"{url}\"");
    }
    let value = HeaderValue::try_from(challenge).unwrap_or(HeaderValue::from_static(REALM));
    (WWW_AUTHENTICATE, value)
}

/// Removes the body for `HEAD`, and sets its length in `Content-Length`.
pub(crate) fn without_body(response: &mut Response<Body>) {
    let body = std::mem::replace(response.body_mut(), Body::Whole(Bytes::new()));
    if let Body::Whole(body) = body
        && !body.is_empty()
    {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
}

/// Merges two JSON objects without parsing them: both must have members.
pub(crate) fn merge_objects(mut first: Vec<u8>, second: &[u8]) -> Vec<u8> {
    if let (Some(b'}'), Some((b'{', members))) = (first.last(), second.split_first()) {
        first.pop();
        first.push(b',');
        first.extend_from_slice(members);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_contains_the_error_of_the_tool() {
        let failure = Failure {
            details: Some(r#"{"limit":1000,"actual":1204}"#.to_owned()),
            ..Failure::new("VALUE_TOO_LARGE", "too \"large\"")
        };
        let response = problem(StatusCode::PAYLOAD_TOO_LARGE, &failure, "r-1");
        let body: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(
            body,
            serde_json::json!({
                "type": "urn:shared-context:error:VALUE_TOO_LARGE",
                "title": "Value over the limit of one entry",
                "status": 413,
                "detail": "too \"large\"",
                "instance": "r-1",
                "error": {
                    "code": "VALUE_TOO_LARGE", "message": "too \"large\"",
                    "limit": 1000, "actual": 1204,
                },
            })
        );
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
    }

    #[test]
    fn a_challenge_can_always_be_quoted() {
        let mut request = HeaderMap::new();
        let failure = Failure::new("UNAUTHENTICATED", "say \"please\" \\ ä\n");
        assert_eq!(challenge(&request, &failure, None).1, "Bearer realm=\"shared-context\"");
        request.insert(AUTHORIZATION, HeaderValue::from_static("x"));
        assert_eq!(
            challenge(&request, &failure, None).1,
            "Bearer realm=\"shared-context\", error=\"invalid_token\", \
             error_description=\"say 'please' ' ??\""
        );
    }

    #[test]
    fn objects_are_merged_without_parsing() {
        let merge_objects =
            |a: &str, b: &str| String::from_utf8(merge_objects(a.into(), b.as_bytes())).unwrap();
        assert_eq!(merge_objects(r#"{"a":1}"#, r#"{"b":2}"#), r#"{"a":1,"b":2}"#);
        assert_eq!(merge_objects(r#"{"a":1}"#, "[]"), r#"{"a":1}"#);
    }
}
