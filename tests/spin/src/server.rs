//! HTTP: each request is given to a fresh instance of the component its path belongs to.
//!
//! As with Spin:
//!
//! - HTTP/1.1 with connections that are kept alive; sockets are left as the system makes
//!   them. `TCP_NODELAY` is not set, so a head and a body that are sent apart arrive some
//!   40 ms apart on a connection that was used before.
//! - The head is sent as soon as the component sets it, and what it writes of the body
//!   flows while it goes on.
//! - A component that ends without a head, by a trap or not, is answered 500 without a
//!   body. One that traps later ends the body where it was: as if it were whole, unless
//!   its length was announced.
//! - An instance whose client is gone before there is a head goes on to its end. When it
//!   goes later, or when the body is complete, see [`Leaving`].
//! - The runtime adds request headers that begin with `spin-`, behind those of the same
//!   name that the client may have sent.
//!
//! Not here: TLS, HTTP/2, and components that call each other.

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
    app::{App, Served, explained},
    host::Host,
    routes::{Match, WELL_KNOWN},
};

type Body = UnsyncBoxBody<Bytes, Error>;

/// What becomes of an instance whose client is gone after the response's head was sent,
/// or has all of the body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Leaving {
    /// It is ended where it next waits for its host: Spin since 4.1.
    #[default]
    EndsIt,
    /// It goes on; its next write fails, if its client is gone. Spin before.
    FailsItsWrites,
}

/// Answers whoever connects to `listener`, until the runtime ends.
pub(crate) async fn serve(listener: TcpListener, app: Arc<App>, leaving: Leaving) {
    loop {
        // Out of files: those that are open will be closed.
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
            // The client is gone, or speaks no HTTP.
            drop(served.await);
        });
    }
}

/// # Errors
///
/// There is no telling whom the request is for: the connection is closed.
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
    let Some((found, served)) =
        found.and_then(|it| app.component(&it.route.component).map(|served| (it, served)))
    else {
        return Ok(status(StatusCode::NOT_FOUND));
    };
    complete_uri(&mut request)?;
    let answered = match add_headers(&mut request, &found, client) {
        Ok(()) => run(served, request, leaving).await,
        Err(error) => Err(error),
    };
    Ok(answered.unwrap_or_else(|error| {
        let component = &served.component;
        component.shared.failures.add(&component.name, &format!("{error:#}"));
        status(StatusCode::INTERNAL_SERVER_ERROR)
    }))
}

/// Runs a fresh instance; returns when it has set the response's head.
async fn run(
    served: &Served,
    request: Request<Incoming>,
    leaving: Leaving,
) -> anyhow::Result<Response<Body>> {
    let Served { component, pre } = served;
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
        // The store is gone, and the sender with it.
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
        Leaving::EndsIt => response.map(|body| Held { body, end }.boxed_unsync()),
        Leaving::FailsItsWrites => response,
    })
}

/// A body that ends the instance which writes it when it is dropped.
struct Held {
    body: Body,
    end: AbortHandle,
}

impl hyper::body::Body for Held {
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

impl Drop for Held {
    fn drop(&mut self) {
        self.end.abort();
    }
}

/// Puts scheme and host into the request's address, which names only a path.
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

/// Adds what Spin tells components of the request.
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
