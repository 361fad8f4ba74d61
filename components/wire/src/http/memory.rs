//! `POST …/memory`: Anthropic's client-side memory tool, of the crate `memory-tool`.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::{Map, Value, value::RawValue};
use shared_context_codec::{Failure, Reply};
use shared_context_core::syntax::syntax_error;
use shared_context_memory_tool::{self as memory_tool, Store};

use super::{
    body::Members,
    call::{Call, invalid_reply},
    media, precondition, respond,
};
use crate::Engine;

/// Body for error messages: the input of a `tool_use` block.
const EXAMPLE: &str = r#"{"command":"view","path":"/memories"}, the input of a tool_use block"#;

/// Performs one command. The response has the content of the `tool_result` block, or only its text
/// if the client accepts nothing else. Errors that the agent can correct are returned in it, with
/// status 200.
pub(crate) async fn answer<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    media::expect_json(call.headers)?;
    precondition::expect_none(call.headers)?;
    precondition::expect_no_request_id(call.headers)?;
    let members = Members::parse_any(call.body, EXAMPLE)?;
    let input: Map<String, Value> = members.iter().map(value).collect::<Result<_, _>>()?;
    let answer = memory_tool::answer(call, &input).await?;
    if media::wants_text(call.headers) {
        return Ok(respond::with_body(StatusCode::OK, media::TEXT, answer.content));
    }
    let body = serde_json::to_vec(&answer).map_err(|_| invalid_reply())?;
    Ok(respond::json(StatusCode::OK, body))
}

/// Parses the value of a member.
fn value((name, sent): (&str, &RawValue)) -> Result<(String, Value), Failure> {
    let parsed = serde_json::from_str(sent.get()).map_err(|error| {
        Failure::new("MALFORMED_REQUEST", format!("the member {name}: {}", syntax_error(&error)))
    })?;
    Ok((name.to_owned(), parsed))
}

impl<E: Engine> Store for Call<'_, E> {
    async fn invoke(&self, request: &[u8]) -> Result<Reply, Failure> {
        self.invoke_bytes(request).await
    }
}
