//! Documentation of the routes of sessions themselves.

use serde_json::json;

use super::{
    about::OperationDoc,
    acts::rejects,
    examples,
    parts::{body, request, response},
    schemas::reference,
};
use crate::http::table::Endpoint;

/// Returns the documentation of `endpoint`.
pub(super) fn about(endpoint: Endpoint) -> OperationDoc {
    let about = OperationDoc { tag: "sessions", is_admins: true, ..OperationDoc::default() };
    match endpoint {
        Endpoint::CreateSession => OperationDoc {
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
            headers: &["idempotency_key"],
            codes: rejects("create_session", &["UNSUPPORTED_MEDIA_TYPE"]),
            ..about
        },
        Endpoint::ListSessions => OperationDoc {
            id: "list_sessions",
            summary: "List sessions by id, a page at a time.",
            description: "All that is asked for must be so. Filters make a page look at more \
                          sessions than it lists, at most 1000: it may come back short, even \
                          empty, with a next_after to go on from.",
            responses: response(
                "200",
                "A page of sessions.",
                body(
                    reference("session_list"),
                    json!({"sessions": [examples::reply_example("show_session")], "next_after": null}),
                ),
                &[],
            ),
            ..about
        },
        Endpoint::ListProjects => OperationDoc {
            id: "list_projects",
            tag: "projects",
            summary: "List projects by id, a page at a time.",
            responses: response(
                "200",
                "A page of projects.",
                body(
                    reference("project_list"),
                    json!({"projects": [examples::reply_example("show_project")], "next_after": null}),
                ),
                &[],
            ),
            ..about
        },
        _ => OperationDoc {
            id: "mint_credential",
            summary: "Get a credential for a participant.",
            description: "The admin mints any participant's, the orchestrator subagents'. A \
                          subagent's can be limited to some keys: no others are there for it.",
            request: Some(request(body(reference("mint_credential"), examples::mint_credential()))),
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
    }
}
