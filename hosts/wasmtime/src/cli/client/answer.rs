//! Answers of a server: the body of an accepted request, or the problem of a rejected one.

use http::{Response, header};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use shared_context_codec::Failure;

use super::{Client, EVENT_STREAM};
use crate::cli::problem::{Kind, Problem};

const BODY_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// A server's answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(super) url: String,
}

impl Answer {
    /// Returns the body of a successful answer.
    ///
    /// # Errors
    ///
    /// The server rejected the request, or it is not a shared-context server.
    pub(crate) fn accepted(self) -> Result<Vec<u8>, Problem> {
        if (200..300).contains(&self.status) {
            return Ok(self.body);
        }
        Err(match rejection(&self.body) {
            Some(failure) => Problem::rejected(failure),
            None => not_a_server(&self.url, &format!("it answers with status {}", self.status)),
        })
    }

    /// Returns the body of a `/healthz` answer. When the storage fails, that is a status
    /// document with 503.
    ///
    /// # Errors
    ///
    /// The errors of [`Answer::accepted`].
    pub(crate) fn health(self) -> Result<Vec<u8>, Problem> {
        if self.status == 503 && rejection(&self.body).is_none() {
            return Ok(self.body);
        }
        self.accepted()
    }
}

/// Returns true if the body of `response` is an event stream.
pub(crate) fn is_stream(response: &Response<ureq::Body>) -> bool {
    let form = response.headers().get(header::CONTENT_TYPE);
    form.is_some_and(|it| it.as_bytes().starts_with(EVENT_STREAM.as_bytes()))
}

/// Reads the whole `body`.
pub(crate) fn whole_body(body: ureq::Body) -> Result<Vec<u8>, ureq::Error> {
    body.into_with_config().limit(BODY_BYTES_MAX).read_to_vec()
}

/// Parses the error in `body`; `None` if it is not from a shared-context server.
pub(crate) fn rejection(body: &[u8]) -> Option<Failure> {
    #[derive(Deserialize)]
    struct Rejection {
        error: Members,
    }
    #[derive(Deserialize)]
    struct Members {
        code: String,
        message: String,
        #[serde(flatten)]
        details: Map<String, Value>,
    }
    let Rejection { error } = serde_json::from_slice(body).ok()?;
    let details = (!error.details.is_empty()).then(|| Value::from(error.details).to_string());
    Some(Failure { code: error.code.into(), message: error.message, details })
}

/// Parses a reply of the server at `client`'s address.
///
/// # Errors
///
/// The reply is not from a shared-context server.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8], client: &Client) -> Result<T, Problem> {
    serde_json::from_slice(body)
        .map_err(|_| not_a_server(&client.url, "its reply is not one that this program knows"))
}

/// Returns the problem that the program at `url` is not a shared-context server.
pub(crate) fn not_a_server(url: &str, why: &str) -> Problem {
    let message = format!("what answers at {url} is not a shared-context server: {why}");
    Problem::new(Kind::Unreachable, "NOT_A_SERVER", message)
        .next("name the right address with --url, or start a server with `shared-context serve`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_keeps_its_details_and_anything_else_is_not_ours() {
        let answer = |status, body: &str| Answer {
            status,
            body: body.into(),
            url: "http://127.0.0.1:1".to_owned(),
        };
        let rejection = r#"{"title":"x","error":{"code":"STORE_FULL","message":"m","limit":5}}"#;
        let problem = answer(409, rejection).accepted().unwrap_err();
        assert_eq!(problem.code(), "STORE_FULL");
        assert!(String::from_utf8(problem.to_json()).unwrap().contains(r#""limit":5"#));
        assert_eq!(answer(404, "<html>").accepted().unwrap_err().code(), "NOT_A_SERVER");
        assert_eq!(answer(301, "").accepted().unwrap_err().code(), "NOT_A_SERVER");
        assert!(answer(201, "{}").accepted().is_ok());
    }
}
