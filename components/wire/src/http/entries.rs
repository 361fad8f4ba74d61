//! The entries of a session: as resources, and through the JSON tool.

use bytes::Bytes;
use http::{Response, StatusCode, header::ETAG};
use serde::Deserialize;
use shared_context_codec::{Failure, Reply};

use super::{
    body::{self, Members},
    call::{Call, ToolRequest, Value, part},
    media::{self, Media},
    precondition::{self, Known},
    respond,
};
use crate::Engine;

/// `POST …/shared_context`: the JSON tool, its request passed on unread.
pub(crate) async fn call_tool<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    media::expect_json(call.headers)?;
    if call.body.is_empty() {
        return Err(Failure::new(
            "MALFORMED_REQUEST",
            r#"the body is empty, it must be a JSON object; for example {"action":"list_keys"}"#,
        ));
    }
    let reply = call.invoke_bytes(&call.session, call.body).await?;
    Ok(respond::json(StatusCode::OK, reply.body))
}

/// `GET …/entries`. Its tag is the session's revision.
pub(crate) async fn list<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let known = precondition::known(call.headers);
    let request = ToolRequest {
        action: "list_keys",
        prefix: call.query.text("prefix"),
        if_changed_since: known.revision(),
        ..ToolRequest::default()
    };
    let reply = call.invoke(&request).await?;
    // What expires changes the list without a revision of its own, until it is
    // removed: meanwhile a tag would name two lists.
    let is_settled = reply.next_expiry_ms.is_none_or(|at| at > call.engine.now().0);
    let etag = precondition::etag(reply.revision);
    let response = unless(has_it(known, &reply)?, reply);
    Ok(if is_settled { respond::with_header(response, ETAG, etag) } else { response })
}

/// `GET …/entries/{key}`. Its tag is the revision it was written at.
pub(crate) async fn read<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let request = |if_changed_since| ToolRequest {
        action: "read",
        key: Some(&call.key),
        if_changed_since,
        ..ToolRequest::default()
    };
    let known = precondition::known(call.headers);
    let mut reply = call.invoke(&request(known.revision())).await?;
    let mut has_it = has_it(known, &reply)?;
    if has_it && known.revision().is_some_and(|it| it != reply.revision) {
        // It did not change since, but the reader's tag is not its.
        has_it = false;
        reply = call.invoke(&request(None)).await?;
    }
    let etag = precondition::etag(reply.revision);
    Ok(respond::with_header(unless(has_it, reply), ETAG, etag))
}

/// Whether a reader has what was asked for: who can change it, and when it
/// expires, included, which only the session can tell.
fn has_it(known: Known, reply: &Reply) -> Result<bool, Failure> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        unchanged: bool,
    }
    Ok(match known {
        Known::Nothing => false,
        Known::Anything => true,
        Known::At(_) => part::<Answer>(reply)?.unchanged,
    })
}

/// What was read, unless the reader has it.
fn unless(has_it: bool, reply: Reply) -> Response<Bytes> {
    if has_it {
        respond::empty(StatusCode::NOT_MODIFIED)
    } else {
        respond::json(StatusCode::OK, reply.body)
    }
}

/// `GET …/entries/{key}/history`.
pub(crate) async fn read_history<E: Engine>(
    call: &Call<'_, E>,
) -> Result<Response<Bytes>, Failure> {
    let request = ToolRequest {
        action: "read_history",
        key: Some(&call.key),
        versions: call.query.numbers("versions")?,
        ..ToolRequest::default()
    };
    call.answer(&request).await
}

/// `PUT …/entries/{key}/access`: who may read and write it. A list that is not
/// sent stays.
pub(crate) async fn set_access<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let known = ["readable_by", "writable_by"];
    change(call, "set_access", &known, r#"{"writable_by":["orchestrator"]}"#).await
}

/// `POST …/entries/{key}/redact`.
pub(crate) async fn redact<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    change(call, "redact", &["reason", "revision"], r#"{"reason":"a password"}"#).await
}

/// Has the entry changed by `action`, which takes the members `known` of the
/// body.
async fn change<E: Engine>(
    call: &Call<'_, E>,
    action: &'static str,
    known: &[&str],
    example: &'static str,
) -> Result<Response<Bytes>, Failure> {
    media::expect_json(call.headers)?;
    precondition::expect_none(call.headers)?;
    let members = Members::parse(call.body, known, example)?;
    let request = ToolRequest {
        action,
        key: Some(&call.key),
        members: Some(&members),
        ..ToolRequest::default()
    };
    call.answer(&request).await
}

/// `PUT …/entries/{key}`: 201 when the key is new, 200 when it was overwritten.
pub(crate) async fn write<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    #[derive(Deserialize)]
    struct Written {
        version: u64,
    }
    let value = match media::of_body(call.headers)? {
        Some(Media::Json) => {
            let members = Members::parse(call.body, &["value"], r#"{"value":"analysis"}"#)?;
            Value::Json(members.raw_required("value")?)
        }
        Some(Media::Text) | None => Value::Text(body::text(call.body)?),
    };
    let condition = precondition::of_write(call.headers)?;
    let request = ToolRequest {
        action: "write",
        key: Some(&call.key),
        value: Some(value),
        if_version: condition.if_version,
        if_revision: condition.if_revision,
        request_id: precondition::request_id(call.headers)?,
        ..ToolRequest::default()
    };
    let reply = call.invoke(&request).await?;
    let status = match part(&reply)? {
        Written { version: 1 } => StatusCode::CREATED,
        Written { .. } => StatusCode::OK,
    };
    let etag = precondition::etag(reply.revision);
    Ok(respond::with_header(respond::json(status, reply.body), ETAG, etag))
}

/// `DELETE …/entries/{key}`.
pub(crate) async fn delete<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let condition = precondition::of_delete(call.headers)?;
    let request = ToolRequest {
        action: "delete",
        key: Some(&call.key),
        if_revision: condition.if_revision,
        request_id: precondition::request_id(call.headers)?,
        ..ToolRequest::default()
    };
    call.answer(&request).await
}
