//! HTTP: a whole request in, a whole response out.
//!
//! [`Http::handle`] finds the route, tells who calls, keeps callers to their
//! rate, and lets an endpoint ask the engine. Not here: sockets, TLS, timeouts
//! and reading the body, which are the host's; it stops reading a body at
//! [`BODY_BYTES_MAX`] and answers with [`Http::too_large`].
//!
//! # Invariant
//!
//! Every request gets exactly one response with an `X-Request-Id`, and every
//! refusal is a problem document that carries the tool's `error` object.

mod body;
mod call;
pub(crate) mod code;
mod documents;
mod entries;
mod limit;
mod media;
mod metrics;
mod precondition;
mod query;
mod respond;
pub(crate) mod route;
mod sessions;
mod trace;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, AUTHORIZATION, CACHE_CONTROL, RETRY_AFTER},
    request::Parts,
};
use shared_context_codec::Failure;

use self::{
    call::Call,
    limit::Limiter,
    metrics::Metrics,
    precondition::single,
    query::Query,
    route::{Access, Endpoint, Matched, Operation},
    trace::RequestIds,
};
use crate::{Engine, credential::Keys};

pub use limit::RateLimit;

/// The longest request body, in bytes. The largest value is far below it.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

static RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
static RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// What a host sets once.
#[derive(Debug)]
pub struct Options {
    /// The secrets.
    pub keys: Keys,
    /// How many requests each participant may make; `None` for any number.
    pub rate_limit: Option<RateLimit>,
    /// What the ids of this server's requests start with: another number at each
    /// start, such as a random one.
    pub request_id_seed: u64,
    /// What readers see of concurrent changes to a session, for `/healthz`.
    pub consistency: &'static str,
}

impl Options {
    /// The defaults: rate limit as in [`RateLimit::default`], request ids that
    /// start with 0, linearizable sessions.
    pub fn new(keys: Keys) -> Self {
        Self {
            keys,
            rate_limit: Some(RateLimit::default()),
            request_id_seed: 0,
            consistency: "linearizable",
        }
    }
}

/// The HTTP interface. One serves all requests of a server, from any number of
/// threads.
#[derive(Debug)]
pub struct Http {
    keys: Keys,
    limiter: Option<Limiter>,
    metrics: Metrics,
    request_ids: RequestIds,
    health: Bytes,
}

impl Http {
    /// An interface with these options.
    pub fn new(options: Options) -> Self {
        let Options { keys, rate_limit, request_id_seed, consistency } = options;
        Self {
            keys,
            limiter: rate_limit.map(Limiter::new),
            metrics: Metrics::new(),
            request_ids: RequestIds::new(request_id_seed),
            health: documents::health(consistency),
        }
    }

    /// Answers one request by asking `engine`. Never fails: what goes wrong is
    /// in the response.
    ///
    /// The future may be dropped at any time; a change it had asked for may then
    /// still happen.
    pub async fn handle<E: Engine>(&self, engine: &E, request: Request<Bytes>) -> Response<Bytes> {
        let started = engine.monotonic_micros();
        let (head, body) = request.into_parts();
        let matched = route::find(head.uri.path());
        let mut headers = HeaderMap::new();
        let answer =
            self.answer(engine, &head, &body, matched.as_ref(), started, &mut headers).await;
        let micros = engine.monotonic_micros().saturating_sub(started);
        self.finish(&head, matched.as_ref(), answer, headers, Some(micros))
    }

    /// Refuses a request whose body is longer than [`BODY_BYTES_MAX`], so that a
    /// host can stop reading it there.
    pub fn too_large(&self, head: &Parts) -> Response<Bytes> {
        self.refuse(head, too_large())
    }

    /// Refuses a request for a reason of the host's, `failure`: that it is
    /// stopping, or that the request took too long.
    pub fn refuse(&self, head: &Parts, failure: Failure) -> Response<Bytes> {
        let matched = route::find(head.uri.path());
        self.finish(head, matched.as_ref(), Err(failure), HeaderMap::new(), None)
    }

    /// Finds out what is asked for, by whom, and has it answered. What all
    /// answers of this request carry goes to `headers`.
    async fn answer<E: Engine>(
        &self,
        engine: &E,
        head: &Parts,
        body: &Bytes,
        matched: Option<&Matched<'_>>,
        now_micros: u64,
        headers: &mut HeaderMap,
    ) -> Result<Response<Bytes>, Failure> {
        if body.len() > BODY_BYTES_MAX {
            return Err(too_large());
        }
        let Some(matched) = matched else { return Err(route::unknown(head.uri.path())) };
        let Some(operation) = matched.route.operation(&head.method) else {
            return not_an_operation(head, matched, headers);
        };
        if operation.access == Access::Open {
            let query = Query::parse(head.uri.query(), operation.query)?;
            return self.open(operation, &query);
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let authorization = single(&head.headers, &AUTHORIZATION)
            .map_err(|failure| Failure::new("UNAUTHENTICATED", failure.message))?;
        let identity = self.keys.identify(authorization, engine.now())?;
        if let Some(limiter) = &self.limiter {
            let allowance = match limiter.take(&identity, now_micros) {
                Ok(allowance) => allowance,
                Err(exceeded) => {
                    headers.insert(RATELIMIT.clone(), exceeded.allowance.state);
                    headers.insert(RATELIMIT_POLICY.clone(), exceeded.allowance.policy);
                    headers.insert(RETRY_AFTER, exceeded.retry_after);
                    return Err(exceeded.failure);
                }
            };
            headers.insert(RATELIMIT.clone(), allowance.state);
            headers.insert(RATELIMIT_POLICY.clone(), allowance.policy);
        }
        let session = matched.session()?;
        if operation.access == Access::Admin && identity != crate::credential::Identity::Admin {
            return Err(Failure::new(
                "FORBIDDEN",
                "only the operator may do this: send the admin key as the bearer token",
            ));
        }
        let call = Call {
            engine,
            keys: &self.keys,
            headers: &head.headers,
            body,
            query: Query::parse(head.uri.query(), operation.query)?,
            key: matched.key()?,
            caller: identity.caller(&session)?,
            session,
        };
        endpoint(operation.endpoint, &call).await
    }

    /// Answers what is told to anyone.
    fn open(&self, operation: &Operation, query: &Query<'_>) -> Result<Response<Bytes>, Failure> {
        Ok(match operation.endpoint {
            Endpoint::Health => respond::json(StatusCode::OK, self.health.clone()),
            Endpoint::Metrics => {
                respond::with_body(StatusCode::OK, metrics::CONTENT_TYPE, self.metrics.render())
            }
            Endpoint::OpenApi => respond::json(StatusCode::OK, documents::OPENAPI),
            Endpoint::Tools => documents::tools(query.text("format"))?,
            _ => respond::with_body(StatusCode::OK, media::TEXT, documents::WELCOME),
        })
    }

    /// Makes the response of an answer: a refusal becomes a problem, every
    /// response gets its id, `HEAD` loses its body, and all is counted.
    fn finish(
        &self,
        head: &Parts,
        matched: Option<&Matched<'_>>,
        answer: Result<Response<Bytes>, Failure>,
        headers: HeaderMap,
        micros: Option<u64>,
    ) -> Response<Bytes> {
        let request_id = self.request_ids.of(&head.headers);
        let mut response = answer.unwrap_or_else(|failure| {
            let code = code::of(&failure.code);
            self.metrics.refused(code.name);
            let operation = matched.and_then(|it| it.route.operation(&head.method));
            let status = match operation.map(|it| it.endpoint) {
                // The condition stood in a header.
                Some(Endpoint::WriteEntry | Endpoint::DeleteEntry)
                    if code.name == "VERSION_CONFLICT" =>
                {
                    StatusCode::PRECONDITION_FAILED
                }
                _ => code.status,
            };
            let id = request_id.to_str().unwrap_or_default();
            let mut response = respond::problem(status, &failure, id);
            if status == StatusCode::UNAUTHORIZED {
                response.headers_mut().extend([respond::challenge(&head.headers, &failure)]);
            }
            response
        });
        response.headers_mut().extend(headers);
        trace::pass_on(&head.headers, response.headers_mut());
        response.headers_mut().insert(trace::X_REQUEST_ID.clone(), request_id);
        if head.method == Method::HEAD {
            respond::without_body(&mut response);
        }
        let template = matched.map_or("unknown", |it| it.route.template);
        self.metrics.answered(template, &head.method, response.status(), micros);
        response
    }
}

/// Has the engine asked for `endpoint`.
async fn endpoint<E: Engine>(
    endpoint: Endpoint,
    call: &Call<'_, E>,
) -> Result<Response<Bytes>, Failure> {
    match endpoint {
        Endpoint::CreateSession => sessions::create(call).await,
        Endpoint::ListSessions => sessions::list(call).await,
        Endpoint::ShowSession => sessions::act(call, "show_session").await,
        Endpoint::DeleteSession => sessions::act(call, "delete_session").await,
        Endpoint::ArchiveSession => sessions::act_by_post(call, "archive_session").await,
        Endpoint::RevokeCredentials => sessions::act_by_post(call, "revoke_credentials").await,
        Endpoint::MintCredential => sessions::mint_credential(call).await,
        Endpoint::RenderPrompt => sessions::render_prompt(call).await,
        Endpoint::ReadAudit => sessions::read_audit(call).await,
        Endpoint::CallTool => entries::call_tool(call).await,
        Endpoint::ListEntries => entries::list(call).await,
        Endpoint::ReadEntry => entries::read(call).await,
        Endpoint::WriteEntry => entries::write(call).await,
        Endpoint::DeleteEntry => entries::delete(call).await,
        Endpoint::Welcome
        | Endpoint::Health
        | Endpoint::Metrics
        | Endpoint::OpenApi
        | Endpoint::Tools => Err(Failure::new("NOT_FOUND", "this route is open to anyone")),
    }
}

/// Tells what can be done at a path where the method of the request cannot.
fn not_an_operation(
    head: &Parts,
    matched: &Matched<'_>,
    headers: &mut HeaderMap,
) -> Result<Response<Bytes>, Failure> {
    let allow = matched.route.allow();
    let method: String = head.method.as_str().chars().take(20).collect();
    let message = format!("{method} cannot be used here; use one of {allow}");
    if let Ok(allow) = HeaderValue::try_from(allow) {
        headers.insert(ALLOW, allow);
    }
    if head.method == Method::OPTIONS {
        return Ok(respond::empty(StatusCode::NO_CONTENT));
    }
    Err(Failure::new("METHOD_NOT_ALLOWED", message))
}

fn too_large() -> Failure {
    Failure {
        details: Some(format!("{{\"limit\":{BODY_BYTES_MAX}}}")),
        ..Failure::new(
            "REQUEST_TOO_LARGE",
            format!(
                "the request body is longer than {BODY_BYTES_MAX} bytes; an entry is far \
                 smaller: store the conclusion, not the material"
            ),
        )
    }
}
