//! The entries of a session: as resources, and through the JSON tool.

use bytes::Bytes;
use http::{Response, StatusCode, header::ETAG};
use serde::Serialize;
use serde_json::value::RawValue;
use shared_context_codec::{Effect, Failure, Reply, actions, text_in};

use super::{
    body::{self, Members},
    call::Call,
    media::{self, Media},
    precondition::{self, Condition, Preconditions, Tags},
    respond,
    tool::ToolRequest,
};
use crate::Engine;

/// Value of an entry that is being written.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
enum Value<'r> {
    /// Text, as it was sent.
    Text(&'r str),
    /// JSON, as it was sent; the tool checks that it is a string.
    Json(&'r RawValue),
}

/// Most attempts of a conditional change that must read the entry first.
const ATTEMPTS_MAX: u32 = 16;

/// `POST …/shared_context`: the JSON tool; the request is passed on without parsing.
pub(crate) async fn call_tool<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    media::expect_json(call.headers)?;
    if call.body.is_empty() {
        return Err(Failure::new(
            "MALFORMED_REQUEST",
            r#"the body is empty, it must be a JSON object; for example {"action":"list_keys"}"#,
        ));
    }
    let request_id = precondition::request_id(call.headers)?;
    let named = request_id.map(|it| named(call, it)).transpose()?.flatten();
    let reply = call.invoke_bytes(named.as_deref().unwrap_or(call.body)).await?;
    Ok(respond::json(StatusCode::OK, reply.body))
}

/// Returns the request in the body with the member `request_id`; `None` if it needs none. A body
/// that has one already then has it twice, which the tool rejects.
///
/// # Errors
///
/// `MALFORMED_REQUEST`: its action changes something and does not take one.
fn named<E>(call: &Call<'_, E>, request_id: &str) -> Result<Option<Vec<u8>>, Failure> {
    let action = text_in(call.body, "action");
    let Some(action) = action.and_then(|name| actions().find(|it| it.name == name)) else {
        return Ok(None);
    };
    if !action.takes("request_id") {
        if action.is_change {
            precondition::expect_no_request_id(call.headers)?;
        }
        return Ok(None);
    }
    let members = call.body.trim_ascii_start().strip_prefix(b"{");
    Ok(members.map(|it| ToolRequest::named(request_id).with_members_of(it)))
}

/// `GET …/entries`. Its tag is the session's revision.
pub(crate) async fn list<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let request = |since| {
        ToolRequest::new("list_keys")
            .with("prefix", call.query.text("prefix"))
            .with("if_changed_since", since)
    };
    let known = precondition::if_none_match(call.headers);
    let (reply, is_unchanged) = changed_since(call, known.as_ref(), request).await?;
    // An expired entry changes the list without a new revision until it is removed. Until then, one
    // tag would stand for two lists.
    let is_stable = reply.next_expiry_ms.is_none_or(|at| at > call.engine.now().0);
    let etag = precondition::etag(reply.revision);
    let response = not_modified_or(is_unchanged || known == Some(Tags::Any), reply);
    Ok(if is_stable { respond::with_header(response, ETAG, etag) } else { response })
}

/// `GET …/entries/{key}`. Its tag is the revision it was written at.
pub(crate) async fn read<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let request = |since| {
        ToolRequest::new("read").with("key", Some(&call.key)).with("if_changed_since", since)
    };
    let known = precondition::if_none_match(call.headers);
    let (mut reply, is_unchanged) = changed_since(call, known.as_ref(), request).await?;
    let is_match = known.as_ref().is_some_and(|it| it.matches_weakly(Some(reply.revision)));
    if is_unchanged && !is_match {
        // The entry did not change since then, but none of the reader's tags is its own.
        reply = call.invoke(request(None)).await?;
    }
    let etag = precondition::etag(reply.revision);
    let is_known = is_match && (is_unchanged || known == Some(Tags::Any));
    Ok(respond::with_header(not_modified_or(is_known, reply), ETAG, etag))
}

/// Reads for a client that has the tags `known`, and reports whether nothing changed since. Only
/// the session can decide that: access and expiry count too.
async fn changed_since<E: Engine>(
    call: &Call<'_, E>,
    known: Option<&Tags>,
    request: impl Fn(Option<u64>) -> ToolRequest,
) -> Result<(Reply, bool), Failure> {
    let mut most = u64::MAX;
    loop {
        let since = known.and_then(|it| it.latest(most));
        let reply = call.invoke(request(since)).await?;
        let is_unchanged = reply.effect == Effect::Unchanged;
        if is_unchanged || since <= Some(reply.revision) {
            return Ok((reply, is_unchanged));
        }
        // The tag is of another resource; the next lower one may match.
        most = reply.revision;
    }
}

/// Returns `304` if the client has it, otherwise the reply.
fn not_modified_or(is_known: bool, reply: Reply) -> Response<Bytes> {
    if is_known {
        respond::empty(StatusCode::NOT_MODIFIED)
    } else {
        respond::json(StatusCode::OK, reply.body)
    }
}

/// `PUT …/entries/{key}`: 201 if the key is new, 200 if it was overwritten.
pub(crate) async fn write<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let value = match media::of_body(call.headers)? {
        Some(Media::Json) => {
            let members = Members::parse(call.body, &["value"], r#"{"value":"analysis"}"#)?;
            Value::Json(members.raw_required("value")?)
        }
        Some(Media::Text) => Value::Text(body::text(call.body)?),
        None => Value::Text(untyped(call.body)?),
    };
    let request_id = precondition::request_id(call.headers)?;
    let request = ToolRequest::new("write")
        .with("key", Some(&call.key))
        .with("value", Some(value))
        .with("request_id", request_id);
    let reply = on_condition(call, &request).await?;
    let is_new = reply.effect == Effect::Created;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let etag = precondition::etag(reply.revision);
    Ok(respond::with_header(respond::json(status, reply.body), ETAG, etag))
}

/// Returns the value in a body without a type: its text. Rejects what a client more likely forgot:
/// the body, or the type of JSON.
fn untyped(body: &[u8]) -> Result<&str, Failure> {
    let malformed = |message| Err(Failure::new("MALFORMED_REQUEST", message));
    if body.is_empty() {
        return malformed(
            "the body is empty, and the entry would be too; to store an empty text send \
             {\"value\":\"\"} with Content-Type: application/json",
        );
    }
    if text_in(body, "value").is_some() {
        return malformed(
            "the body looks like JSON and has no Content-Type; send Content-Type: \
             application/json, or text/plain to store the body itself",
        );
    }
    body::text(body)
}

/// `DELETE …/entries/{key}`.
pub(crate) async fn delete<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let request_id = precondition::request_id(call.headers)?;
    let request =
        ToolRequest::new("delete").with("key", Some(&call.key)).with("request_id", request_id);
    let reply = on_condition(call, &request).await?;
    Ok(respond::json(StatusCode::OK, reply.body))
}

/// Performs `change` of the entry in the path, under the conditions in the request's headers.
///
/// The tool compares one revision. For other conditions the entry is read first, and changed only
/// if it still has the revision that was read. If another change intervenes, both steps are
/// retried.
async fn on_condition<E: Engine>(
    call: &Call<'_, E>,
    change: &ToolRequest,
) -> Result<Reply, Failure> {
    let change = |Condition { if_version, if_revision }| {
        change.clone().with("if_version", if_version).with("if_revision", if_revision)
    };
    let conditions = Preconditions::parse(call.headers)?;
    if let Some(condition) = conditions.as_tool_condition() {
        return call.invoke(change(condition)).await;
    }
    if precondition::request_id(call.headers)?.is_some() {
        return Err(Failure::new(
            "MALFORMED_REQUEST",
            "Idempotency-Key goes with If-Match of one tag, with If-None-Match: *, or without a \
             condition; with other conditions a retry would not be the same request",
        ));
    }
    let mut attempts_left = ATTEMPTS_MAX;
    loop {
        let read = ToolRequest::new("read").with("key", Some(&call.key));
        let current = match call.invoke(read).await {
            Ok(reply) => Some(reply.revision),
            Err(failure) if failure.code == "KEY_NOT_FOUND" => None,
            Err(failure) => return Err(failure),
        };
        let Some(condition) = conditions.at(current) else {
            return call.invoke(change(Condition::never())).await;
        };
        attempts_left -= 1;
        match call.invoke(change(condition)).await {
            Err(failure) if failure.code == "VERSION_CONFLICT" && attempts_left > 0 => {}
            outcome => return outcome,
        }
    }
}
