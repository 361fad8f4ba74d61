//! Export and import of sessions as documents, and import of projects. The tool defines and
//! validates the documents.

use std::borrow::Cow;

use bytes::Bytes;
use http::{Response, StatusCode, header::CONTENT_DISPOSITION};
use serde::Deserialize;
use serde_json::value::RawValue;
use shared_context_codec::Failure;

use super::{
    body,
    call::{Call, scope},
    media, precondition, respond, sessions,
    tool::ToolRequest,
};
use crate::Engine;

/// Description of the expected body.
const EXPECTED_BODY: &str =
    "the document that GET /v1/sessions/{session}/export answered, as it came";

/// `GET …/export`: the document, as a file to save.
pub(crate) async fn export<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let reply = call.invoke(ToolRequest::new("export_session")).await?;
    let response = respond::json(StatusCode::OK, reply.body);
    let disposition = format!("attachment; filename=\"{}.json\"", call.session);
    Ok(respond::with_text(response, CONTENT_DISPOSITION, disposition))
}

/// `POST /v1/sessions/import`: creates a session from a document, under its own id or another one,
/// and returns the orchestrator's credential.
pub(crate) async fn import<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    media::expect_json(call.headers)?;
    precondition::expect_none(call.headers)?;
    let document = body::document(call.body, EXPECTED_BODY)?;
    let session = match call.query.text("session_id") {
        Some(session) => Cow::from(session),
        None => session_id_in(document)?.into(),
    };
    let request = ToolRequest::new("import_session")
        .with("document", Some(document))
        .with("request_id", precondition::request_id(call.headers)?);
    let reply = call.invoke_on(&scope(&session), request).await?;
    sessions::creation_response(call, &session, reply).await
}

/// `POST …/import`: creates a project from a document, or adds the next one of several.
pub(crate) async fn import_project<E: Engine>(
    call: &Call<'_, E>,
) -> Result<Response<Bytes>, Failure> {
    media::expect_json(call.headers)?;
    precondition::expect_none(call.headers)?;
    let expected = "the document that GET /v1/projects/{project}/export answered, as it came";
    let document = body::document(call.body, expected)?;
    let request = ToolRequest::new("import_project")
        .with("document", Some(document))
        .with("request_id", precondition::request_id(call.headers)?);
    let reply = call.invoke(request).await?;
    Ok(respond::json(StatusCode::CREATED, reply.body))
}

/// Returns the session id in `document`.
fn session_id_in(document: &RawValue) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct DocumentId {
        session_id: String,
    }
    let id: Result<DocumentId, _> = serde_json::from_str(document.get());
    id.map(|it| it.session_id).map_err(|_| {
        Failure::new(
            "MALFORMED_REQUEST",
            format!("the body names no session_id; send {EXPECTED_BODY}"),
        )
    })
}
