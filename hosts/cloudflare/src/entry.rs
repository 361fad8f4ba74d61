//! The entry: forwards requests to their objects and answers all others.

#![expect(unreachable_pub, reason = "JavaScript gets the `pub` items")]

use std::rc::Rc;

use http::Method;
use js_sys::Array;
use shared_context_codec::Failure;
use wasm_bindgen::prelude::*;
use worker::Env;

use crate::{
    directory::DirectoryClient,
    engine::Engine,
    exchange::{self, head, http, path_and_query},
    js,
    remote::BucketClient,
};

/// Returns the name of the object to which a request is forwarded, or `None` if
/// [`respond`] answers it.
///
/// # Errors
///
/// The Worker is not set up.
#[wasm_bindgen]
#[expect(clippy::needless_pass_by_value, reason = "JavaScript passes it by value")]
pub fn destination(
    method: &str,
    url: &str,
    authorization: Option<String>,
) -> Result<Option<String>, JsError> {
    let Ok(method) = method.parse::<Method>() else { return Ok(None) };
    let target = path_and_query(url);
    let path = target.split('?').next().unwrap_or_default();
    Ok(http()?.destination(&method, path, authorization.as_deref(), js::now()))
}

/// Answers a request at the entry, or returns a promise of the answer. `body` is `None`
/// when it is too long.
///
/// # Errors
///
/// The Worker is not set up, or the request is invalid.
#[wasm_bindgen]
pub fn respond(
    env: Env,
    method: &str,
    url: &str,
    headers: &str,
    body: Option<Vec<u8>>,
) -> Result<JsValue, JsError> {
    let engine = Engine::at_entry(BucketClient::new(env.clone()), DirectoryClient::new(env));
    exchange::respond(Rc::new(engine), method, url, headers, body)
}

/// Returns the maximum length of a request's body in bytes.
///
/// # Errors
///
/// The Worker is not set up, or the request is invalid.
#[wasm_bindgen(js_name = bodyBytesMax)]
pub fn body_bytes_max(method: &str, url: &str, headers: &str) -> Result<usize, JsError> {
    Ok(http()?.body_bytes_max(&head(method, url, headers)?.0))
}

/// Returns the error response to a request that failed outside the wire: its body did
/// not arrive (`cut`), its object could not be reached (`unavailable`), or the instance
/// failed during the request (anything else).
///
/// # Errors
///
/// The Worker is not set up, or the request is invalid.
#[wasm_bindgen]
pub fn reject(method: &str, url: &str, headers: &str, why: &str) -> Result<Array, JsError> {
    let (http, (head, _)) = (http()?, head(method, url, headers)?);
    let failure = match why {
        "cut" => Failure::new(
            "MALFORMED_REQUEST",
            "the body did not arrive whole; send the request again",
        ),
        "unavailable" => Failure::new(
            "STORAGE_UNAVAILABLE",
            "the session's object could not be reached; a change may have been made all the \
             same: read before retrying, or retry it with its request_id",
        ),
        _ => Failure::new(
            "INTERNAL",
            "the request failed inside the server; it may have been carried out: read before \
             retrying, or retry a change with its request_id",
        ),
    };
    Ok(exchange::rejection(&http, &head, failure))
}
