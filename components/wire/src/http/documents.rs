//! What is told to anyone: that the server is up, what it understands, and how
//! to begin.

use bytes::Bytes;
use http::{Response, StatusCode};
use shared_context_codec::Failure;

use super::respond;
use crate::tools::{self, Format};

/// The `OpenAPI` document, as committed; a test keeps it equal to what the routes
/// and schemas give.
pub(crate) const OPENAPI: &str = include_str!("../../openapi.json");

/// The page at the root.
pub(crate) const WELCOME: &str = concat!(
    "shared-context ",
    env!("CARGO_PKG_VERSION"),
    r#": working memory that the agents of one session share.

To begin, create a session with the admin key. The answer holds the
orchestrator's credential:

  curl -X POST $URL/v1/sessions -H "Authorization: Bearer $ADMIN_KEY" \
    -H "Content-Type: application/json" -d '{"session_id":"ticket-7"}'

With that credential, agents read and write:

  curl $URL/v1/sessions/ticket-7/shared_context \
    -H "Authorization: Bearer $CREDENTIAL" \
    -H "Content-Type: application/json" -d '{"action":"list_keys"}'

GET /v1/tools?format=mcp    the tool's definition for agents (openai, anthropic)
GET /openapi.json           every route
GET /healthz                whether the server is up
GET /metrics                what it did, for Prometheus
"#
);

/// The answer of `/healthz`. `consistency` is a word of the host's own.
pub(crate) fn health(consistency: &str) -> Bytes {
    let version = env!("CARGO_PKG_VERSION");
    format!(r#"{{"status":"ok","version":"{version}","consistency":"{consistency}"}}"#).into()
}

/// `GET /v1/tools`: the definition of the tool in the words of `format`.
pub(crate) fn tools(format: Option<&str>) -> Result<Response<Bytes>, Failure> {
    let format = match format {
        None | Some("mcp") => Format::Mcp,
        Some("openai") => Format::OpenAi,
        Some("anthropic") => Format::Anthropic,
        Some(_) => {
            return Err(Failure::new(
                "MALFORMED_REQUEST",
                "format must be mcp, openai or anthropic",
            ));
        }
    };
    Ok(respond::json(StatusCode::OK, tools::definition(format)))
}
