//! The entries of a session: as resources, and through the JSON tool.

use bytes::Bytes;
use http::{Response, StatusCode, header::ETAG};
use serde::Deserialize;
use shared_context_codec::Failure;

use super::{
    body::Members,
    call::{Call, ToolRequest, Value, part},
    media::{self, Media},
    precondition, respond,
};
use crate::Engine;

/// `POST …/shared_context`: the JSON tool, its request passed on unread.
pub(crate) async fn call_tool<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    media::expect_json(call.headers)?;
    let reply = call.invoke_bytes(&call.session, call.body).await?;
    Ok(respond::json(StatusCode::OK, reply.body))
}

/// `GET …/entries`.
pub(crate) async fn list<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    read_with(call, &ToolRequest { action: "list_keys", ..ToolRequest::default() }).await
}

/// `GET …/entries/{key}`.
pub(crate) async fn read<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let key = Some(call.key.as_ref());
    read_with(call, &ToolRequest { action: "read", key, ..ToolRequest::default() }).await
}

async fn read_with<E: Engine>(
    call: &Call<'_, E>,
    request: &ToolRequest<'_>,
) -> Result<Response<Bytes>, Failure> {
    let reply = call.invoke(request).await?;
    let response = if precondition::is_unchanged(call.headers, reply.revision) {
        respond::empty(StatusCode::NOT_MODIFIED)
    } else {
        respond::json(StatusCode::OK, reply.body)
    };
    Ok(respond::with_header(response, ETAG, precondition::etag(reply.revision)))
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
        Some(Media::Text) | None => Value::Text(text(call.body)?),
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
    let reply = call.invoke(&request).await?;
    Ok(respond::json(StatusCode::OK, reply.body))
}

fn text(body: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(body).map_err(|error| {
        let at = error.valid_up_to();
        Failure::new(
            "MALFORMED_REQUEST",
            format!("the body is not UTF-8 at byte {at}; an entry's value is text in UTF-8"),
        )
    })
}
