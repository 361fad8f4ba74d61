//! The life of sessions, who takes part in them, and what is told of them.
//!
//! # Invariant
//!
//! A credential is minted only after the session itself answered the one who
//! asks for it, so that a void credential cannot beget a new one.

use bytes::Bytes;
use http::{Response, StatusCode, header::LOCATION};
use serde::{Deserialize, Serialize};
use shared_context_codec::{Credential, Failure, Reply};
use shared_context_core::{Participant, Role};

use super::{
    body::{self, Members},
    call::{Call, ToolRequest, part},
    media, respond,
};
use crate::{
    Engine,
    credential::{AGENT_TTL_SECONDS, Grant, Minted, ORCHESTRATOR_TTL_SECONDS, TTL_SECONDS},
};

/// What a credential needs to know of its session.
#[derive(Deserialize)]
struct Epoch {
    incarnation: u64,
    credential_epoch: u64,
}

/// A new credential, as it is handed out.
#[derive(Serialize)]
struct Issued<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    participant: Option<&'r str>,
    credential: &'r str,
    expires_at: &'r str,
}

/// `POST /v1/sessions`: creates a session and hands out the orchestrator's
/// credential.
pub(crate) async fn create<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    media::expect_json(call.headers)?;
    let known = ["session_id", "config"];
    let members = Members::parse(call.body, &known, r#"{"session_id":"ticket-7"}"#)?;
    let session = members.text("session_id")?;
    let config = members.raw("config");
    let request = ToolRequest { action: "create_session", config, ..ToolRequest::default() };
    let reply = call.invoke_on(&session, &request).await?;
    created(call, &session, reply)
}

/// Tells of `session`, which was created as `reply` says, and hands out its
/// orchestrator's credential.
pub(crate) fn created<E: Engine>(
    call: &Call<'_, E>,
    session: &str,
    reply: Reply,
) -> Result<Response<Bytes>, Failure> {
    let minted = mint(call, session, "orchestrator", ORCHESTRATOR_TTL_SECONDS, &reply)?;
    let body = respond::joined(reply.body, &issued(None, &minted)?);
    let response = respond::json(StatusCode::CREATED, body);
    Ok(respond::with_text(response, LOCATION, format!("/v1/sessions/{session}")))
}

/// `POST …/participants`: hands out a participant's credential.
pub(crate) async fn mint_credential<E: Engine>(
    call: &Call<'_, E>,
) -> Result<Response<Bytes>, Failure> {
    media::expect_json(call.headers)?;
    let known = ["participant", "ttl_seconds"];
    let members = Members::parse(call.body, &known, r#"{"participant":"subagent:analysis"}"#)?;
    let participant = members.text("participant")?;
    let role = match Participant::parse(&participant) {
        Ok(participant) => participant.role(),
        Err(error) => return Err(Failure::new("MALFORMED_REQUEST", error.to_string())),
    };
    let ttl_seconds = match members.number("ttl_seconds")? {
        Some(seconds) if TTL_SECONDS.contains(&seconds) => seconds,
        Some(_) => {
            let (from, to) = TTL_SECONDS.into_inner();
            let message = format!("ttl_seconds must be from {from} to {to} (30 days)");
            return Err(Failure::new("MALFORMED_REQUEST", message));
        }
        None if role == Role::Orchestrator => ORCHESTRATOR_TTL_SECONDS,
        None => AGENT_TTL_SECONDS,
    };
    let show = ToolRequest { action: "show_session", ..ToolRequest::default() };
    let session = call.invoke(&show).await?;
    may_mint(&call.caller.participant, role)?;
    let minted = mint(call, &call.session, &participant, ttl_seconds, &session)?;
    Ok(respond::json(StatusCode::CREATED, issued(Some(&participant), &minted)?))
}

/// Who lets whom take part.
fn may_mint(caller: &str, role: Role) -> Result<(), Failure> {
    let message = match (caller, role) {
        (_, Role::Admin) => "the admin has no credential: use the server's admin key",
        ("admin", _) | ("orchestrator", Role::Agent) => return Ok(()),
        ("orchestrator", Role::Orchestrator) => {
            "an orchestrator mints credentials of subagents only; ask the operator for one of \
             the orchestrator"
        }
        _ => "a subagent mints no credentials; ask the orchestrator for one",
    };
    Err(Failure::new("FORBIDDEN", message))
}

fn mint<E: Engine>(
    call: &Call<'_, E>,
    session: &str,
    participant: &str,
    ttl_seconds: u64,
    reply: &Reply,
) -> Result<Minted, Failure> {
    let Epoch { incarnation, credential_epoch: epoch } = part(reply)?;
    let grant = Grant {
        session: session.to_owned(),
        participant: participant.to_owned(),
        credential: Credential { incarnation, epoch },
    };
    call.keys.mint(&grant, call.engine.now(), ttl_seconds)
}

fn issued(participant: Option<&str>, minted: &Minted) -> Result<Vec<u8>, Failure> {
    let Minted { credential, expires_at } = minted;
    serde_json::to_vec(&Issued { participant, credential, expires_at }).map_err(|_| {
        Failure::new("INTERNAL", "the credential could not be written down; try again")
    })
}

/// What needs no more to be said than which action it is.
pub(crate) async fn act<E: Engine>(
    call: &Call<'_, E>,
    action: &'static str,
) -> Result<Response<Bytes>, Failure> {
    call.answer(&ToolRequest { action, ..ToolRequest::default() }).await
}

/// As [`act`], for a `POST`, whose body may be empty or `{}`.
pub(crate) async fn act_by_post<E: Engine>(
    call: &Call<'_, E>,
    action: &'static str,
) -> Result<Response<Bytes>, Failure> {
    body::expect_none(call.headers, call.body)?;
    act(call, action).await
}

/// `GET …/prompt`: text for a system prompt, bare when only text is accepted.
pub(crate) async fn render_prompt<E: Engine>(
    call: &Call<'_, E>,
) -> Result<Response<Bytes>, Failure> {
    #[derive(Deserialize)]
    struct Rendered {
        text: String,
    }
    let request = ToolRequest {
        action: "prompt",
        participant: call.query.text("participant"),
        max_tokens: call.query.number("max_tokens")?,
        ..ToolRequest::default()
    };
    let reply = call.invoke(&request).await?;
    if media::wants_text(call.headers) {
        let Rendered { text } = part(&reply)?;
        return Ok(respond::with_body(StatusCode::OK, media::TEXT, text));
    }
    Ok(respond::json(StatusCode::OK, reply.body))
}

/// `GET …/audit`: what was changed by whom.
pub(crate) async fn read_audit<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let request = ToolRequest {
        action: "audit",
        since: call.query.number("since")?,
        limit: call.query.number("limit")?,
        ..ToolRequest::default()
    };
    call.answer(&request).await
}
