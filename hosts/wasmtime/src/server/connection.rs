//! Serves one connection: reads requests and writes responses until the client leaves or
//! the connection loses its slot.
//!
//! The slots are in `connection_slots`.

use std::{
    convert::Infallible,
    io::{self, IoSlice, Read as _, Write as _},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, UNIX_EPOCH},
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Request, Response,
    header::{CONNECTION, DATE, TRANSFER_ENCODING},
    request::Parts,
};
use hyper::{
    body::{Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulConnection,
};
use shared_context_core::time::Timestamp;
use shared_context_wire::{Engine as _, http::Body};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::timeout,
};
use tokio_io_timeout::TimeoutStream;

use super::{
    BODY_TIME_MAX, BUFFER_BYTES_MAX, Shared,
    bodies::BodyError,
    connection_engine::ConnectionEngine,
    connection_slots::ConnectionSlot,
    unheard::{self, RejectionStream, RequestState},
};
use crate::{Failure, body::ResponseBody, throttled_reader::ThrottledReader};

/// The maximum number of bytes read from a client whose connection is rejected.
const UNREAD_BYTES_MAX: usize = 64 << 10;
/// The reason why a connection gets no slot.
const ALL_BUSY: &str = "all connections of the server are busy";

/// Returns the future that serves `stream` on `slot`.
pub(super) fn connection(
    stream: TcpStream,
    shared: Arc<Shared>,
    slot: Arc<ConnectionSlot>,
) -> impl GracefulConnection<Error = hyper::Error> + Send {
    // Small responses must not wait for each other. If this fails, they are only slower.
    drop(stream.set_nodelay(true));
    let mut timed = TimeoutStream::new(stream);
    timed.set_write_timeout(Some(shared.unread_time_max));
    let stream = TrackedStream { stream: Box::pin(timed), slot: Arc::clone(&slot) };
    let state = RequestState::default();
    let stream = RejectionStream::new(stream, Arc::clone(&shared), state.clone());
    let head_time_max = shared.head_time_max;
    let service = service_fn(move |request| {
        let (shared, slot, state) = (Arc::clone(&shared), Arc::clone(&slot), state.clone());
        state.note_request();
        async move {
            let response = shared.respond(request, &slot).await;
            let mut response = shared.hold(response, &slot).await;
            response.headers_mut().insert(DATE, date(shared.engine.now()));
            Ok::<_, Infallible>(response.map(|body| {
                let body = ResponseBody::new(body, || shared.stream_engine_for(&slot));
                TrackedBody { body, slot, state }
            }))
        }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        // It panics from the year 10000 on, which would end the connection.
        .auto_date_header(false)
        .header_read_timeout(head_time_max)
        .max_buf_size(BUFFER_BYTES_MAX)
        // The buffer may be read into beyond that.
        .max_header_size(BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
}

/// Returns the `Date` header of a response (RFC 9110 §6.6.1), at most the last date that
/// the format can express.
pub(super) fn date(Timestamp(milliseconds): Timestamp) -> HeaderValue {
    const LAST_SECONDS: u64 = 253_402_300_799;
    let since = Duration::from_secs((milliseconds / 1_000).min(LAST_SECONDS));
    let date = httpdate::fmt_http_date(UNIX_EPOCH + since);
    HeaderValue::try_from(date).unwrap_or_else(|_| HeaderValue::from_static(""))
}

impl Shared {
    async fn respond(
        &self,
        request: Request<Incoming>,
        slot: &Arc<ConnectionSlot>,
    ) -> Response<Body> {
        slot.begin_body().await;
        let (head, body) = request.into_parts();
        if slot.is_reserved() && !self.http.is_for_operator(&head) {
            return self.overloaded(&head, ALL_BUSY);
        }
        let coding = unknown_coding(&head);
        let bytes_max = if coding.is_none() { self.http.body_bytes_max(&head) } else { 0 };
        let read = self.bodies.read(body, bytes_max, &self.slots);
        let response = match timeout(BODY_TIME_MAX, read).await {
            Ok(Ok(_) | Err(BodyError::TooLong)) if coding.is_some() => {
                let why = format!(
                    "Transfer-Encoding {:?} is not understood; send the body as it is, with its \
                     Content-Length or in chunks",
                    coding.unwrap_or_default()
                );
                self.reject(&head, "MALFORMED_REQUEST", why)
            }
            Ok(Ok(whole)) => {
                slot.begin_request().await;
                let request = Request::from_parts(head, whole.bytes.clone());
                let response = self.http.handle(&self.engine_for(slot), request).await;
                if !slot.is_reserved() {
                    return response;
                }
                response
            }
            Ok(Err(BodyError::TooLong)) => self.http.too_large(&self.engine, &head).await,
            Ok(Err(BodyError::NoMemory)) => {
                return self.overloaded(&head, "there is no room for another large request");
            }
            Ok(Err(BodyError::Broken)) => {
                let why = "the body did not arrive whole; send the request again";
                self.reject(&head, "MALFORMED_REQUEST", why.to_owned())
            }
            Err(_) => {
                let why = format!("the body did not arrive within {} s", BODY_TIME_MAX.as_secs());
                self.reject(&head, "MALFORMED_REQUEST", why)
            }
        };
        closing(response)
    }

    /// Returns the engine for requests on the connection of `slot`.
    fn engine_for(&self, slot: &Arc<ConnectionSlot>) -> ConnectionEngine {
        ConnectionEngine { engine: self.engine.clone(), slot: Arc::clone(slot) }
    }

    /// Returns the engine for a stream on the connection of `slot`.
    fn stream_engine_for(&self, slot: &Arc<ConnectionSlot>) -> ThrottledReader<ConnectionEngine> {
        ThrottledReader { engine: self.engine_for(slot), permits: self.engine.read_permits() }
    }

    /// Returns `response` if there is memory for it until it is sent, or an error.
    async fn hold(&self, response: Response<Body>, slot: &Arc<ConnectionSlot>) -> Response<Body> {
        let (head, body) = response.into_parts();
        let Body::Whole(bytes) = body else { return Response::from_parts(head, body) };
        if let Some(bytes) = self.answers.hold(bytes, slot, &self.slots).await {
            return Response::from_parts(head, Body::Whole(bytes));
        }
        let why = "there is no room for another large answer; what was asked for was done: read \
                   again in 2 seconds, and repeat a change only under its request_id";
        let failure = Failure::new("OVERLOADED", why);
        self.http.refuse_unread(&head.headers, None, &failure).map(Body::Whole)
    }

    fn overloaded(&self, head: &Parts, what: &str) -> Response<Body> {
        closing(self.http.refuse(head, overloaded(what)))
    }

    fn reject(&self, head: &Parts, code: &'static str, message: String) -> Response<Body> {
        self.http.refuse(head, Failure::new(code, message))
    }
}

/// Returns the transfer coding of the body if it is more than `chunked`, which the server
/// does not decode.
fn unknown_coding(head: &Parts) -> Option<String> {
    let codings = head.headers.get_all(TRANSFER_ENCODING).iter();
    let codings: Vec<_> = codings.map(|it| String::from_utf8_lossy(it.as_bytes())).collect();
    let codings = codings.join(", ");
    let is_known = codings.is_empty() || codings.trim().eq_ignore_ascii_case("chunked");
    (!is_known).then(|| codings.chars().take(80).collect())
}

/// Marks a response as the last one on its connection. The rest of the request may still be
/// on its way.
fn closing(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Returns the failure of a request for which there is no capacity.
fn overloaded(what: &str) -> Failure {
    Failure::new("OVERLOADED", format!("{what}; nothing was changed, try again in 2 seconds"))
}

/// Rejects a connection for which there is no slot, without blocking.
pub(super) fn reject(stream: TcpStream, shared: &Shared) {
    // Written without waiting: what the client's system does not accept at once is lost.
    let Ok(mut stream) = stream.into_std() else { return };
    let response = shared.http.refuse_unread(&HeaderMap::new(), None, &overloaded(ALL_BUSY));
    drop(stream.write_all(&unheard::to_bytes(response, shared)));
    drop(stream.shutdown(std::net::Shutdown::Write));
    // Closing with unread input would discard the response.
    drop(stream.read(&mut vec![0; UNREAD_BYTES_MAX]));
}

/// A response body. When it has been handed over, the slot is idle.
struct TrackedBody {
    body: ResponseBody,
    slot: Arc<ConnectionSlot>,
    state: RequestState,
}

impl hyper::body::Body for TrackedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        self.slot.response_ready();
        self.state.note_response();
    }
}

/// A stream that notifies its slot when the client accepts bytes.
struct TrackedStream {
    stream: Pin<Box<TimeoutStream<TcpStream>>>,
    slot: Arc<ConnectionSlot>,
}

impl TrackedStream {
    fn note_written(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(1..)) = written {
            self.slot.note_read();
        }
        written
    }
}

impl AsyncRead for TrackedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_read(context, buffer)
    }
}

impl AsyncWrite for TrackedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream.as_mut().poll_write(context, bytes);
        self.note_written(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream.as_mut().poll_write_vectored(context, bytes);
        self.note_written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(context)
    }
}
