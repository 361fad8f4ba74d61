//! Creation of sessions, and credentials of their participants.

use bytes::Bytes;
use http::{
    Response, StatusCode,
    header::{AUTHORIZATION, LOCATION},
};
use serde::Serialize;
use shared_context_codec::{Failure, Reply};

use super::{
    body::Members,
    call::{Call, invalid_reply, scope},
    media, precondition, respond,
    tool::ToolRequest,
};
use crate::{
    Engine,
    credential::Minted,
    mint::{self, Invitation},
};

/// `POST /v1/sessions`: creates a session and returns the orchestrator's credential.
pub(crate) async fn create<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    media::expect_json(call.headers)?;
    precondition::expect_none(call.headers)?;
    let known = ["session_id", "config"];
    let members = Members::parse(call.body, &known, r#"{"session_id":"ticket-7"}"#)?;
    let session = members.text("session_id")?;
    let request = ToolRequest::new("create_session")
        .with("config", members.raw("config"))
        .with("request_id", precondition::request_id(call.headers)?);
    let reply = call.invoke_on(&scope(&session), request).await?;
    creation_response(call, &session, reply).await
}

/// Builds the response for the new `session`, with its orchestrator's credential.
pub(crate) async fn creation_response<E: Engine>(
    call: &Call<'_, E>,
    session: &str,
    reply: Reply,
) -> Result<Response<Bytes>, Failure> {
    #[derive(Serialize)]
    struct CredentialMembers {
        credential: String,
        expires_at: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        project: Option<String>,
    }
    let minted = mint::mint_orchestrator(call.engine, call.keys, session, &reply).await?;
    let (Minted { credential, expires_at }, project) = minted;
    let members = json(&CredentialMembers { credential, expires_at, project })?;
    let body = respond::merge_objects(reply.body, &members);
    let response = respond::json(StatusCode::CREATED, body);
    Ok(respond::with_text(response, LOCATION, format!("/v1/sessions/{session}")))
}

/// `POST …/credentials`: returns a participant's credential.
pub(crate) async fn mint_credential<E: Engine>(
    call: &Call<'_, E>,
) -> Result<Response<Bytes>, Failure> {
    media::expect_json(call.headers)?;
    precondition::expect_none(call.headers)?;
    let known = ["participant", "ttl_seconds", "keys", "tools", "packet_task"];
    let members = Members::parse(call.body, &known, r#"{"participant":"subagent:analysis"}"#)?;
    let invitation = Invitation {
        participant: members.text("participant")?,
        ttl_seconds: members.number("ttl_seconds")?,
        keys: members.texts("keys")?,
        tools: members.texts("tools")?,
        packet_task: members.text_if_any("packet_task")?,
    };
    let (engine, keys) = (call.engine, call.keys);
    let shown = call.headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    let shown = shown.unwrap_or_default();
    let issued = mint::invite(engine, keys, &call.session, &call.caller, shown, invitation).await?;
    Ok(respond::json(StatusCode::CREATED, json(&issued)?))
}

fn json(it: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(it).map_err(|_| invalid_reply())
}
