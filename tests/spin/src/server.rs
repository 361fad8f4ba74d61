//! The HTTP server: passes each request to a new instance of the component that its path
//! is routed to.
//!
//! As in Spin:
//!
//! - It speaks HTTP/1.1 with kept-alive connections and the system's default socket
//!   options. `TCP_NODELAY` is not set, so a head and a body that are sent separately
//!   arrive about 40 ms apart on a reused connection.
//! - The head is sent as soon as the component sets it, and the body as it is written.
//! - If a component ends without a head, by a trap or not, the answer is 500 without a
//!   body. If it traps later, the body ends there. It then looks complete, unless its
//!   length was declared.
//! - An instance whose client disconnects before there is a head runs to its end. If the
//!   client disconnects later, or when the body is complete, see [`Leaving`].
//! - The runtime adds request headers that begin with `spin-`, after headers of the same
//!   name from the client.
//!
//! TLS, HTTP/2 and components that call each other are not supported.

use std::{
    net::SocketAddr,
    pin::Pin,
    str,
    sync::Arc,
    task::{Context, Poll},
};

use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, Uri, header::HOST, uri};
use http_body_util::{BodyExt as _, Empty, Full, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, sync::oneshot, task::AbortHandle};
use wasmtime::Store;
use wasmtime_wasi_http::{Error, WasiHttpView as _, p2::bindings::http::types::Scheme};

use crate::{
    app::{App, LinkedComponent, explained},
    host::Host,
    routes::{Match, WELL_KNOWN},
};

type Body = UnsyncBoxBody<Bytes, Error>;

/// The behaviour of an instance whose client disconnects after the response's head was
/// sent, or has received the whole body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Leaving {
    /// The instance is aborted where it next waits for its host, as in Spin since 4.1.
    #[default]
    EndsIt,
    /// The instance continues; its next write fails if its client has disconnected. This is
    /// the behaviour of earlier versions of Spin.
    FailsItsWrites,
}

/// Serves the connections to `listener` until the runtime ends.
pub(crate) async fn serve(listener: TcpListener, app: Arc<App>, leaving: Leaving) {
    loop {
        // Out of file descriptors: wait until connections are closed.
        let Ok((stream, client)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            continue;
        };
        let app = Arc::clone(&app);
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let app = Arc::clone(&app);
                async move { handle(&app, request, client, leaving).await }
            });
            let served = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
            // The client has disconnected, or does not speak HTTP.
            drop(served.await);
        });
    }
}

/// Answers one request.
///
/// # Errors
///
/// The request's host is missing or contradictory: the connection is closed.
async fn handle(
    app: &App,
    mut request: Request<Incoming>,
    client: SocketAddr,
    leaving: Leaving,
) -> anyhow::Result<Response<Body>> {
    if let Some(name) = request.uri().path().strip_prefix(WELL_KNOWN) {
        return Ok(if name == "health" { full("OK") } else { status(StatusCode::NOT_FOUND) });
    }
    let path = request.uri().path().to_owned();
    let found = app.router.find(&path);
    let Some((found, linked)) =
        found.and_then(|it| app.component(&it.route.component).map(|linked| (it, linked)))
    else {
        return Ok(status(StatusCode::NOT_FOUND));
    };
    complete_uri(&mut request)?;
    let answered = match add_headers(&mut request, &found, client) {
        Ok(()) => run(linked, request, leaving).await,
        Err(error) => Err(error),
    };
    Ok(answered.unwrap_or_else(|error| {
        let component = &linked.component;
        component.shared.failures.add(&component.name, &format!("{error:#}"));
        status(StatusCode::INTERNAL_SERVER_ERROR)
    }))
}

/// Runs a new instance; returns when it has set the response's head.
async fn run(
    linked: &LinkedComponent,
    request: Request<Incoming>,
    leaving: Leaving,
) -> anyhow::Result<Response<Body>> {
    let LinkedComponent { component, pre } = linked;
    let mut store = Store::new(pre.engine(), Host::new(Arc::clone(component)));
    let instance = pre.instantiate_async(&mut store).await.map_err(explained)?;
    let (sender, head) = oneshot::channel();
    let mut http = store.data_mut().http();
    let request = http.new_incoming_request(Scheme::Http, request).map_err(explained)?;
    let response = http.new_response_outparam(sender).map_err(explained)?;
    let task = tokio::spawn(async move {
        let handler = instance.wasi_http_incoming_handler();
        handler.call_handle(&mut store, request, response).await
    });
    let end = task.abort_handle();
    let Ok(response) = head.await else {
        // The store was dropped, and the sender with it.
        task.await.context("the component panicked")?.map_err(explained)?;
        return Err(anyhow!("the component ended without a response"));
    };
    let owner = Arc::clone(component);
    tokio::spawn(async move {
        let trapped = match task.await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => format!("after the response began: {error:#}"),
            Err(error) if error.is_cancelled() => return,
            Err(error) => format!("after the response began: {error}"),
        };
        owner.shared.failures.add(&owner.name, &trapped);
    });
    let response = response.context("the component set an error in place of a response")?;
    Ok(match leaving {
        Leaving::EndsIt => response.map(|body| AbortOnDrop { body, end }.boxed_unsync()),
        Leaving::FailsItsWrites => response,
    })
}

/// A body that aborts the instance which writes it when it is dropped.
struct AbortOnDrop {
    body: Body,
    end: AbortHandle,
}

impl hyper::body::Body for AbortOnDrop {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.end.abort();
    }
}

/// Adds scheme and host to the request's URI, which has only a path.
fn complete_uri(request: &mut Request<Incoming>) -> anyhow::Result<()> {
    let header = request.headers().get(HOST);
    let header = header.map(|it| uri::Authority::try_from(it.as_bytes())).transpose()?;
    let mut parts = request.uri().clone().into_parts();
    parts.authority = match (header, parts.authority) {
        (Some(header), Some(address)) if header != address => {
            return Err(anyhow!("the header `Host` is not the host of the address"));
        }
        (header, address) => header.or(address),
    };
    anyhow::ensure!(parts.authority.is_some(), "there is no header `Host`");
    parts.scheme = Some(uri::Scheme::HTTP);
    *request.uri_mut() = Uri::from_parts(parts)?;
    Ok(())
}

/// Adds the headers by which Spin describes the request to components.
fn add_headers(
    request: &mut Request<Incoming>,
    found: &Match<'_>,
    client: SocketAddr,
) -> anyhow::Result<()> {
    for (name, value) in request.headers() {
        str::from_utf8(value.as_bytes()).with_context(|| format!("the header {name}"))?;
    }
    let route = found.route;
    let full_url = request.uri().to_string();
    let added = [
        ("spin-path-info", found.rest.as_str()),
        ("spin-full-url", &full_url),
        ("spin-matched-route", &route.raw),
        ("spin-base-path", "/"),
        ("spin-raw-component-route", &route.raw),
        ("spin-component-route", route.prefix()),
        ("spin-client-addr", &client.to_string()),
    ];
    for (name, value) in added {
        let value = HeaderValue::from_str(value)?;
        request.headers_mut().append(HeaderName::from_static(name), value);
    }
    Ok(())
}

fn full(text: &'static str) -> Response<Body> {
    Response::new(Full::from(text).map_err(Error::from).boxed_unsync())
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Empty::new().map_err(Error::from).boxed_unsync());
    *response.status_mut() = status;
    response
}
