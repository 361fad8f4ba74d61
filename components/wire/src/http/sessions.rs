//! The life of sessions, who takes part in them, and what is told of them.
//!
//! # Invariant
//!
//! A credential is minted only after the session itself answered the one who
//! asks for it, so that a void credential cannot beget a new one.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header::LOCATION};
use serde::{Deserialize, Serialize};
use shared_context_codec::{Credential, Failure, Reply};
use shared_context_core::{Participant, Role};

use super::{
    body::Members,
    call::{Call, ToolRequest, part},
    media, respond,
};
use crate::{
    Engine,
    credential::{AGENT_TTL_SECONDS, Grant, Minted, ORCHESTRATOR_TTL_SECONDS, TTL_SECONDS},
};

/// The number of sessions listed when the request does not say, and the most it
/// may ask for.
pub(crate) const SESSIONS_LISTED: u64 = 100;
pub(crate) const SESSIONS_LISTED_MAX: u64 = 1000;

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
    let minted = mint(call, &session, "orchestrator", ORCHESTRATOR_TTL_SECONDS, &reply)?;
    let location = HeaderValue::try_from(format!("/v1/sessions/{session}"));
    let body = respond::joined(reply.body, &issued(None, &minted)?);
    let response = respond::json(StatusCode::CREATED, body);
    Ok(match location {
        Ok(location) => respond::with_header(response, LOCATION, location),
        Err(_) => response,
    })
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

/// `GET /v1/sessions`: a page of sessions, in the order of their ids.
pub(crate) async fn list<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let limit = call.query.number("limit")?.unwrap_or(SESSIONS_LISTED);
    let limit = usize::try_from(limit)
        .ok()
        .filter(|_| (1..=SESSIONS_LISTED_MAX).contains(&limit))
        .ok_or_else(|| {
            let message = format!("limit must be from 1 to {SESSIONS_LISTED_MAX}");
            Failure::new("MALFORMED_REQUEST", message)
        })?;
    let mut ids = call.engine.sessions(call.query.text("after"), limit.saturating_add(1)).await?;
    let has_more = ids.len() > limit;
    ids.truncate(limit);
    let show = ToolRequest { action: "show_session", ..ToolRequest::default() };
    let mut body = b"{\"sessions\":[".to_vec();
    let mut separator: &[u8] = b"";
    for id in &ids {
        match call.invoke_on(id, &show).await {
            Ok(session) => {
                body.extend_from_slice(separator);
                body.extend_from_slice(&session.body);
                separator = b",";
            }
            // Deleted since it was listed.
            Err(failure) if failure.code == "SESSION_NOT_FOUND" => {}
            Err(failure) => return Err(failure),
        }
    }
    body.extend_from_slice(b"],\"next_after\":");
    match ids.last().filter(|_| has_more).map(serde_json::to_vec) {
        Some(Ok(last)) => body.extend_from_slice(&last),
        _ => body.extend_from_slice(b"null"),
    }
    body.push(b'}');
    Ok(respond::json(StatusCode::OK, body))
}

/// `GET`, `DELETE` and the steps `archive` and `revoke` of a session: the action
/// of the same meaning, which needs no more to be said.
pub(crate) async fn act<E: Engine>(
    call: &Call<'_, E>,
    action: &'static str,
) -> Result<Response<Bytes>, Failure> {
    let request = ToolRequest { action, ..ToolRequest::default() };
    Ok(respond::json(StatusCode::OK, call.invoke(&request).await?.body))
}

/// As [`act`], for a `POST`, whose body may be empty or `{}`.
pub(crate) async fn act_by_post<E: Engine>(
    call: &Call<'_, E>,
    action: &'static str,
) -> Result<Response<Bytes>, Failure> {
    if !call.body.is_empty() {
        media::expect_json(call.headers)?;
        Members::parse(call.body, &[], "{}, or no body at all")?;
    }
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
    Ok(respond::json(StatusCode::OK, call.invoke(&request).await?.body))
}
