//! Response bodies: complete, or a live stream.
//!
//! Invariant: a stream produces one piece at a time, and only when the connection has room
//! for it.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use shared_context_wire::http::{self, Watch};

use crate::{server::ConnectionEngine, throttled_reader::ThrottledReader};

/// A response body.
pub(crate) enum ResponseBody {
    Whole(Full<Bytes>),
    Live(ThrottledReader<ConnectionEngine>, Next),
    /// A stream that has ended.
    Ended,
}

/// The future of a stream's next piece.
type Next = Pin<Box<dyn Future<Output = (Box<Watch>, Option<Bytes>)> + Send>>;

impl ResponseBody {
    /// Creates the response body for `body`. A live stream reads through `engine`.
    pub(crate) fn new(
        body: http::Body,
        engine: impl FnOnce() -> ThrottledReader<ConnectionEngine>,
    ) -> Self {
        match body {
            http::Body::Whole(bytes) => Self::Whole(Full::new(bytes)),
            http::Body::Live(watch) => {
                let engine = engine();
                let next = next(&engine, watch);
                Self::Live(engine, next)
            }
            // Not reached: the wire is configured without sockets on this host.
            http::Body::Socket(_) => Self::Ended,
        }
    }
}

fn next(engine: &ThrottledReader<ConnectionEngine>, mut watch: Box<Watch>) -> Next {
    let engine = engine.clone();
    Box::pin(async move {
        let piece = watch.next(&engine).await;
        (watch, piece)
    })
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        match this {
            Self::Whole(body) => Pin::new(body).poll_frame(context),
            Self::Live(engine, next_piece) => {
                let (watch, piece) = std::task::ready!(next_piece.as_mut().poll(context));
                let frame = piece.map(|it| Ok(Frame::data(it)));
                *this = match frame {
                    Some(_) => Self::Live(engine.clone(), next(engine, watch)),
                    None => Self::Ended,
                };
                Poll::Ready(frame)
            }
            Self::Ended => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Live(..) => false,
            Self::Ended => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Live(..) => SizeHint::default(),
            Self::Ended => SizeHint::with_exact(0),
        }
    }
}
