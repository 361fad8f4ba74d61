//! Documentation of each operation: texts, bodies and examples that the table of routes does not
//! have. This file contains the public operations.

use serde_json::{Map, Value, json};

use super::{
    acts, changes, entries, mcp, memory,
    parts::{body, response},
    portable,
    schemas::reference,
    sessions,
};
use crate::http::table::Endpoint;

/// Documentation of one operation.
#[derive(Default)]
pub(super) struct OperationDoc {
    pub(super) id: &'static str,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    /// Request headers that it reads.
    pub(super) headers: &'static [&'static str],
    pub(super) request: Option<Value>,
    /// Responses of success.
    pub(super) responses: Map<String, Value>,
    /// Error codes besides those of all operations of its kind.
    pub(super) codes: &'static [&'static str],
    /// True if its conditions are headers.
    pub(super) is_conditional: bool,
    /// True if the session allows it only to the operator.
    pub(super) is_admins: bool,
}

pub(super) const DESCRIPTION: &str = "Short texts under flat keys, with versions, limits and \
conditional writes. Every response carries X-Request-Id, taken from the request where it sends a \
sane one, and passes on a valid traceparent. Paths have one form: percent-encode what is not \
unreserved, no slash at the end. Unknown members and query parameters are refused by name. HEAD \
answers as GET without the body, OPTIONS with the methods that can be used.";

const TOOLS: &str = "The strict forms, openai and anthropic, hold the everyday part of \
shared_context: the program that has the model sends the arguments of a call as they are to POST \
/v1/sessions/{session}/shared_context, null for what is absent included, and mints credentials \
for subagents by itself. OpenAI's Responses API takes what is in function beside type.";

const METRICS: &str = "Hosts that keep nothing between requests have none: what is measured there \
is measured by the platform that runs them.";

/// Returns the documentation of `endpoint`.
pub(super) fn about(endpoint: Endpoint) -> OperationDoc {
    match endpoint {
        Endpoint::Welcome
        | Endpoint::Health
        | Endpoint::Metrics
        | Endpoint::OpenApi
        | Endpoint::Tools => open(endpoint),
        Endpoint::Mcp | Endpoint::McpStream | Endpoint::McpEnd | Endpoint::ResourceMetadata => {
            mcp::about(endpoint)
        }
        Endpoint::CreateSession
        | Endpoint::ListSessions
        | Endpoint::ListProjects
        | Endpoint::MintCredential => sessions::about(endpoint),
        Endpoint::ExportSession | Endpoint::ImportSession | Endpoint::ImportProject => {
            portable::about(endpoint)
        }
        Endpoint::CallTool
        | Endpoint::CallProjectTool
        | Endpoint::ListEntries
        | Endpoint::ReadEntry
        | Endpoint::WriteEntry
        | Endpoint::DeleteEntry => entries::about(endpoint),
        Endpoint::ActionRoute(act) => acts::about(act),
        Endpoint::UseMemory => memory::about(),
        Endpoint::ReadChanges => changes::about(),
        Endpoint::ReadProjectChanges => changes::about_projects(),
    }
}

fn open(endpoint: Endpoint) -> OperationDoc {
    let text = |media_type: &str| json!({media_type: {"schema": {"type": "string"}}});
    let (id, summary, content) = match endpoint {
        Endpoint::Health => (
            "check_health",
            "Tell whether the server is up and takes changes.",
            body(
                reference("health"),
                json!({"status": "ok", "version": "0.1.0", "consistency": "linearizable"}),
            ),
        ),
        Endpoint::Metrics => (
            "read_metrics",
            "Read what the server did, for Prometheus. Tells of no session.",
            text("application/openmetrics-text"),
        ),
        Endpoint::OpenApi => (
            "read_openapi",
            "Read this document.",
            json!({"application/json": {"schema": {"type": "object"}}}),
        ),
        Endpoint::Tools => (
            "list_tools",
            "Read the definitions of the tools, to give to an agent.",
            json!({"application/json": {"schema": reference("tools")}}),
        ),
        _ => ("read_welcome", "Read how to begin.", text("text/plain")),
    };
    let (description, codes): (_, &[_]) = match endpoint {
        Endpoint::Tools => (TOOLS, &[]),
        Endpoint::Metrics => (METRICS, &["NOT_FOUND"]),
        _ => ("", &[]),
    };
    let mut responses = response("200", "As asked.", content, &[]);
    if endpoint == Endpoint::Health {
        let failing = json!({
            "status": "failing", "version": "0.1.0", "consistency": "linearizable",
            "reason": "the disk is full: changes that need room are rejected; make room",
        });
        let description = "The storage fails. It is tried again every second.";
        responses.extend(response("503", description, body(reference("health"), failing), &[]));
    }
    OperationDoc {
        id,
        tag: "about",
        summary,
        description,
        responses,
        codes,
        ..OperationDoc::default()
    }
}
