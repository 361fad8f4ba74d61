//! Sends responses through Spin.
//!
//! As much of a body as fits is written before its response is handed over. Otherwise the
//! platform flushes head and body separately, and a client on a kept-alive connection
//! waits 40 ms for the second packet.

use http::{HeaderMap, Method, StatusCode, header::CONTENT_LENGTH};
use shared_context_wire::http::{Body, Watch};

use crate::{
    at_once::at_once,
    bindings::wasi::{
        http::types::{Fields, OutgoingBody, OutgoingResponse, ResponseOutparam},
        io::streams::{OutputStream, StreamError},
    },
    engine::Engine,
    wait,
};

/// A response from the wire.
pub(crate) type Response = http::Response<Body>;

/// Sends the whole `response` to a request with this `method`.
pub(crate) fn send(
    outparam: ResponseOutparam,
    method: &Method,
    response: Response,
    engine: &Engine<'_>,
) {
    let (mut head, body) = response.into_parts();
    if let Body::Whole(body) = &body
        && has_length(method, head.status)
    {
        head.headers.insert(CONTENT_LENGTH, body.len().into());
    }
    let response = OutgoingResponse::new(fields(&head.headers));
    // All valid status codes are accepted.
    let _ = response.set_status_code(head.status.as_u16());
    // These fail only when called a second time.
    let Ok(outgoing) = response.body() else { return };
    let Ok(stream) = outgoing.write() else { return };
    let mut writer = ResponseWriter { stream: &stream, unsent: Some((outparam, response)) };
    match body {
        Body::Whole(body) => drop(writer.write(&body)),
        Body::Live(watch) => send_events(&mut writer, *watch, &engine.sending(&stream)),
        // This host declares that it has no sockets.
        Body::Socket(_) => {}
    }
    let unsent = writer.unsent;
    drop(stream);
    // A body shorter than its declared length was cut off by the client.
    let _ = OutgoingBody::finish(outgoing, None);
    if let Some((outparam, response)) = unsent {
        ResponseOutparam::set(outparam, Ok(response));
    }
}

/// Sends the events of `watch` until it ends or the client disconnects.
fn send_events(writer: &mut ResponseWriter<'_>, mut watch: Watch, engine: &Engine<'_>) {
    while let Some(piece) = at_once(watch.next(engine)) {
        if writer.write(&piece).is_err() {
            return;
        }
        writer.hand_over();
    }
}

/// Returns true if the response declares the length of its body.
fn has_length(method: &Method, status: StatusCode) -> bool {
    method != Method::HEAD && status != StatusCode::NO_CONTENT && status != StatusCode::NOT_MODIFIED
}

fn fields(headers: &HeaderMap) -> Fields {
    let fields = Fields::new();
    for (name, value) in headers {
        // The platform rejects the headers that it sets itself.
        let _ = fields.append(name.as_str(), value.as_bytes());
    }
    fields
}

/// Writes the body of a response and hands the response over to the platform.
struct ResponseWriter<'s> {
    stream: &'s OutputStream,
    /// The response, until it is handed over.
    unsent: Option<(ResponseOutparam, OutgoingResponse)>,
}

impl ResponseWriter<'_> {
    /// Writes all of `bytes`; hands the response over when there is no more room.
    ///
    /// # Errors
    ///
    /// The client has disconnected, or does not read.
    fn write(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = usize::try_from(self.stream.check_write()?).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(room.min(rest.len()));
            if now.is_empty() {
                self.hand_over();
                if !wait::is_ready_in_time(&self.stream.subscribe()) {
                    return Err(StreamError::Closed);
                }
            } else {
                self.stream.write(now)?;
            }
            rest = later;
        }
        Ok(())
    }

    /// Lets the platform send the response, with the bytes written so far and later.
    fn hand_over(&mut self) {
        if let Some((outparam, response)) = self.unsent.take() {
            ResponseOutparam::set(outparam, Ok(response));
        }
    }
}
