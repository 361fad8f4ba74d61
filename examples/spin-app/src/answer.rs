//! HTTP responses.

use serde_json::{Value, json};
use spin_sdk::http::{IntoResponse, Response};

use crate::shared_context::core::types::Error;

/// An error response: `{"error":{"code":…,"message":…}}` with a matching status. Code and
/// message come from shared-context; the message says what to do next.
pub struct Rejection(Error);

impl Rejection {
    /// Creates an error of the app itself.
    pub fn new(code: &str, message: &str) -> Self {
        Self(Error { code: code.to_owned(), message: message.to_owned(), details: None })
    }

    fn status(&self) -> u16 {
        match self.0.code.as_str() {
            "NOTHING_TO_KEEP" => 422,
            "MALFORMED_REQUEST" | "INVALID_KEY" => 400,
            "FORBIDDEN" => 403,
            "SESSION_NOT_FOUND" | "KEY_NOT_FOUND" => 404,
            "SESSION_ARCHIVED" | "VERSION_CONFLICT" | "STORE_FULL" => 409,
            "VALUE_TOO_LARGE" => 413,
            "STORAGE_UNAVAILABLE" => 503,
            _ => 500,
        }
    }
}

impl From<Error> for Rejection {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let status = self.status();
        let Error { code, message, details } = self.0;
        let mut error = json!({ "code": code, "message": message });
        // The details are a JSON object, such as {"limit":1000,"actual":1204}.
        if let Some(Ok(details)) = details.map(|it| serde_json::from_str::<Value>(&it)) {
            error["details"] = details;
        }
        json(status, &json!({ "error": error }))
    }
}

/// Returns a JSON response.
pub fn json(status: u16, body: &Value) -> Response {
    whole(status, "application/json", body.to_string())
}

/// Returns a plain text response.
pub fn text(body: String) -> Response {
    whole(200, "text/plain; charset=utf-8", body)
}

fn whole(status: u16, content_type: &str, body: String) -> Response {
    Response::builder().status(status).header("content-type", content_type).body(body).build()
}
