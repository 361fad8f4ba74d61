//! Why a message was not answered with a result: an error of JSON-RPC, or a
//! refusal that HTTP tells.

use http::StatusCode;
use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Value, json};
use shared_context_codec::Failure;

/// An error of JSON-RPC, and the status of the response that carries it.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) error: ErrorData,
}

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Told by JSON-RPC: the request is not one that can be carried out.
    Fault(Fault),
    /// Told by HTTP: who asks has to show another credential, or nobody is served
    /// now.
    Http(Failure),
}

impl Fault {
    /// The message is no message of MCP: `400`.
    pub(crate) fn bad_request(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, error: error(code, message, None) }
    }

    /// The message is fine, but what it asks for is not: told in a response of
    /// status `200`, as any answer.
    pub(crate) fn in_band(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status: StatusCode::OK, error: error(code, message, None) }
    }

    /// The parameters are not what the method takes.
    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::in_band(ErrorCode::INVALID_PARAMS, message)
    }

    /// Creates the fault with more that programs may want to know.
    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.error.data = Some(data);
        self
    }
}

fn error(code: ErrorCode, message: impl Into<String>, data: Option<Value>) -> ErrorData {
    ErrorData::new(code, message.into(), data)
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// What a session answered to a request that is no tool call. What the caller
/// asked for wrongly is an invalid parameter; the error object of the tool goes
/// along.
impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match &*failure.code {
            "UNAUTHENTICATED" | "RATE_LIMITED" => Self::Http(failure),
            "INTERNAL" | "STORAGE_UNAVAILABLE" | "TOKENIZER_UNAVAILABLE" => {
                Self::Fault(told(ErrorCode::INTERNAL_ERROR, &failure))
            }
            _ => Self::Fault(told(ErrorCode::INVALID_PARAMS, &failure)),
        }
    }
}

/// Returns the fault `code` that tells of what a session answered.
pub(super) fn told(code: ErrorCode, failure: &Failure) -> Fault {
    let fault = Fault::in_band(code, failure.message.clone());
    match serde_json::from_slice(&failure.to_json()) {
        Ok(Value::Object(data)) => fault.with_data(Value::Object(data)),
        _ => fault.with_data(json!({"error": {"code": failure.code}})),
    }
}
