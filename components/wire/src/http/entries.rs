//! The entries of a session: as resources, and through the JSON tool.

use bytes::Bytes;
use http::{Response, StatusCode, header::ETAG};
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

/// Members of the body of a `PUT` of an entry. The tool checks them.
pub(crate) const MEMBERS_TO_WRITE: [&str; 6] =
    ["value", "ttl_seconds", "expires_at", "readable_by", "writable_by", "history"];

/// Most attempts of a conditional change that must read the entry first.
const ATTEMPTS_MAX: u32 = 16;

/// `POST …/shared_context`: the JSON tool; the request is passed on without parsing.
pub(crate) async fn call_tool<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    media::expect_json(call.headers)?;
    precondition::expect_none(call.headers)?;
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

/// Returns the request in the body with the member `request_id`; `None` if it needs none, or if the
/// tool is to reject the body. A body that has one already then has it twice, which the tool rejects
/// as well.
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
    let Ok(members) = Members::parse_any(call.body, "{}") else { return Ok(None) };
    let is_absent = |name: &str, value: &RawValue| name == "request_id" && value.get() == "null";
    let sent = members.iter().filter(|(name, value)| !is_absent(name, value));
    let request = ToolRequest::named(request_id);
    Ok(Some(sent.fold(request, |it, (name, value)| it.with(name, Some(value))).into_bytes()))
}

/// `GET …/entries`. Its tag is the session's revision.
pub(crate) async fn list<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let request = |since| {
        ToolRequest::new("list_keys")
            .with("prefix", call.query.text("prefix"))
            .with("if_changed_since", since)
    };
    let required = precondition::if_match(call.headers)?;
    let known = precondition::if_none_match(call.headers);
    let (reply, is_unchanged) = changed_since(call, known.as_ref(), request).await?;
    precondition::expect_match(required.as_ref(), "the list of keys", reply.revision)?;
    // An expired entry changes the list without a new revision until it is removed. Until then, one
    // tag would identify two lists.
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
    let required = precondition::if_match(call.headers)?;
    let known = precondition::if_none_match(call.headers);
    let (mut reply, is_unchanged) = changed_since(call, known.as_ref(), request).await?;
    precondition::expect_match(required.as_ref(), &call.key, reply.revision)?;
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
    let request = ToolRequest::new("write").with("key", Some(&call.key));
    let request = match media::of_body(call.headers)? {
        Some(Media::Json) => {
            let members = members_to_write(call.body)?;
            members.iter().fold(request, |it, (name, value)| it.with(name, Some(value)))
        }
        Some(Media::Text) => request.with("value", Some(body::text(call.body)?)),
        None => request.with("value", Some(untyped(call.body)?)),
    };
    let request = request.with("request_id", precondition::request_id(call.headers)?);
    let reply = on_condition(call, &request).await?;
    let is_new = reply.effect == Effect::Created;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let etag = precondition::etag(reply.revision);
    Ok(respond::with_header(respond::json(status, reply.body), ETAG, etag))
}

/// Returns the members of a body that is an object.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, which names the header for a member that is one over HTTP.
fn members_to_write(body: &[u8]) -> Result<Members<'_>, Failure> {
    let header = |name| match name {
        "if_version" | "if_revision" => Some("If-Match with the ETag, or If-None-Match: *"),
        "request_id" => Some("Idempotency-Key"),
        _ => None,
    };
    let members = Members::parse_any(body, r#"{"value":"analysis"}"#)?;
    if let Some((name, header)) = members.iter().find_map(|(name, _)| Some((name, header(name)?))) {
        return Err(Failure::new(
            "MALFORMED_REQUEST",
            format!("the body has no member {name}; over HTTP it is a header: send {header}"),
        ));
    }
    members.expect_known(&MEMBERS_TO_WRITE)?;
    members.raw_required("value")?;
    Ok(members)
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
    // A client that sends JSON may send an empty object.
    if !matches!(call.body.trim_ascii(), b"" | b"{}") {
        return Err(Failure::new(
            "MALFORMED_REQUEST",
            "DELETE of an entry takes no body; to delete only the version that you read, send its \
             ETag as If-Match",
        ));
    }
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
        let outcome = call.invoke(change(condition)).await;
        return outcome.map_err(|it| conditions.explain(it));
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
            let outcome = call.invoke(change(Condition::never())).await;
            return outcome.map_err(|it| conditions.explain(it));
        };
        attempts_left -= 1;
        match call.invoke(change(condition)).await {
            Err(failure) if failure.code == "VERSION_CONFLICT" && attempts_left > 0 => {}
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A member of the tool's `write` is in the path, a header or the body.
    #[test]
    fn the_body_of_a_put_takes_what_is_no_header() {
        let write = actions().find(|it| it.name == "write").unwrap();
        let elsewhere = ["key", "if_version", "if_revision", "request_id"];
        let in_body: Vec<_> = write.members().filter(|it| !elsewhere.contains(it)).collect();
        assert_eq!(in_body, MEMBERS_TO_WRITE);
    }
}
