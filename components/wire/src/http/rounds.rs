//! The rounds of a session, the state they agree on, and the deltas they did that
//! with.

use bytes::Bytes;
use http::{Response, StatusCode};
use shared_context_codec::{Failure, Reply};

use super::{
    body::Members,
    call::{Call, ToolRequest},
    media, precondition, respond,
};
use crate::Engine;

/// The members of a request to open a round.
pub(crate) const OPEN: [&str; 5] = ["query", "weights", "strategies", "clip", "bytes_max"];

/// The members of a request to close a round.
pub(crate) const CLOSE: [&str; 2] = ["clip", "discard"];

/// The members of a request to redact rounds.
pub(crate) const REDACT: [&str; 2] = ["text", "reason"];

/// `GET …/rounds`: those that ended, with how much each changed.
pub(crate) async fn list<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    call.answer(&ToolRequest { action: "convergence", ..ToolRequest::default() }).await
}

/// `POST …/rounds`. Who wants all as it is by itself sends no body.
pub(crate) async fn open<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let reply = change(call, "open_round", &OPEN, r#"{"clip":"reject"}"#).await?;
    Ok(respond::json(StatusCode::CREATED, reply.body))
}

/// `POST …/rounds/deltas`: to the round that is open.
pub(crate) async fn propose<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    const EXAMPLE: &str = r#"{"deltas":[{"operation":"add","path":"$.bindings.customer","value":"sea:customer:001","provenance":"matched by lookup"}]}"#;
    let reply = change(call, "propose_deltas", &["deltas"], EXAMPLE).await?;
    Ok(respond::json(StatusCode::CREATED, reply.body))
}

/// `POST …/rounds/close`: the round that is open.
pub(crate) async fn close<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let reply = change(call, "close_round", &CLOSE, r#"{"discard":true}"#).await?;
    Ok(respond::json(StatusCode::OK, reply.body))
}

/// `POST …/rounds/redact`.
pub(crate) async fn redact<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    const EXAMPLE: &str = r#"{"text":"sk-live-51H","reason":"an API key"}"#;
    let reply = change(call, "redact_rounds", &REDACT, EXAMPLE).await?;
    Ok(respond::json(StatusCode::OK, reply.body))
}

/// `GET …/rounds/state`: as it is, or was after a round.
pub(crate) async fn read_state<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let round = call.query.number("round")?;
    call.answer(&ToolRequest { action: "read_state", round, ..ToolRequest::default() }).await
}

/// `GET …/rounds/deltas`.
pub(crate) async fn read_deltas<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    let request = ToolRequest {
        action: "read_deltas",
        path: call.query.text("path"),
        round: call.query.number("round")?,
        after: call.query.text("after"),
        limit: call.query.number("limit")?,
        ..ToolRequest::default()
    };
    call.answer(&request).await
}

/// Has `action` done, which takes the members `known` of the body, or none.
async fn change<E: Engine>(
    call: &Call<'_, E>,
    action: &'static str,
    known: &[&str],
    example: &'static str,
) -> Result<Reply, Failure> {
    precondition::expect_none(call.headers)?;
    let members = if call.body.is_empty() {
        None
    } else {
        media::expect_json(call.headers)?;
        Some(Members::parse(call.body, known, example)?)
    };
    let request = ToolRequest {
        action,
        members: members.as_ref(),
        request_id: precondition::request_id(call.headers)?,
        ..ToolRequest::default()
    };
    call.invoke(&request).await
}
