//! The snapshots of a session as resources, by label.

use bytes::Bytes;
use http::{Response, StatusCode, header::LOCATION};
use serde::Deserialize;
use shared_context_codec::Failure;

use super::{
    body::{self, Members},
    call::{Call, ToolRequest, part},
    media, respond,
};
use crate::Engine;

/// `POST …/snapshots`.
pub(crate) async fn take<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    #[derive(Deserialize)]
    struct Taken<'b> {
        label: &'b str,
    }
    media::expect_json(call.headers)?;
    let members = Members::parse(call.body, &["label", "note"], r#"{"label":"pre_approval"}"#)?;
    let request =
        ToolRequest { action: "snapshot", members: Some(&members), ..ToolRequest::default() };
    let reply = call.invoke(&request).await?;
    let Taken { label } = part(&reply)?;
    let location = format!("/v1/sessions/{}/snapshots/{label}", call.session);
    Ok(respond::with_text(respond::json(StatusCode::CREATED, reply.body), LOCATION, location))
}

/// `GET …/snapshots/{label}`, and `…/entries/{key}` of it.
///
/// Neither has an entity tag: a redaction changes what a snapshot holds and not
/// the revisions it was written at.
pub(crate) async fn read<E: Engine>(
    call: &Call<'_, E>,
    key: Option<&str>,
) -> Result<Response<Bytes>, Failure> {
    call.answer(&ToolRequest { key, ..about(call, "read_snapshot") }).await
}

/// `DELETE …/snapshots/{label}`.
pub(crate) async fn delete<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    call.answer(&about(call, "delete_snapshot")).await
}

/// `GET …/snapshots/{label}/diff`: what differs in another one, or now.
pub(crate) async fn diff<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let request = ToolRequest {
        action: "diff_snapshots",
        from: Some(&call.label),
        to: call.query.text("to"),
        ..ToolRequest::default()
    };
    call.answer(&request).await
}

/// `POST …/snapshots/{label}/restore`.
pub(crate) async fn restore<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    body::expect_none(call.headers, call.body)?;
    call.answer(&about(call, "restore_snapshot")).await
}

/// The request to do `action` with the snapshot in the path.
fn about<'r, E>(call: &'r Call<'_, E>, action: &'static str) -> ToolRequest<'r> {
    ToolRequest { action, label: Some(&call.label), ..ToolRequest::default() }
}
