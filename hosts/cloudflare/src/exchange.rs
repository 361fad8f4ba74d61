//! Converts requests and responses between JavaScript and the wire, with as few
//! crossings as possible: all headers travel as one string.

#![expect(unreachable_pub, reason = "JavaScript gets the `pub` items")]

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use bytes::Bytes;
use futures_util::stream;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header::HOST,
    request::Parts,
};
use js_sys::{Array, Uint8Array};
use shared_context_codec::Failure;
use shared_context_wire::{
    credential::Keys,
    http::{Body, CorsOrigins, Http, Options, Socket, Watch, parse_public_url, parse_rate},
};
use wasm_bindgen::prelude::*;
use wasm_streams::ReadableStream;

use crate::{at_once::at_once, engine::Engine, js};

thread_local! {
    /// The HTTP interface, once it is set up. All requests of this isolate share it.
    static HTTP: RefCell<Option<Rc<Http>>> = const { RefCell::new(None) };
    /// Whether projects are maintained once a day.
    static MAINTAINS_DAILY: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if the Worker was set up to maintain projects once a day.
pub(crate) fn maintains_daily() -> bool {
    MAINTAINS_DAILY.get()
}

/// Returns the HTTP interface.
///
/// # Errors
///
/// `INTERNAL`: [`set_up`] was not called, or failed.
pub(crate) fn http() -> Result<Rc<Http>, JsError> {
    HTTP.with_borrow(Clone::clone).ok_or_else(|| JsError::new("the Worker is not set up"))
}

/// Sets up the HTTP interface from the Worker's bindings. `rate` is the number of requests
/// per second allowed to each participant, or `off`. `local` is `yes` where only this
/// machine reaches the Worker. `maintain_daily` is `yes` to maintain projects once a day.
/// `seed` differs from isolate to isolate.
///
/// # Errors
///
/// A message for the operator: which binding is missing or wrong, and how to set it.
#[wasm_bindgen(js_name = setUp)]
#[expect(clippy::needless_pass_by_value, reason = "JavaScript passes it by value")]
#[expect(clippy::too_many_arguments, reason = "one for each binding")]
pub fn set_up(
    secret: Option<String>,
    admin_key: Option<String>,
    rate: Option<String>,
    public_url: Option<String>,
    cors_origins: Option<String>,
    local: Option<String>,
    maintain_daily: Option<String>,
    seed: u64,
) -> Result<(), JsError> {
    let set = |name: &str, value: Option<String>| {
        value.filter(|it| !it.is_empty()).ok_or_else(|| {
            JsError::new(&format!(
                "{name} is not set: `npx wrangler secret put {name}`, with 32 random bytes or more"
            ))
        })
    };
    let secret = set("SHARED_CONTEXT_SECRET", secret)?;
    let admin_key = set("SHARED_CONTEXT_ADMIN_KEY", admin_key)?;
    let keys = Keys::new(secret.as_bytes(), &admin_key);
    let mut options = Options::new(keys.map_err(|it| JsError::new(&it.to_string()))?);
    let invalid = |name: &str, why: &str| JsError::new(&format!("{name}: {why}"));
    if let Some(rate) = rate.filter(|it| !it.is_empty()) {
        let rate = parse_rate(&rate);
        options.rate_limit = rate.map_err(|why| invalid("SHARED_CONTEXT_RATE", &why))?;
    }
    if let Some(url) = public_url.filter(|it| !it.is_empty()) {
        let url = parse_public_url(&url);
        options.public_url = Some(url.map_err(|why| invalid("SHARED_CONTEXT_PUBLIC_URL", &why))?);
    }
    let origins = CorsOrigins::parse(cors_origins.as_deref().unwrap_or_default());
    options.cors_origins = origins.map_err(|why| invalid("SHARED_CONTEXT_CORS_ORIGINS", &why))?;
    let switch = |name: &str, value: Option<&str>| match value {
        None | Some("" | "no") => Ok(false),
        Some("yes") => Ok(true),
        Some(_) => Err(invalid(name, "write yes or no")),
    };
    options.is_local = switch("SHARED_CONTEXT_LOCAL", local.as_deref())?;
    let is_daily = switch("SHARED_CONTEXT_MAINTAIN_DAILY", maintain_daily.as_deref())?;
    MAINTAINS_DAILY.set(is_daily);
    options.request_id_seed = seed;
    options.has_sockets = true;
    HTTP.set(Some(Rc::new(Http::new(options))));
    Ok(())
}

/// The head of a request, with the error if a header in it is invalid.
pub(crate) type Head = (Parts, Option<Failure>);

/// Parses the head of a request. `headers` has each name and each value on a line of its
/// own.
pub(crate) fn head(method: &str, url: &str, headers: &str) -> Result<Head, JsError> {
    let mut request = Request::new(());
    *request.method_mut() = method.parse::<Method>()?;
    *request.uri_mut() = path_and_query(url).parse::<Uri>()?;
    let mut invalid = None;
    let mut lines = headers.split('\n');
    while let (Some(name), Some(value)) = (lines.next(), lines.next()) {
        match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value.as_bytes())) {
            (Ok(name), Ok(value)) => drop(request.headers_mut().append(name, value)),
            _ => invalid = Some(name.to_owned()),
        }
    }
    // The platform may give the host in the URL only.
    let authority = url.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
    if let Some(host) = authority.and_then(|it| HeaderValue::from_str(it).ok()) {
        request.headers_mut().entry(HOST).or_insert(host);
    }
    let failure = invalid.map(|name| {
        let message = format!("the header {name} holds a character that no header may hold");
        Failure::new("MALFORMED_REQUEST", message)
    });
    Ok((request.into_parts().0, failure))
}

/// Answers a request through the wire and `engine`, or returns a promise of the answer.
/// `body` is `None` when it is too long.
///
/// # Errors
///
/// The Worker is not set up, or the request is invalid.
pub(crate) fn respond(
    engine: Rc<Engine>,
    method: &str,
    url: &str,
    headers: &str,
    body: Option<Vec<u8>>,
) -> Result<JsValue, JsError> {
    let (http, (head, failure)) = (http()?, head(method, url, headers)?);
    if let Some(failure) = failure {
        return Ok(rejection(&http, &head, failure).into());
    }
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

/// Returns the path and the query of `url`, percent-encoding the characters that browsers
/// leave as they are but HTTP does not allow.
pub(crate) fn path_and_query(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/");
    let rest = rest.split('#').next().unwrap_or("/");
    let mut written = String::with_capacity(rest.len());
    for char in rest.chars() {
        match char {
            '"' => written.push_str("%22"),
            '<' => written.push_str("%3C"),
            '>' => written.push_str("%3E"),
            '\\' => written.push_str("%5C"),
            '^' => written.push_str("%5E"),
            '`' => written.push_str("%60"),
            '{' => written.push_str("%7B"),
            '|' => written.push_str("%7C"),
            '}' => written.push_str("%7D"),
            _ => written.push(char),
        }
    }
    written
}

/// Converts a response for JavaScript: status, headers as in [`head`], body, and the
/// WebSocket that it opens.
fn answer(http: &Http, head: &Parts, response: Response<Body>, engine: &Rc<Engine>) -> Array {
    let (answered, body) = response.into_parts();
    let body = match body {
        Body::Whole(body) if body.is_empty() => JsValue::NULL,
        Body::Whole(body) => Uint8Array::from(&body[..]).into(),
        Body::Live(watch) => live(watch, Rc::clone(engine)),
        Body::Socket(socket) => {
            return match accept(socket, engine) {
                Ok(far) => parts(answered.status, &answered.headers, &JsValue::NULL, &far),
                Err(failure) => rejection(http, head, failure),
            };
        }
    };
    parts(answered.status, &answered.headers, &body, &JsValue::UNDEFINED)
}

/// Accepts `socket` and begins to send changes on it; returns the client's end.
fn accept(socket: Box<Socket>, engine: &Rc<Engine>) -> Result<JsValue, Failure> {
    let Some(object) = engine.object() else {
        return Err(Failure::new("INTERNAL", "a WebSocket was asked for where no session is"));
    };
    let far = object.sockets.accept(socket)?;
    let object = Rc::clone(object);
    js::spawn(async move { object.update_sockets().await });
    Ok(far)
}

/// Returns the response to a request that the host rejects.
pub(crate) fn rejection(http: &Http, head: &Parts, failure: Failure) -> Array {
    let (head, body) = http.refuse(head, failure).into_parts();
    let body = match body {
        Body::Whole(body) => Uint8Array::from(&body[..]).into(),
        Body::Live(_) | Body::Socket(_) => JsValue::NULL,
    };
    parts(head.status, &head.headers, &body, &JsValue::UNDEFINED)
}

fn parts(status: StatusCode, headers: &HeaderMap, body: &JsValue, socket: &JsValue) -> Array {
    let mut text = String::new();
    for (name, value) in headers {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(name.as_str());
        text.push('\n');
        text.push_str(&String::from_utf8_lossy(value.as_bytes()));
    }
    Array::of4(&status.as_u16().into(), &text.into(), body, socket)
}

/// Returns a stream of the events of `watch`. Each piece is sent when the changes it
/// reports are durable. The stream is dropped when the client disconnects.
fn live(watch: Box<Watch>, engine: Rc<Engine>) -> JsValue {
    let pieces = stream::unfold(watch, move |mut watch| {
        let engine = Rc::clone(&engine);
        async move {
            let piece = watch.next(&*engine).await?;
            let settled = engine.settle().await;
            let piece = settled.map(|()| Uint8Array::from(&piece[..]).into());
            Some((piece.map_err(|failure| JsValue::from_str(&failure.message)), watch))
        }
    });
    ReadableStream::from_stream(pieces).into_raw().into()
}
