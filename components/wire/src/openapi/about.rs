//! What each operation is about: the words, bodies and examples that no table of
//! routes needs.

use serde_json::{Map, Value, json};

use super::{
    examples,
    parts::{body, request, response, tool_response, with_unchanged},
    schemas::{reference, reply},
};
use crate::http::route::Endpoint;

/// What is said of one operation.
#[derive(Default)]
pub(super) struct About {
    pub(super) id: &'static str,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    /// The request headers it reads.
    pub(super) headers: &'static [&'static str],
    pub(super) request: Option<Value>,
    /// The responses of success.
    pub(super) responses: Map<String, Value>,
    /// The refusals it has besides those of all its kind.
    pub(super) codes: &'static [&'static str],
    /// Whether its conditions stand in headers.
    pub(super) is_conditional: bool,
    /// Whether the session lets only the operator do it.
    pub(super) is_admins: bool,
}

pub(super) const DESCRIPTION: &str = "Short texts under flat keys, with versions, limits and \
conditional writes. Every response carries X-Request-Id, taken from the request where it sends a \
sane one, and passes on a valid traceparent. Paths have one form: percent-encode what is not \
unreserved, no slash at the end. Unknown members and query parameters are refused by name. HEAD \
answers as GET without the body, OPTIONS with the methods that can be used.";

/// What is said of `endpoint`.
pub(super) fn about(endpoint: Endpoint) -> About {
    match endpoint {
        Endpoint::Welcome
        | Endpoint::Health
        | Endpoint::Metrics
        | Endpoint::OpenApi
        | Endpoint::Tools => open(endpoint),
        Endpoint::CreateSession
        | Endpoint::ListSessions
        | Endpoint::ShowSession
        | Endpoint::DeleteSession
        | Endpoint::ArchiveSession
        | Endpoint::RevokeCredentials
        | Endpoint::MintCredential
        | Endpoint::ReadAudit => session(endpoint),
        Endpoint::CallTool
        | Endpoint::ListEntries
        | Endpoint::ReadEntry
        | Endpoint::WriteEntry
        | Endpoint::DeleteEntry
        | Endpoint::RenderPrompt => entry(endpoint),
    }
}

fn open(endpoint: Endpoint) -> About {
    let text = |media_type: &str| json!({media_type: {"schema": {"type": "string"}}});
    let (id, summary, content) = match endpoint {
        Endpoint::Health => (
            "check_health",
            "Tell whether the server is up.",
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
            "Read the definition of the tool shared_context, to give to an agent.",
            json!({"application/json": {"schema": reference("tools")}}),
        ),
        _ => ("read_welcome", "Read how to begin.", text("text/plain")),
    };
    let responses = response("200", "As asked.", content, &[]);
    About { id, tag: "about", summary, responses, ..About::default() }
}

fn session(endpoint: Endpoint) -> About {
    let about = About { tag: "sessions", is_admins: true, ..About::default() };
    match endpoint {
        Endpoint::CreateSession => About {
            id: "create_session",
            summary: "Create a session and get its orchestrator's credential.",
            request: Some(request(body(
                reference("create_session"),
                json!({"session_id": "ticket-7", "config": {"value_tokens_max": 1000}}),
            ))),
            responses: response(
                "201",
                "Created.",
                body(reference("created_session"), examples::created_session()),
                &["Location"],
            ),
            codes: &["SESSION_EXISTS", "UNSUPPORTED_MEDIA_TYPE"],
            ..about
        },
        Endpoint::ListSessions => About {
            id: "list_sessions",
            summary: "List sessions by id, a page at a time.",
            responses: response(
                "200",
                "A page of sessions.",
                body(
                    reference("session_list"),
                    json!({"sessions": [examples::show_session()], "next_after": null}),
                ),
                &[],
            ),
            ..about
        },
        Endpoint::ShowSession => About {
            id: "show_session",
            summary: "Show a session's status, totals and configuration.",
            responses: tool_response("show_session", examples::show_session(), &[]),
            is_admins: false,
            ..about
        },
        Endpoint::DeleteSession => About {
            id: "delete_session",
            summary: "Remove a session and all it holds.",
            responses: tool_response("delete_session", examples::deleted_session(), &[]),
            codes: &["FORBIDDEN"],
            ..about
        },
        Endpoint::ArchiveSession => About {
            id: "archive_session",
            summary: "Make a session read-only, for good.",
            responses: tool_response("archive_session", examples::show_session(), &[]),
            codes: &["FORBIDDEN", "UNSUPPORTED_MEDIA_TYPE"],
            ..about
        },
        Endpoint::RevokeCredentials => About {
            id: "revoke_credentials",
            summary: "Make every credential issued so far for a session void.",
            responses: tool_response("revoke_credentials", examples::show_session(), &[]),
            codes: &["FORBIDDEN", "UNSUPPORTED_MEDIA_TYPE"],
            ..about
        },
        Endpoint::MintCredential => About {
            id: "mint_credential",
            summary: "Get a credential for a participant.",
            description: "The admin mints any participant's, the orchestrator subagents'.",
            request: Some(request(body(
                reference("mint_credential"),
                json!({"participant": "subagent:analysis", "ttl_seconds": 3600}),
            ))),
            responses: response(
                "201",
                "Minted.",
                body(reference("minted_credential"), examples::minted_credential()),
                &[],
            ),
            codes: &["FORBIDDEN", "UNSUPPORTED_MEDIA_TYPE"],
            is_admins: false,
            ..about
        },
        _ => About {
            id: "read_audit",
            summary: "Read who changed what and when, oldest first; never a value.",
            responses: tool_response("audit", examples::audit(), &[]),
            codes: &["FORBIDDEN"],
            ..about
        },
    }
}

fn entry(endpoint: Endpoint) -> About {
    let about = About { tag: "entries", ..About::default() };
    match endpoint {
        Endpoint::CallTool => call_tool(),
        Endpoint::ListEntries => About {
            id: "list_keys",
            summary: "List every key with its metadata; never a value.",
            headers: &["if_none_match"],
            responses: with_unchanged(tool_response("list_keys", examples::list_keys(), &["ETag"])),
            ..about
        },
        Endpoint::ReadEntry => About {
            id: "read",
            summary: "Read the value of one key.",
            headers: &["if_none_match"],
            responses: with_unchanged(tool_response("read", examples::read(), &["ETag"])),
            codes: &["INVALID_KEY", "KEY_NOT_FOUND"],
            ..about
        },
        Endpoint::WriteEntry => write(),
        Endpoint::DeleteEntry => About {
            id: "delete",
            summary: "Remove one key.",
            headers: &["if_match", "idempotency_key"],
            responses: tool_response("delete", examples::delete(), &[]),
            codes: &[
                "INVALID_KEY",
                "SESSION_ARCHIVED",
                "FORBIDDEN",
                "REQUEST_ID_REUSED",
                "KEY_NOT_FOUND",
                "VERSION_CONFLICT",
            ],
            is_conditional: true,
            ..about
        },
        _ => About {
            id: "render_prompt",
            tag: "tool",
            summary: "Render text for a participant's system prompt.",
            description: "Bare text when Accept names text/plain and not application/json.",
            responses: {
                let mut content = body(reply("prompt"), examples::prompt());
                content["text/plain"] = json!({"schema": {"type": "string"}});
                response("200", "The prompt.", content, &[])
            },
            ..about
        },
    }
}

fn call_tool() -> About {
    let mut content = body(reference("tool_request"), Value::Null);
    content["application/json"] = json!({
        "schema": reference("tool_request"),
        "examples": {
            "list_keys": {"value": {"action": "list_keys"}},
            "write": {"value": {
                "action": "write", "key": "problem_summary",
                "value": "Throughput dropped 30% after config change on Feb 18.",
            }},
            "read": {"value": {"action": "read", "key": "problem_summary"}},
            "prompt": {"value": {"action": "prompt"}},
            "delete": {"value": {"action": "delete", "key": "problem_summary"}},
        },
    });
    let replies = json!({"application/json": {
        "schema": reference("tool_reply"),
        "examples": {
            "list_keys": {"value": examples::list_keys()},
            "read": {"value": examples::read()},
            "delete": {"value": examples::delete()},
        },
    }});
    About {
        id: "shared_context",
        tag: "tool",
        summary: "Call the JSON tool, as agents do.",
        description: "The body is passed on unread; the answer is the tool's. Retries are made \
                      safe by request_id in the body.",
        request: Some(request(content)),
        responses: response("200", "What the action answers.", replies, &[]),
        codes: &[
            "INVALID_KEY",
            "SESSION_EXISTS",
            "SESSION_ARCHIVED",
            "FORBIDDEN",
            "REQUEST_ID_REUSED",
            "KEY_NOT_FOUND",
            "VALUE_TOO_LARGE",
            "VERSION_CONFLICT",
            "STORE_FULL",
            "UNSUPPORTED_MEDIA_TYPE",
        ],
        ..About::default()
    }
}

fn write() -> About {
    let mut content = body(reference("value"), json!({"value": "Find the parameter."}));
    content["text/plain"] = json!({"schema": {"type": "string"}, "example": "Find the parameter."});
    let written = || body(reply("write"), examples::written());
    let mut responses = response("201", "Created.", written(), &["ETag"]);
    responses.append(&mut response("200", "Overwritten.", written(), &["ETag"]));
    About {
        id: "write",
        tag: "entries",
        summary: "Create or overwrite one key.",
        description: "A body without Content-Type is text.",
        headers: &["if_match", "if_none_match", "idempotency_key"],
        request: Some(request(content)),
        responses,
        codes: &[
            "INVALID_KEY",
            "SESSION_ARCHIVED",
            "FORBIDDEN",
            "REQUEST_ID_REUSED",
            "VALUE_TOO_LARGE",
            "VERSION_CONFLICT",
            "STORE_FULL",
            "UNSUPPORTED_MEDIA_TYPE",
        ],
        is_conditional: true,
        ..About::default()
    }
}
