//! shared-context on Spin: requests of HTTP in, answers out, by way of the wire.
//!
//! Spin gives each request an instance of its own; so this serves one request and
//! remembers nothing. Not here: the rules, which are the component's behind
//! `tool`; storage, which is behind `kv` and `buckets` (hosts/spin/storage); what a
//! request means, which is the wire's.
//!
//! # Invariant
//!
//! Every request gets a response, also where the app is not set up: then each is
//! refused, and told what to set.

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

use crate::{at_once::at_once, engine::Engine, request::Arrived};

/// What the exports are implemented on.
struct Front;

impl Guest for Front {
    fn handle(request: IncomingRequest, place: ResponseOutparam) {
        let engine = Engine::new();
        let head = request::head(&request);
        let method = head.method.clone();
        let response = match settings::read() {
            Ok(options) => answer(&Http::new(options), &engine, head, &request),
            Err(refusal) => Http::new(refusal.options).refuse(&head, refusal.failure),
        };
        response::send(place, &method, response, &engine);
    }
}

/// Reads the rest of `request` and has the wire answer it.
fn answer(
    http: &Http,
    engine: &Engine<'_>,
    head: http::request::Parts,
    request: &IncomingRequest,
) -> response::Response {
    match request::body(request, http.body_bytes_max(&head)) {
        Arrived::Whole(body) => at_once(http.handle(engine, http::Request::from_parts(head, body))),
        Arrived::TooLong => at_once(http.too_large(engine, &head)),
        Arrived::Cut => http.refuse(&head, request::cut()),
    }
}
