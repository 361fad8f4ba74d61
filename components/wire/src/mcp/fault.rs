//! Errors of MCP: an error of JSON-RPC, or a rejection by HTTP.

use http::StatusCode;
use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Value, json};
use shared_context_codec::Failure;

/// An error of JSON-RPC, and the HTTP status of its response.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) error: ErrorData,
}

/// Reason why a request has no result.
#[derive(Debug)]
pub(crate) enum Rejection {
    /// Returned as JSON-RPC: the request cannot be performed.
    Fault(Fault),
    /// Returned as HTTP: the client must present another credential, or requests are limited at
    /// present.
    Http(Failure),
}

impl Fault {
    /// Creates a fault for an invalid message: `400`.
    pub(crate) fn bad_request(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, error: error(code, message, None) }
    }

    /// Creates a fault for a valid message that cannot be performed. It is returned with status
    /// `200`, like a result.
    pub(crate) fn in_band(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status: StatusCode::OK, error: error(code, message, None) }
    }

    /// Creates a fault for invalid parameters.
    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::in_band(ErrorCode::INVALID_PARAMS, message)
    }

    /// Adds data for programs to the fault.
    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.error.data = Some(data);
        self
    }
}

fn error(code: ErrorCode, message: impl Into<String>, data: Option<Value>) -> ErrorData {
    ErrorData::new(code, message.into(), data)
}

impl From<Fault> for Rejection {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Converts the session's error to a request other than a tool call. An error of the caller becomes
/// an invalid parameter; the tool's error object is attached.
impl From<Failure> for Rejection {
    fn from(failure: Failure) -> Self {
        match &*failure.code {
            "UNAUTHENTICATED" | "RATE_LIMITED" => Self::Http(failure),
            "INTERNAL" | "STORAGE_UNAVAILABLE" | "TOKENIZER_UNAVAILABLE" => {
                Self::Fault(session_fault(ErrorCode::INTERNAL_ERROR, &failure))
            }
            _ => Self::Fault(session_fault(ErrorCode::INVALID_PARAMS, &failure)),
        }
    }
}

/// Builds the fault `code` for a session's error.
pub(super) fn session_fault(code: ErrorCode, failure: &Failure) -> Fault {
    let fault = Fault::in_band(code, failure.message.clone());
    match serde_json::from_slice(&failure.to_json()) {
        Ok(Value::Object(data)) => fault.with_data(Value::Object(data)),
        _ => fault.with_data(json!({"error": {"code": failure.code}})),
    }
}
