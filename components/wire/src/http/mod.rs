//! HTTP: takes a complete request and returns a response, complete or as a live stream.
//!
//! [`Http::handle`] finds the route, authenticates the caller, enforces rate limits, and calls the
//! endpoint. The host owns sockets, TLS, timeouts and reading the body. It stops reading a body at
//! [`Http::body_bytes_max`] and responds with [`Http::too_large`].
//!
//! # Invariant
//!
//! Every request gets exactly one response with an `X-Request-Id`, and every error is a problem
//! document with the tool's `error` object. That includes rejections of unparsed requests: see
//! [`Http::refuse_unread`].

mod act;
mod body;
mod call;
pub(crate) mod changes;
pub(crate) mod code;
mod cors;
mod cursor;
mod destination;
mod dispatch;
mod documents;
pub(crate) mod entries;
mod event;
mod finish;
mod kept;
mod limit;
mod listing;
mod mcp;
pub(crate) mod media;
#[cfg(feature = "memory-tool")]
mod memory;
mod metrics;
mod options;
mod origin;
mod permits;
mod portable;
mod precondition;
mod query;
mod respond;
pub(crate) mod route;
mod sessions;
mod socket;
mod streams;
pub(crate) mod table;
mod tool;
mod trace;
mod watch;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE},
    request::Parts,
};
use shared_context_codec::{Failure, System};
use shared_context_core::ScopeKind;

use self::{
    call::Call,
    kept::InProcessState,
    origin::ServerAddress,
    query::Query,
    route::RouteMatch,
    table::{Access, Endpoint, Operation},
    trace::RequestIds,
};
use crate::{
    Engine,
    credential::{Identity, Keys},
};

pub(crate) use self::{
    body::{JsonText, Object, repeated},
    call::{invalid_reply, scope},
    changes::{Page, WAIT_SECONDS_MAX, Wait, revision},
    cursor::Cursor,
    event::EventFormatter,
    listing::position_before,
    permits::Permit,
    precondition::single,
    respond::merge_objects,
    streams::Streams,
    tool::ToolRequest,
};
pub use cors::CorsOrigins;
pub use limit::RateLimit;
pub use options::{Consistency, Options, parse_public_url, parse_rate};
pub use socket::{Ending, Socket};
pub use table::{BODY_BYTES_MAX, CONTEXT_BYTES_MAX, DOCUMENT_BYTES_MAX};
pub use watch::Watch;

/// Path of RFC 9728's metadata document of `/mcp`.
const METADATA_PATH: &str = "/.well-known/oauth-protected-resource/mcp";
/// The methods of all routes.
const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// The body of a response.
#[derive(Debug)]
pub enum Body {
    /// The complete body.
    Whole(Bytes),
    /// A live stream, sent piece by piece while the client stays: see [`Watch::next`].
    Live(Box<Watch>),
    /// The same as messages of a WebSocket, to which the connection is upgraded: see [`Socket`].
    /// Only for hosts that [have sockets](Options::has_sockets).
    Socket(Box<Socket>),
}

/// The HTTP interface. One instance serves all requests of a server, from any number of threads, or
/// a single request if it is not [kept](Options::is_kept).
#[derive(Debug)]
pub struct Http {
    keys: Arc<Keys>,
    /// In-process state between requests; `None` without such state.
    state: Option<InProcessState>,
    streams: Streams,
    request_ids: RequestIds,
    consistency: Consistency,
    address: ServerAddress,
    cors_origins: CorsOrigins,
    has_sockets: bool,
}

impl Http {
    /// Creates an interface with these options.
    pub fn new(options: Options) -> Self {
        let Options {
            keys,
            rate_limit,
            connections_max,
            request_id_seed,
            consistency,
            public_url,
            cors_origins,
            is_local,
            has_sockets,
            is_kept,
        } = options;
        let state = is_kept.then(|| InProcessState::new(rate_limit, connections_max));
        let streams = match &state {
            Some(state) => Streams::new(state.metrics.streams(), rate_limit),
            None => Streams::default(),
        };
        Self {
            keys: Arc::new(keys),
            state,
            streams,
            request_ids: RequestIds::new(request_id_seed),
            consistency,
            address: ServerAddress::new(public_url, cors_origins.clone(), is_local),
            cors_origins,
            has_sockets,
        }
    }

    /// Handles one request with `engine`. It never fails: errors are in the response.
    ///
    /// The future may be dropped at any time; a change that was already requested may still happen.
    pub async fn handle<E: Engine>(&self, engine: &E, request: Request<Bytes>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let fits = body.len() <= BODY_BYTES_MAX || body.len() <= self.body_bytes_max(&head);
        self.respond(engine, &head, fits.then_some(&body)).await
    }

    /// Returns the longest body, in bytes, that a host should read for the request with this
    /// `head`. Only the operator may send session documents, and only a caller with a credential
    /// may send many texts. So no one else can fill a host's memory.
    pub fn body_bytes_max(&self, head: &Parts) -> usize {
        let operation = route::find(head.uri.path(), &head.method).and_then(|it| it.operation);
        let takes = operation.map_or(BODY_BYTES_MAX, |it| it.endpoint.body_bytes_max());
        if takes <= BODY_BYTES_MAX {
            return takes;
        }
        match single(&head.headers, &AUTHORIZATION) {
            Ok(Some(authorization)) if self.keys.is_admin(authorization) => takes,
            Ok(Some(authorization)) if takes == CONTEXT_BYTES_MAX => {
                self.keys.expiry_of(authorization).map_or(BODY_BYTES_MAX, |_| takes)
            }
            _ => BODY_BYTES_MAX,
        }
    }

    /// Returns true if the request is the operator's or asks for the server's state: a host at its
    /// limit still serves these.
    pub fn is_for_operator(&self, head: &Parts) -> bool {
        let operation = route::find(head.uri.path(), &head.method).and_then(|it| it.operation);
        operation.is_some_and(|it| it.access == Access::Open)
            || single(&head.headers, &AUTHORIZATION)
                .is_ok_and(|it| it.is_some_and(|it| self.keys.is_admin(it)))
    }

    /// Rejects a request whose body is longer than [`Http::body_bytes_max`], so that a host can
    /// stop reading it there. Earlier errors take precedence, such as a missing credential.
    pub async fn too_large<E: Engine>(&self, engine: &E, head: &Parts) -> Response<Body> {
        self.respond(engine, head, None).await
    }

    /// Handles a request; `body` is `None` if it is too long.
    async fn respond<E: Engine>(
        &self,
        engine: &E,
        head: &Parts,
        body: Option<&Bytes>,
    ) -> Response<Body> {
        let started = engine.monotonic_micros();
        let matched = route::find(head.uri.path(), &head.method);
        let mut headers = HeaderMap::new();
        let answer = self.answer(engine, head, body, matched.as_ref(), started, &mut headers).await;
        let micros = body.map(|_| engine.monotonic_micros().saturating_sub(started));
        self.finish(head, matched.as_ref(), answer, headers, micros)
    }

    /// Authenticates the request and calls its endpoint. Headers for every response to it, also for
    /// errors, go to `headers`.
    async fn answer<E: Engine>(
        &self,
        engine: &E,
        head: &Parts,
        body: Option<&Bytes>,
        matched: Option<&RouteMatch<'_>>,
        now_micros: u64,
        headers: &mut HeaderMap,
    ) -> Result<Response<Body>, Failure> {
        origin::expect_host(head)?;
        if head.method == Method::OPTIONS && head.uri.path() == "*" {
            // The server as a whole (RFC 9110 §9.3.7).
            headers.insert(ALLOW, HeaderValue::from_static(METHODS));
            return Ok(whole(respond::empty(StatusCode::NO_CONTENT)));
        }
        let Some(matched) = matched else { return Err(route::unknown(head.uri.path())) };
        let operation = matched.operation.as_ref();
        let Some(operation) = operation.filter(|it| self.offers(it.endpoint)) else {
            return self.method_not_allowed(head, headers).map(whole);
        };
        // Also without a credential: health changes, and a document changes with the version.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let too_large = || too_large(operation.endpoint, &head.headers);
        if operation.access == Access::Open {
            body.ok_or_else(too_large)?;
            media::expect_acceptable(&head.headers, operation)?;
            let query = Query::parse(head.uri.query(), operation.query)?;
            return self.open(engine, head, operation, &query).map(whole);
        }
        let wants_socket = self.has_sockets
            && matches!(operation.endpoint, Endpoint::ReadChanges | Endpoint::ReadProjectChanges)
            && socket::is_upgrade(&head.method, &head.headers);
        if operation.access == Access::Credential || wants_socket {
            self.address.check(&head.headers, &head.uri)?;
        }
        let identity = self.identify(engine, head, now_micros, headers)?;
        let in_flight = self.state.as_ref().map(|it| it.begin(&identity)).transpose()?.flatten();
        if operation.access == Access::Credential {
            expect_session(&identity)?;
            let query = Query::parse(head.uri.query(), operation.query)?;
            let mcp_request = mcp::McpRequest {
                engine,
                keys: &self.keys,
                state: self.state.as_ref(),
                streams: &self.streams,
                identity: &identity,
                headers: &head.headers,
                body: body.ok_or_else(too_large)?,
                sets: mcp::sets(&query, &identity)?,
                in_flight: Mutex::new(in_flight),
            };
            let answer = mcp_request.answer(operation.endpoint).await;
            return answer.inspect_err(|failure| {
                if failure.code == "METHOD_NOT_ALLOWED" {
                    headers.insert(ALLOW, mcp_request.allow());
                }
            });
        }
        if head.method == Method::PUT && head.headers.contains_key(CONTENT_RANGE) {
            return Err(Failure::new(
                "MALFORMED_REQUEST",
                "Content-Range has no meaning for PUT: a value is written whole; send all of it, \
                 without the header",
            ));
        }
        let (kind, session) = matched.scope()?;
        if operation.access == Access::Admin && identity != Identity::Admin {
            return Err(Failure::new(
                "FORBIDDEN",
                "only the operator may do this; report what you need and go on without it",
            ));
        }
        if !wants_socket {
            media::expect_acceptable(&head.headers, operation)?;
        }
        let caller = identity.caller(kind, &session)?;
        if kind == ScopeKind::Project {
            expect_valid_session(engine, &identity).await?;
        }
        let call = Call {
            engine,
            keys: &self.keys,
            headers: &head.headers,
            body: body.ok_or_else(too_large)?,
            query: Query::parse(head.uri.query(), &operation.takes_in_query())?,
            key: matched.value("key")?,
            path: matched,
            caller,
            wants_socket,
            scope: kind.bucket_name(&session),
            session,
        };
        dispatch::endpoint(operation.endpoint, &call, &self.streams, in_flight).await
    }

    /// Authenticates the request, and enforces the rate limits of its caller.
    fn identify<E: Engine>(
        &self,
        engine: &E,
        head: &Parts,
        now_micros: u64,
        headers: &mut HeaderMap,
    ) -> Result<Identity, Failure> {
        let authorization = single(&head.headers, &AUTHORIZATION)
            .map_err(|failure| Failure::new("UNAUTHENTICATED", failure.message))?;
        let identity = self.keys.identify(authorization, engine.now())?;
        if let Some(state) = &self.state {
            state.take(&identity, now_micros, headers)?;
        }
        Ok(identity)
    }

    /// Serves a public endpoint.
    fn open(
        &self,
        engine: &impl Engine,
        head: &Parts,
        operation: &Operation,
        query: &Query<'_>,
    ) -> Result<Response<Bytes>, Failure> {
        Ok(match operation.endpoint {
            Endpoint::Health => documents::health(self.consistency, engine.failure())?,
            Endpoint::Metrics => {
                let state =
                    self.state.as_ref().ok_or_else(|| kept::unavailable(operation.endpoint))?;
                let text = state.metrics.render(engine.entry_reads().unwrap_or_default());
                respond::with_body(StatusCode::OK, metrics::CONTENT_TYPE, text)
            }
            Endpoint::OpenApi => respond::json(StatusCode::OK, documents::OPENAPI),
            Endpoint::ResourceMetadata => {
                self.address.check(&head.headers, &head.uri)?;
                let url = self.address.url(&head.headers, &head.uri);
                respond::json(StatusCode::OK, documents::resource_metadata(&url)?)
            }
            Endpoint::Tools => documents::tools(query)?,
            _ => respond::with_body(StatusCode::OK, media::TEXT, documents::WELCOME),
        })
    }

    /// Returns true if this interface offers `endpoint`.
    fn offers(&self, endpoint: Endpoint) -> bool {
        self.state.is_some() || !endpoint.needs_memory()
    }

    /// Builds the response for a method without an operation: a list of the path's methods, or an
    /// error if the path does not exist.
    fn method_not_allowed(
        &self,
        head: &Parts,
        headers: &mut HeaderMap,
    ) -> Result<Response<Bytes>, Failure> {
        let path = head.uri.path();
        if let Some(only) = route::only_endpoint(path).filter(|it| !self.offers(*it)) {
            return Err(kept::unavailable(only));
        }
        let allow = route::allow(path, |it| self.offers(it));
        let method: String = head.method.as_str().chars().take(20).collect();
        let message = format!("{method} cannot be used here; use one of {allow}");
        let takes_patches = allow.contains("PATCH");
        if let Ok(allow) = HeaderValue::try_from(allow) {
            headers.insert(ALLOW, allow);
        }
        if head.method == Method::OPTIONS {
            if takes_patches {
                headers.extend([media::patch_types()]);
            }
            return Ok(respond::empty(StatusCode::NO_CONTENT));
        }
        Err(match route::find(path, &head.method).and_then(|it| it.operation) {
            Some(operation) => kept::unavailable(operation.endpoint),
            None => Failure::new("METHOD_NOT_ALLOWED", message),
        })
    }
}

/// Rejects a session's credential for a project if the session rejects it: it was revoked, or its
/// session is gone. The project does not know.
pub(crate) async fn expect_valid_session<E: Engine>(
    engine: &E,
    identity: &Identity,
) -> Result<(), Failure> {
    let Some(scope) = identity.scope().filter(|it| it.kind() == ScopeKind::Session) else {
        return Ok(());
    };
    let caller = identity.caller(ScopeKind::Session, scope.id())?;
    match engine.invoke(&scope.bucket_name(), &caller, br#"{"action":"show_session"}"#).await {
        Err(failure) if failure.code == "SESSION_NOT_FOUND" => Err(Failure::new(
            "UNAUTHENTICATED",
            "the session of this credential is gone, and with it the credential; ask the operator \
             for a new one",
        )),
        shown => shown.map(drop),
    }
}

/// Rejects a project's credential at `/mcp`, whose tools are about a session.
fn expect_session(identity: &Identity) -> Result<(), Failure> {
    match identity.scope() {
        Some(scope) if scope.kind() != ScopeKind::Session => Err(Failure::new(
            "FORBIDDEN",
            format!(
                "the credential is for {scope}, and the tools here are about a session; send the \
                 credential of a session"
            ),
        )),
        _ => Ok(()),
    }
}

fn whole(response: Response<Bytes>) -> Response<Body> {
    response.map(Body::Whole)
}

/// Builds the error for a body that is too long for `endpoint`. Its size is known if `headers` have
/// it; the body itself is not read to its end.
fn too_large(endpoint: Endpoint, headers: &HeaderMap) -> Failure {
    let limit = endpoint.body_bytes_max();
    let length = headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    let length = length.filter(|it: &u64| usize::try_from(*it).is_ok_and(|it| it > limit));
    let advice = match endpoint {
        Endpoint::ImportSession => {
            "delete snapshots of the session it came from, and export it once more"
        }
        Endpoint::ImportProject => "import the documents of export_project as they came",
        Endpoint::ActionRoute(it) if it.action.system == System::Context => {
            "send references in place of the largest texts, or a conversation in pieces"
        }
        Endpoint::ActionRoute(_) => {
            "send fewer items in one request, and conclusions in place of material"
        }
        Endpoint::CallTool => {
            "an entry is far smaller: store the conclusion, not the material; an action that has a \
             route below …/context/ takes up to 2 MiB there"
        }
        _ => "an entry is far smaller: store the conclusion, not the material",
    };
    let (message, details) = match length {
        Some(it) => (
            format!("the request body has {it} bytes, at most {limit} are accepted; {advice}"),
            format!("{{\"limit\":{limit},\"actual\":{it}}}"),
        ),
        None => (
            format!("the request body is longer than {limit} bytes; {advice}"),
            format!("{{\"limit\":{limit}}}"),
        ),
    };
    Failure { details: Some(details), ..Failure::new("REQUEST_TOO_LARGE", message) }
}
