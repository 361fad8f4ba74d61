//! Requests, as the wire reads them.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri, header::HOST, request::Parts};
use shared_context_codec::Failure;

use crate::{
    bindings::wasi::{
        http::types::{self, IncomingRequest},
        io::streams::{InputStream, StreamError},
    },
    wait,
};

/// How much of a body is asked for at a time.
const PIECE_BYTES: u64 = 64 << 10;

/// How much of a body that is too long is still read, so that a client that sends all
/// before it listens hears why it is refused.
const REFUSED_BYTES_MAX: usize = 32 << 20;

/// What came of a request's body.
pub(crate) enum Arrived {
    /// All of it.
    Whole(Bytes),
    /// More than is read.
    TooLong,
    /// A part of it; the rest will not come.
    Cut,
}

/// Returns the head of `request`. What no head of HTTP can hold does not get here: the
/// platform refuses it.
pub(crate) fn head(request: &IncomingRequest) -> Parts {
    let mut head = Request::new(()).into_parts().0;
    head.method = method(request.method());
    let target = request.path_with_query().unwrap_or_default();
    head.uri = target.parse().unwrap_or_else(|_| Uri::from_static("/"));
    for (name, value) in request.headers().entries() {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(&value)) {
            head.headers.append(name, value);
        }
    }
    // It is kept apart from the headers.
    if let Some(authority) = request.authority().and_then(|it| HeaderValue::try_from(it).ok()) {
        head.headers.entry(HOST).or_insert(authority);
    }
    head
}

fn method(method: types::Method) -> Method {
    match method {
        types::Method::Get => Method::GET,
        types::Method::Head => Method::HEAD,
        types::Method::Post => Method::POST,
        types::Method::Put => Method::PUT,
        types::Method::Delete => Method::DELETE,
        types::Method::Connect => Method::CONNECT,
        types::Method::Options => Method::OPTIONS,
        types::Method::Trace => Method::TRACE,
        types::Method::Patch => Method::PATCH,
        types::Method::Other(name) => name.parse().unwrap_or_default(),
    }
}

/// Reads the body of `request`, `bytes_max` at most.
pub(crate) fn body(request: &IncomingRequest, bytes_max: usize) -> Arrived {
    let Ok(body) = request.consume() else { return Arrived::Cut };
    let Ok(stream) = body.stream() else { return Arrived::Cut };
    let mut read = Vec::new();
    while read.len() <= bytes_max {
        match piece(&stream) {
            Some(Ok(piece)) if read.is_empty() => read = piece,
            Some(Ok(piece)) => read.extend_from_slice(&piece),
            Some(Err(StreamError::Closed)) => return Arrived::Whole(read.into()),
            Some(Err(StreamError::LastOperationFailed(_))) | None => return Arrived::Cut,
        }
    }
    let mut bytes = read.len();
    drop(read);
    while bytes < REFUSED_BYTES_MAX
        && let Some(Ok(piece)) = piece(&stream)
    {
        bytes = bytes.saturating_add(piece.len());
    }
    Arrived::TooLong
}

/// Reads some of a body; `None` when its client sends nothing.
fn piece(stream: &InputStream) -> Option<Result<Vec<u8>, StreamError>> {
    wait::is_ready_in_time(&stream.subscribe()).then(|| stream.read(PIECE_BYTES))
}

/// Returns why a request whose body was [`Arrived::Cut`] is refused.
pub(crate) fn cut() -> Failure {
    Failure::new("MALFORMED_REQUEST", "the body did not arrive whole; send the request again")
}
