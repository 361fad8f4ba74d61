//! The entry: where requests arrive, and what is answered there.

#![expect(unreachable_pub, reason = "JavaScript gets what is `pub`")]

use std::rc::Rc;

use bytes::Bytes;
use http::{Method, Request};
use js_sys::Array;
use shared_context_codec::Failure;
use wasm_bindgen::prelude::*;
use worker::Env;

use crate::{
    at_once::at_once,
    directory::FarDirectory,
    engine::Engine,
    exchange::{self, answer, head, http, path_and_query},
    js,
    remote::Remote,
};

/// The name of the object that a request goes on to, unread; `None`: it is
/// answered with [`respond`].
///
/// # Errors
///
/// The Worker is not set up.
#[wasm_bindgen]
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

/// Answers a request at the entry, or promises to. `body` is nothing when it is
/// too long.
///
/// # Errors
///
/// The Worker is not set up, or the request is none.
#[wasm_bindgen]
pub fn respond(
    env: Env,
    method: &str,
    url: &str,
    headers: &str,
    body: Option<Vec<u8>>,
) -> Result<JsValue, JsError> {
    let (http, head) = (http()?, head(method, url, headers)?);
    let engine = Rc::new(Engine::at_entry(Remote::new(env.clone()), FarDirectory::new(env)));
    Ok(at_once(async move {
        let response = match body {
            Some(body) => {
                let request = Request::from_parts(head.clone(), Bytes::from(body));
                http.handle(&*engine, request).await
            }
            None => http.too_large(&*engine, &head).await,
        };
        answer(&http, &head, response, &engine)
    }))
}

/// How many bytes of the body of a request are read.
///
/// # Errors
///
/// The Worker is not set up, or the request is none.
#[wasm_bindgen(js_name = bodyBytesMax)]
pub fn body_bytes_max(method: &str, url: &str, headers: &str) -> Result<usize, JsError> {
    Ok(http()?.body_bytes_max(&head(method, url, headers)?))
}

/// Refuses a request that failed in a way that only the host knows of: its object
/// could not be reached (`isUnavailable`), or failed.
///
/// # Errors
///
/// The Worker is not set up, or the request is none.
#[wasm_bindgen]
pub fn refuse(
    method: &str,
    url: &str,
    headers: &str,
    #[wasm_bindgen(js_name = isUnavailable)] is_unavailable: bool,
) -> Result<Array, JsError> {
    let (http, head) = (http()?, head(method, url, headers)?);
    let (code, message) = if is_unavailable {
        (
            "STORAGE_UNAVAILABLE",
            "the session's object could not be reached; a change may have been made all the \
             same: read before retrying, or retry it with its request_id",
        )
    } else {
        (
            "INTERNAL",
            "the request failed inside the server; it may have been carried out: read before \
             retrying, or retry a change with its request_id",
        )
    };
    Ok(exchange::refusal(&http, &head, Failure::new(code, message)))
}
