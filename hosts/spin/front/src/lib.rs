//! shared-context on Spin: answers HTTP requests through the wire.
//!
//! Spin gives each request its own instance, so this serves one request and keeps no
//! state. The rules are in the component behind `tool`. Storage is behind `kv` and
//! `buckets` (hosts/spin/storage). The wire interprets the requests.
//!
//! # Invariant
//!
//! Every request gets a response. If the app is not set up, each request is rejected with
//! a message that names the missing setting.

mod at_once;
mod bindings;
mod engine;
mod log;
mod request;
mod response;
mod settings;
mod wait;

use bindings::{
    exports::wasi::http::incoming_handler::Guest,
    wasi::http::types::{IncomingRequest, ResponseOutparam},
};
use shared_context_wire::http::Http;

use crate::{at_once::at_once, engine::Engine, request::BodyRead};

/// The implementation of the exports.
struct Front;

impl Guest for Front {
    fn handle(request: IncomingRequest, outparam: ResponseOutparam) {
        let engine = Engine::new();
        let head = request::head(&request);
        let method = head.method.clone();
        let response = match settings::read() {
            Ok(options) => answer(&Http::new(options), &engine, head, &request),
            Err(error) => Http::new(error.options).refuse(&head, error.failure),
        };
        response::send(outparam, &method, response, &engine);
    }
}

/// Reads the body of `request` and answers it through the wire.
fn answer(
    http: &Http,
    engine: &Engine<'_>,
    head: http::request::Parts,
    request: &IncomingRequest,
) -> response::Response {
    match request::body(request, http.body_bytes_max(&head)) {
        BodyRead::Whole(body) => {
            at_once(http.handle(engine, http::Request::from_parts(head, body)))
        }
        BodyRead::TooLong => at_once(http.too_large(engine, &head)),
        BodyRead::Incomplete => http.refuse(&head, request::incomplete_body()),
    }
}
