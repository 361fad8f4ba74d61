//! Public documents: health, the welcome page, API and tool descriptions.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use shared_context_codec::Failure;
use shared_context_core::Role;

use super::{options::Consistency, query::Query, respond};
use crate::tools::{self, Format};

/// The `OpenAPI` document, as committed. A test compares it with the routes and schemas.
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

POST /mcp                   the same for agents that speak MCP
GET /v1/tools?format=openai its definition for function calling (or anthropic)
GET /openapi.json           every route
GET /healthz                whether the server is up and takes changes
GET /metrics                what it did, for Prometheus (not on every host)
"#
);

/// Warning for operators of storage where the last of two concurrent writes wins.
const CAUTION: &str = "When two requests change one session at the same moment, both may be told \
     that they did, and the change of one be lost. Where that matters, give one session one writer \
     at a time, or run the server over SQLite. A project has at most 1 MiB here: one that is to \
     keep more memories needs SQLite as well.";

/// Builds the response of `/healthz`: a status for programs, and a warning for people where the
/// storage may lose changes. `failure` is the reason why the storage is unreliable.
pub(crate) fn health(
    consistency: Consistency,
    failure: Option<&'static str>,
) -> Result<Response<Bytes>, Failure> {
    #[derive(Serialize)]
    struct Health {
        status: &'static str,
        version: &'static str,
        consistency: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        caution: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'static str>,
    }
    let (consistency, caution) = match consistency {
        Consistency::Linearizable => ("linearizable", None),
        Consistency::LastWriteWins => ("last-write-wins", Some(CAUTION)),
    };
    let (code, status) = match failure {
        None => (StatusCode::OK, "ok"),
        Some(_) => (StatusCode::SERVICE_UNAVAILABLE, "failing"),
    };
    let version = env!("CARGO_PKG_VERSION");
    let health = Health { status, version, consistency, caution, reason: failure };
    let body = serde_json::to_vec(&health).map_err(|_| super::invalid_reply())?;
    Ok(respond::json(code, body))
}

/// `GET /v1/tools`: the definitions of the tools for agents of a role, in the notation of a vendor.
pub(crate) fn tools(query: &Query<'_>) -> Result<Response<Bytes>, Failure> {
    let format = match query.text("format") {
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
    let role = match query.text("role") {
        None | Some("orchestrator") => Role::Orchestrator,
        Some("agent") => Role::Agent,
        Some(_) => {
            return Err(Failure::new("MALFORMED_REQUEST", "role must be agent or orchestrator"));
        }
    };
    Ok(respond::json(StatusCode::OK, tools::definition(format, role)))
}

/// Builds the metadata of the protected resource `/mcp` at `url` (RFC 9728 §2). There is no
/// authorization server: credentials come from the operator and from orchestrators.
pub(crate) fn resource_metadata(url: &str) -> Result<Bytes, Failure> {
    #[derive(Serialize)]
    struct Metadata {
        resource: String,
        resource_name: &'static str,
        bearer_methods_supported: [&'static str; 1],
        resource_documentation: String,
    }
    let metadata = Metadata {
        resource: format!("{url}/mcp"),
        resource_name: "shared-context",
        bearer_methods_supported: ["header"],
        resource_documentation: format!("{url}/"),
    };
    serde_json::to_vec(&metadata).map(Into::into).map_err(|_| super::invalid_reply())
}
