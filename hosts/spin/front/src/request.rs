//! Converts Spin's requests for the wire.

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

/// The number of bytes of a body to read at a time.
const PIECE_BYTES: u64 = 64 << 10;

/// The part of a too long body that is still read, so that a client which sends its whole
/// body before it reads gets the error response.
const DRAINED_BYTES_MAX: usize = 32 << 20;

/// The result of reading a request's body.
pub(crate) enum BodyRead {
    /// The whole body.
    Whole(Bytes),
    /// The body is longer than the limit.
    TooLong,
    /// The client stopped sending before the end.
    Incomplete,
}

/// Converts the head of `request`. The platform has already rejected heads that are not
/// valid HTTP.
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
    // WASI keeps the host apart from the headers.
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

/// Reads the body of `request`, at most `bytes_max` bytes.
pub(crate) fn body(request: &IncomingRequest, bytes_max: usize) -> BodyRead {
    let Ok(body) = request.consume() else { return BodyRead::Incomplete };
    let Ok(stream) = body.stream() else { return BodyRead::Incomplete };
    let mut read = Vec::new();
    while read.len() <= bytes_max {
        match piece(&stream) {
            Some(Ok(piece)) if read.is_empty() => read = piece,
            Some(Ok(piece)) => read.extend_from_slice(&piece),
            Some(Err(StreamError::Closed)) => return BodyRead::Whole(read.into()),
            Some(Err(StreamError::LastOperationFailed(_))) | None => return BodyRead::Incomplete,
        }
    }
    let mut bytes = read.len();
    drop(read);
    while bytes < DRAINED_BYTES_MAX
        && let Some(Ok(piece)) = piece(&stream)
    {
        bytes = bytes.saturating_add(piece.len());
    }
    BodyRead::TooLong
}

/// Reads a piece of a body; returns `None` if the client sends nothing in time.
fn piece(stream: &InputStream) -> Option<Result<Vec<u8>, StreamError>> {
    wait::is_ready_in_time(&stream.subscribe()).then(|| stream.read(PIECE_BYTES))
}

/// Returns the error for a request whose body is [`BodyRead::Incomplete`].
pub(crate) fn incomplete_body() -> Failure {
    Failure::new("MALFORMED_REQUEST", "the body did not arrive whole; send the request again")
}
