//! `POST …/memory`: Anthropic's client-side memory tool, of the crate `memory-tool`.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::{Map, Value};
use shared_context_codec::{Failure, Reply};
use shared_context_memory_tool::{self as memory_tool, Store};

use super::{
    body,
    call::{Call, invalid_reply},
    media, precondition, respond,
};
use crate::Engine;

/// Description of the expected body.
const EXPECTED_BODY: &str =
    r#"the input of a tool_use block, for example {"command":"view","path":"/memories"}"#;

/// Performs one command. The response has the content of the `tool_result` block, or only its text
/// if the client accepts nothing else. Errors that the agent can correct are returned in it, with
/// status 200.
pub(crate) async fn answer<E: Engine>(call: &Call<'_, E>) -> Result<Response<Bytes>, Failure> {
    media::expect_json(call.headers)?;
    precondition::expect_none(call.headers)?;
    precondition::expect_no_request_id(call.headers)?;
    let input: Map<String, Value> =
        serde_json::from_str(body::document(call.body, EXPECTED_BODY)?.get()).map_err(|_| {
            Failure::new(
                "MALFORMED_REQUEST",
                format!("the body is not a JSON object; send {EXPECTED_BODY}"),
            )
        })?;
    let answer = memory_tool::answer(call, &input).await?;
    if media::wants_text(call.headers) {
        return Ok(respond::with_body(StatusCode::OK, media::TEXT, answer.content));
    }
    let body = serde_json::to_vec(&answer).map_err(|_| invalid_reply())?;
    Ok(respond::json(StatusCode::OK, body))
}

impl<E: Engine> Store for Call<'_, E> {
    async fn invoke(&self, request: &[u8]) -> Result<Reply, Failure> {
        self.invoke_bytes(request).await
    }
}
