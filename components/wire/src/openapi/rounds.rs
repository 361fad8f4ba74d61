//! What is said of the routes of rounds.

use super::{
    about::About,
    examples,
    parts::{body, optional_request, request, response, tool_response},
    schemas::{body_of, reply},
};
use crate::http::{
    rounds::{CLOSE, OPEN, REDACT},
    table::Endpoint,
};

const PROPOSE: &str = "All or nothing; a refusal names the delta. A delta is about one place of the \
state as the round began with, a JSONPath (RFC 9535) below query, bindings, entities or rules. Its \
value is any JSON, null included.";

const REDACT_IT: &str = "For the orchestrator and the operator. What was equal stays equal, so a \
round that is open goes on. Documents that were exported keep it.";

const READ_STATE: &str = "While a round is open its state stands still; open_round tells that \
there is one.";

/// What is said of `endpoint`.
pub(super) fn about(endpoint: Endpoint) -> About {
    let about = About { tag: "rounds", ..About::default() };
    match endpoint {
        Endpoint::ListRounds => About {
            id: "list_rounds",
            summary: "List the rounds that ended, with how much each changed the state.",
            responses: tool_response("convergence", &[]),
            ..about
        },
        Endpoint::OpenRound => About {
            id: "open_round",
            summary: "Open a round, in which participants propose deltas to the shared state.",
            description: "For the orchestrator.",
            headers: &["idempotency_key"],
            request: Some(optional_request(body(
                body_of("open_round", &OPEN),
                examples::open_round(),
            ))),
            responses: created("open_round", "Opened."),
            codes: &[
                "INVALID_PATH",
                "SESSION_ARCHIVED",
                "FORBIDDEN",
                "REQUEST_ID_REUSED",
                "ROUND_OPEN",
                "UNSUPPORTED_MEDIA_TYPE",
            ],
            ..about
        },
        Endpoint::ProposeDeltas => About {
            id: "propose_deltas",
            summary: "Propose changes of the shared state to the open round.",
            description: PROPOSE,
            headers: &["idempotency_key"],
            request: Some(request(body(
                body_of("propose_deltas", &["deltas"]),
                examples::propose_deltas(),
            ))),
            responses: created("propose_deltas", "Proposed."),
            codes: &[
                "INVALID_PATH",
                "SESSION_ARCHIVED",
                "FORBIDDEN",
                "REQUEST_ID_REUSED",
                "ROUND_NOT_OPEN",
                "PATH_NOT_FOUND",
                "PATH_EXISTS",
                "IDENTITY_CONFLICT",
                "ROUND_FULL",
                "UNSUPPORTED_MEDIA_TYPE",
            ],
            ..about
        },
        Endpoint::CloseRound => About {
            id: "close_round",
            summary: "Merge the deltas of the open round into the next state, or discard them.",
            description: "For the orchestrator.",
            headers: &["idempotency_key"],
            request: Some(optional_request(body(
                body_of("close_round", &CLOSE),
                examples::close_round(),
            ))),
            responses: tool_response("close_round", &[]),
            codes: &[
                "SESSION_ARCHIVED",
                "FORBIDDEN",
                "REQUEST_ID_REUSED",
                "ROUND_NOT_OPEN",
                "STATE_TOO_LARGE",
                "UNSUPPORTED_MEDIA_TYPE",
            ],
            ..about
        },
        Endpoint::RedactRounds => About {
            id: "redact_rounds",
            summary: "Replace every text of states and deltas that has a secret in it by a marker.",
            description: REDACT_IT,
            request: Some(request(body(
                body_of("redact_rounds", &REDACT),
                examples::redact_rounds(),
            ))),
            responses: tool_response("redact_rounds", &[]),
            codes: &["SESSION_ARCHIVED", "FORBIDDEN", "UNSUPPORTED_MEDIA_TYPE"],
            ..about
        },
        Endpoint::ReadState => About {
            id: "read_state",
            summary: "Read the shared state as it is, or as it was after a round.",
            description: READ_STATE,
            responses: tool_response("read_state", &[]),
            codes: &["ROUND_NOT_FOUND"],
            ..about
        },
        _ => About {
            id: "read_deltas",
            summary: "Read who proposed what and why, and what became of it, oldest first.",
            responses: tool_response("read_deltas", &[]),
            codes: &["INVALID_PATH", "ROUND_NOT_FOUND", "PATH_NOT_FOUND"],
            ..about
        },
    }
}

fn created(action: &str, description: &str) -> serde_json::Map<String, serde_json::Value> {
    response("201", description, body(reply(action), examples::answer(action)), &[])
}
