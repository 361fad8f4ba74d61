//! HTTP status and title of each error code. The codec defines what its codes mean; only the codes
//! of the wire and of hosts originate here.

use http::StatusCode;

/// HTTP representation of an error code.
#[derive(Debug)]
pub(crate) struct Code {
    /// Code, in capitals.
    pub(crate) name: &'static str,
    /// Status of a response with this code.
    pub(crate) status: StatusCode,
    /// Short title that never changes.
    pub(crate) title: &'static str,
}

/// Every code, in order of precedence; those of the wire and of hosts last.
pub(crate) static CODES: [Code; 60] = [
    code("UNAUTHENTICATED", StatusCode::UNAUTHORIZED, "Credential missing or void"),
    code("MALFORMED_REQUEST", StatusCode::BAD_REQUEST, "Request not understood"),
    code("INVALID_KEY", StatusCode::BAD_REQUEST, "Not a key"),
    code("INVALID_PATH", StatusCode::BAD_REQUEST, "Not a path into the state"),
    code("FORMAT_TOO_NEW", StatusCode::UNPROCESSABLE_ENTITY, "Document of a newer format"),
    code(
        "DOCUMENT_ALTERED",
        StatusCode::UNPROCESSABLE_ENTITY,
        "Document does not match its digests",
    ),
    code("SESSION_NOT_FOUND", StatusCode::NOT_FOUND, "No such session"),
    code("PROJECT_NOT_FOUND", StatusCode::NOT_FOUND, "No such project"),
    code("SESSION_ARCHIVED", StatusCode::CONFLICT, "Session is read-only"),
    code("PROJECT_ARCHIVED", StatusCode::CONFLICT, "Project is read-only"),
    code("FORBIDDEN", StatusCode::FORBIDDEN, "Not the caller's to do"),
    code("SESSION_EXISTS", StatusCode::CONFLICT, "Session exists already"),
    code("PROJECT_EXISTS", StatusCode::CONFLICT, "Project exists already"),
    code("REQUEST_ID_REUSED", StatusCode::CONFLICT, "Request id was used for another request"),
    code("CHANGES_TRUNCATED", StatusCode::GONE, "Changes from there on are no longer kept"),
    code("SNAPSHOT_NOT_FOUND", StatusCode::NOT_FOUND, "No such snapshot"),
    code("SNAPSHOT_EXISTS", StatusCode::CONFLICT, "Snapshot label is taken"),
    code("SNAPSHOT_LIMIT", StatusCode::CONFLICT, "No more snapshots in this session"),
    code("ROUND_OPEN", StatusCode::CONFLICT, "A round is open already"),
    code("ROUND_NOT_OPEN", StatusCode::CONFLICT, "No round is open"),
    code("ROUND_NOT_FOUND", StatusCode::NOT_FOUND, "No such round"),
    code("DELTA_NOT_FOUND", StatusCode::NOT_FOUND, "No such delta in the open round"),
    code("ENVELOPE_NOT_FOUND", StatusCode::NOT_FOUND, "No such envelope"),
    code("MISSING_NOT_FOUND", StatusCode::NOT_FOUND, "No such missing context"),
    code("PACKET_NOT_FOUND", StatusCode::NOT_FOUND, "No such packet"),
    code("MEMORY_NOT_FOUND", StatusCode::NOT_FOUND, "No such memory"),
    code("SECTION_NOT_FOUND", StatusCode::NOT_FOUND, "No such section"),
    code("HANDOFF_NOT_FOUND", StatusCode::NOT_FOUND, "No such handoff"),
    code("KEY_NOT_FOUND", StatusCode::NOT_FOUND, "No such entry"),
    code("PATH_NOT_FOUND", StatusCode::NOT_FOUND, "No such place in the state"),
    code("PATH_EXISTS", StatusCode::CONFLICT, "Place in the state is taken"),
    code(
        "TOKENIZER_UNAVAILABLE",
        StatusCode::SERVICE_UNAVAILABLE,
        "Session's estimator is not on this host",
    ),
    code("VALUE_TOO_LARGE", StatusCode::PAYLOAD_TOO_LARGE, "Value over the limit of one entry"),
    code("SECTION_TOO_LARGE", StatusCode::PAYLOAD_TOO_LARGE, "Section over the limit of its level"),
    code("SENSITIVE_VALUE", StatusCode::UNPROCESSABLE_ENTITY, "Value looks like a secret"),
    code("BUDGET_TOO_SMALL", StatusCode::UNPROCESSABLE_ENTITY, "Budget too small for the task"),
    code(
        "TARGET_UNREACHABLE",
        StatusCode::UNPROCESSABLE_ENTITY,
        "What must be kept is over the target",
    ),
    code("FEEDBACK_GIVEN", StatusCode::CONFLICT, "Feedback was given already"),
    code("SUPERSEDES_ITSELF", StatusCode::CONFLICT, "Memory would replace itself"),
    code("MEMORY_ARCHIVED", StatusCode::CONFLICT, "Memory is archived"),
    code("NOT_OWNER", StatusCode::CONFLICT, "Section is not yours"),
    code("LEASE_EXPIRED", StatusCode::CONFLICT, "Lease ended"),
    code("HANDOFF_SETTLED", StatusCode::CONFLICT, "Handoff is settled"),
    code("VERSION_CONFLICT", StatusCode::CONFLICT, "Entry is not as the condition says"),
    code("IDENTITY_CONFLICT", StatusCode::CONFLICT, "Term is bound to another concept"),
    code("STORE_FULL", StatusCode::CONFLICT, "Store over its limit"),
    code("ROUND_FULL", StatusCode::CONFLICT, "No more deltas in this round"),
    code("STATE_TOO_LARGE", StatusCode::CONFLICT, "State over its limit"),
    code("ENVELOPE_LIMIT", StatusCode::CONFLICT, "Over a limit of the context pipeline"),
    code("PACKET_LIMIT", StatusCode::CONFLICT, "Over a limit of packets"),
    code("MEMORY_LIMIT", StatusCode::CONFLICT, "Over a limit of memories"),
    code("STORAGE_UNAVAILABLE", StatusCode::SERVICE_UNAVAILABLE, "Storage failed"),
    code("REQUEST_TOO_LARGE", StatusCode::PAYLOAD_TOO_LARGE, "Request body too large"),
    code("RATE_LIMITED", StatusCode::TOO_MANY_REQUESTS, "Too many requests"),
    code("NOT_FOUND", StatusCode::NOT_FOUND, "No such route"),
    code("METHOD_NOT_ALLOWED", StatusCode::METHOD_NOT_ALLOWED, "Method not usable here"),
    code("NOT_ACCEPTABLE", StatusCode::NOT_ACCEPTABLE, "No acceptable media type"),
    code("UNSUPPORTED_MEDIA_TYPE", StatusCode::UNSUPPORTED_MEDIA_TYPE, "Media type not understood"),
    code("OVERLOADED", StatusCode::SERVICE_UNAVAILABLE, "Server at its limit"),
    INTERNAL,
];

const INTERNAL: Code =
    code("INTERNAL", StatusCode::INTERNAL_SERVER_ERROR, "This request failed inside the server");

const fn code(name: &'static str, status: StatusCode, title: &'static str) -> Code {
    Code { name, status, title }
}

/// Returns the representation of the code `name`. An unknown code, from a component newer than this
/// server, is reported as an internal error.
pub(crate) fn of(name: &str) -> &'static Code {
    static UNKNOWN: Code = INTERNAL;
    CODES.iter().find(|it| it.name == name).unwrap_or(&UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_named_once_and_is_an_error() {
        for (nth, code) in CODES.iter().enumerate() {
            assert!(code.status.is_client_error() || code.status.is_server_error());
            assert!(CODES.iter().skip(nth + 1).all(|it| it.name != code.name), "{}", code.name);
            assert_eq!(of(code.name).status, code.status);
        }
        assert_eq!(of("FROM_THE_FUTURE").name, "INTERNAL");
    }
}
