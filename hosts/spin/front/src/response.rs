//! Responses, as Spin sends them.
//!
//! A body is written before its response is handed over, as far as it fits:
//! otherwise the platform flushes head and body apart, and a client on a kept-alive
//! connection waits 40 ms for the second packet.

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

/// A response of the wire.
pub(crate) type Response = http::Response<Body>;

/// Sends `response` to a request with this `method`, to its end.
pub(crate) fn send(
    place: ResponseOutparam,
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
    // Every code that there is can be set.
    let _ = response.set_status_code(head.status.as_u16());
    // Taken once.
    let Ok(outgoing) = response.body() else { return };
    let Ok(stream) = outgoing.write() else { return };
    let mut sending = Sending { stream: &stream, unsent: Some((place, response)) };
    match body {
        Body::Whole(body) => drop(sending.write(&body)),
        Body::Live(watch) => tell(&mut sending, *watch, &engine.sending(&stream)),
        // This host says that it has no sockets.
        Body::Socket(_) => {}
    }
    let unsent = sending.unsent;
    drop(stream);
    // A body that is shorter than its length says was cut off by the client.
    let _ = OutgoingBody::finish(outgoing, None);
    if let Some((place, response)) = unsent {
        ResponseOutparam::set(place, Ok(response));
    }
}

/// Tells what `watch` does while the client stays.
fn tell(sending: &mut Sending<'_>, mut watch: Watch, engine: &Engine<'_>) {
    while let Some(piece) = at_once(watch.next(engine)) {
        if sending.write(&piece).is_err() {
            return;
        }
        sending.hand_over();
    }
}

/// Returns whether the length of the body is said: it is where there may be one.
fn has_length(method: &Method, status: StatusCode) -> bool {
    method != Method::HEAD && status != StatusCode::NO_CONTENT && status != StatusCode::NOT_MODIFIED
}

fn fields(headers: &HeaderMap) -> Fields {
    let fields = Fields::new();
    for (name, value) in headers {
        // What the platform sets itself, it refuses here.
        let _ = fields.append(name.as_str(), value.as_bytes());
    }
    fields
}

/// A body on its way.
struct Sending<'s> {
    stream: &'s OutputStream,
    /// The response, until it is handed over.
    unsent: Option<(ResponseOutparam, OutgoingResponse)>,
}

impl Sending<'_> {
    /// Writes all of `bytes`; hands the response over when there is no more room.
    ///
    /// # Errors
    ///
    /// The client has left, or reads nothing.
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

    /// Lets the platform send what there is, and what is written from now on.
    fn hand_over(&mut self) {
        if let Some((place, response)) = self.unsent.take() {
            ResponseOutparam::set(place, Ok(response));
        }
    }
}
