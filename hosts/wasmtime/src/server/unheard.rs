//! Error messages for input that is rejected before it is a request.
//!
//! hyper answers a head that is too long or is not HTTP with a bare status, and offers no
//! way to add a body. So its response is replaced as it is written. Then the rest of the
//! client's input is read, because closing with unread input would discard the response.
//! Errors of requests that were received are in `wire`.
//!
//! # Invariant
//!
//! A response is replaced only while no received request is unanswered or unsent. So a
//! response that a client can influence is never mistaken for a bare one.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, Bytes};
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{CONNECTION, CONTENT_LENGTH, DATE},
};
use shared_context_wire::Engine as _;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

use super::{BUFFER_BYTES_MAX, Shared, connection};
use crate::Failure;

/// The limits for reading the rest: its bytes, and the time for them to arrive.
const REST_BYTES_MAX: usize = 2 << 20;
const REST_TIME_MAX: Duration = Duration::from_secs(1);

/// The state of the current request of a connection. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestState(Arc<AtomicU8>);

/// No request, or its response was sent.
const IDLE: u8 = 0;
/// A request was received.
const RECEIVED: u8 = 1;
/// Its response is complete, but may be unsent.
const ANSWERED: u8 = 2;

impl RequestState {
    /// Notes that a request was received.
    pub(super) fn note_request(&self) {
        self.0.store(RECEIVED, Ordering::Relaxed);
    }

    /// Notes that its response is complete.
    pub(super) fn note_response(&self) {
        self.0.store(ANSWERED, Ordering::Relaxed);
    }

    /// Notes that all written bytes were sent. Returns true if that ended the request.
    fn note_sent(&self) -> bool {
        let sent = self.0.compare_exchange(ANSWERED, IDLE, Ordering::Relaxed, Ordering::Relaxed);
        sent.is_ok()
    }

    fn is_idle(&self) -> bool {
        self.0.load(Ordering::Relaxed) == IDLE
    }
}

/// A stream that adds an error message to hyper's bare rejections.
pub(super) struct RejectionStream<S> {
    stream: S,
    shared: Arc<Shared>,
    state: RequestState,
    /// The length so far of the first line of the current head.
    line_bytes: usize,
    has_line: bool,
    rejection: Option<Rejection>,
}

/// The response that replaces a bare rejection.
struct Rejection {
    unsent: Bytes,
    /// The length of the bare rejection.
    bytes: usize,
    rest_bytes: usize,
    rest_time: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> RejectionStream<S> {
    pub(super) fn new(stream: S, shared: Arc<Shared>, state: RequestState) -> Self {
        Self { stream, shared, state, line_bytes: 0, has_line: false, rejection: None }
    }

    /// Writes the rejection in progress, and returns the length of the bare one it
    /// replaces.
    fn poll_rejection(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(rejection) = &mut self.rejection else { return Poll::Ready(Ok(0)) };
        while rejection.unsent.has_remaining() {
            let stream = Pin::new(&mut self.stream);
            match ready!(stream.poll_write(context, &rejection.unsent))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => rejection.unsent.advance(sent),
            }
        }
        Poll::Ready(Ok(rejection.bytes))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for RejectionStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if !self.has_line {
            let read = buffer.filled().get(before..).unwrap_or_default();
            let end = read.iter().position(|it| *it == b'\n');
            self.line_bytes = self.line_bytes.saturating_add(end.unwrap_or(read.len()));
            self.has_line = end.is_some();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for RejectionStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.rejection.is_none() && self.state.is_idle() {
            self.rejection = Rejection::replacing(bytes, self.line_bytes, &self.shared);
        }
        if self.rejection.is_some() {
            return self.poll_rejection(context);
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.state.is_idle() {
            let bytes: Vec<u8> = pieces.iter().flat_map(|it| it.iter().copied()).collect();
            return self.poll_write(context, &bytes);
        }
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        if self.state.note_sent() {
            (self.line_bytes, self.has_line) = (0, false);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        let Self { stream, rejection: Some(rejection), .. } = &mut *self else {
            return Poll::Ready(Ok(()));
        };
        let time = rejection.rest_time.get_or_insert_with(|| Box::pin(sleep(REST_TIME_MAX)));
        let mut rest = [0; 8 << 10];
        while rejection.rest_bytes < REST_BYTES_MAX {
            let mut rest = ReadBuf::new(&mut rest);
            match Pin::new(&mut *stream).poll_read(context, &mut rest) {
                Poll::Ready(Ok(())) if !rest.filled().is_empty() => {
                    rejection.rest_bytes += rest.filled().len();
                }
                Poll::Ready(_) => break,
                Poll::Pending => {
                    ready!(time.as_mut().poll(context));
                    break;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Rejection {
    /// Builds the rejection that replaces `bare`; `None` if `bare` is not a bare rejection.
    /// `line_bytes` is the received length of the head's first line.
    fn replacing(bare: &[u8], line_bytes: usize, shared: &Shared) -> Option<Self> {
        let head = str::from_utf8(bare).ok()?.strip_suffix("\r\n\r\n")?;
        let status_line = head.strip_prefix("HTTP/1.1 ")?;
        let kib = BUFFER_BYTES_MAX >> 10;
        let (status, message) = match status_line.get(..3)? {
            "431" if line_bytes < BUFFER_BYTES_MAX / 2 => (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                format!(
                    "the head of the request is longer than {kib} KiB, or has more than 100 \
                     headers; send fewer and shorter ones"
                ),
            ),
            // RFC 9112 §3.
            "414" | "431" => (
                StatusCode::URI_TOO_LONG,
                format!(
                    "the head of the request is longer than {kib} KiB, and most of it is the \
                     target; what is long belongs into a body"
                ),
            ),
            "400" => (
                StatusCode::BAD_REQUEST,
                "this is no request of HTTP/1.1: look at its first line, at the form of its \
                 headers, and at Content-Length and Transfer-Encoding; the server speaks no TLS"
                    .to_owned(),
            ),
            _ => return None,
        };
        let failure = Failure::new("MALFORMED_REQUEST", message);
        let response = shared.http.refuse_unread(&HeaderMap::new(), Some(status), &failure);
        let unsent = to_bytes(response, shared);
        Some(Self { unsent, bytes: bare.len(), rest_bytes: 0, rest_time: None })
    }
}

/// Serializes `response` and announces that the connection is closed after it.
pub(super) fn to_bytes(mut response: Response<Bytes>, shared: &Shared) -> Bytes {
    let length = response.body().len();
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, length.into());
    headers.insert(DATE, connection::date(shared.engine.now()));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    let status = response.status();
    let reason = status.canonical_reason().unwrap_or_default();
    let mut bytes = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
    for (name, value) in response.headers() {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(response.body());
    bytes.into()
}
