//! MCP over HTTP: one message per `POST`, and one stream per `GET` for clients of older versions
//! (Streamable HTTP of 2026-07-28 and of 2025-11-25).
//!
//! Messages are handled by [`crate::mcp`]; `origin` checks where they come from.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header::AUTHORIZATION};
use rmcp::model::ErrorCode;
use shared_context_codec::Failure;

use super::{
    Body, changes::stream_response, kept::InProcessState, media, permits::Permit,
    precondition::single, query::Query, respond, streams::Streams, table::Endpoint, whole,
};
use crate::{
    Engine,
    credential::{Identity, Keys},
    mcp::{
        self, Answer, Context, Fault, Id, Message, Rejection, Version,
        legacy::{self, Handshake},
    },
    tools::Toolset,
};

/// The header with the id of a handshake of an older version.
static MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// An authenticated request to `/mcp`.
pub(super) struct McpRequest<'r, E> {
    pub(super) engine: &'r E,
    pub(super) keys: &'r Arc<Keys>,
    /// State from other requests, if the interface has any.
    pub(super) state: Option<&'r InProcessState>,
    pub(super) streams: &'r Streams,
    pub(super) identity: &'r Identity,
    pub(super) headers: &'r HeaderMap,
    pub(super) body: &'r [u8],
    /// Sets of tools that the query asks for.
    pub(super) sets: Option<Vec<Toolset>>,
    /// Permit to give back when the request begins to wait.
    pub(super) in_flight: Mutex<Option<Permit>>,
}

impl<E: Engine> McpRequest<'_, E> {
    /// Handles the request; `endpoint` reflects its method.
    pub(super) async fn answer(&self, endpoint: Endpoint) -> Result<Response<Body>, Failure> {
        match endpoint {
            Endpoint::McpStream => self.stream().await,
            Endpoint::McpEnd => self.end().map(whole),
            _ => self.post().await,
        }
    }

    /// `POST`: one message. The protocol has clients accept JSON and event streams. Here they must
    /// accept the one that the message is answered with.
    async fn post(&self) -> Result<Response<Body>, Failure> {
        media::expect_one_of(self.headers, &[media::JSON])?;
        media::expect_json(self.headers)?;
        let message = match Message::parse(self.body) {
            Ok(message) => message,
            Err(it) => return Ok(whole(fault_response(it.id, &it.fault))),
        };
        let answered = match self.context(&message) {
            Ok(context) => self.message(&context, &message).await,
            Err(fault) => Err(fault.into()),
        };
        match answered {
            Ok(response) => Ok(response),
            Err(Rejection::Fault(fault)) => Ok(whole(fault_response(message.id, &fault))),
            Err(Rejection::Http(failure)) => Err(failure),
        }
    }

    /// Returns the context of a message: its caller, version and handshake.
    fn context(&self, message: &Message<'_>) -> Result<Context<'_, E>, Fault> {
        let version = mcp::version(self.headers, message, self.identity == &Identity::Admin)?;
        // Modern requests have no handshake, even if a proxy left the header.
        let handshake = if version.is_modern() { None } else { self.handshake()? };
        let version = match &handshake {
            Some(handshake) => Version::Legacy(handshake.version().clone()),
            None => version,
        };
        Ok(self.context_in(version, handshake))
    }

    fn context_in(&self, version: Version, handshake: Option<Arc<Handshake>>) -> Context<'_, E> {
        Context {
            engine: self.engine,
            keys: self.keys,
            streams: self.streams,
            identity: self.identity,
            authorization: self.authorization(),
            version,
            sets: self.sets.as_deref(),
            in_flight: &self.in_flight,
            handshake,
            is_kept: self.state.is_some(),
        }
    }

    async fn message(
        &self,
        context: &Context<'_, E>,
        message: &Message<'_>,
    ) -> Result<Response<Body>, Rejection> {
        // No notification has an effect here.
        let Some(id) = message.id else { return Ok(whole(respond::empty(StatusCode::ACCEPTED))) };
        if message.method == "initialize" && !context.version.is_modern() {
            let (version, result) = mcp::initialize(message, context.is_kept)?;
            let response = json(mcp::response(id, &result.finish(&context.version)));
            let Some(state) = self.state else { return Ok(whole(response)) };
            let now_micros = self.engine.monotonic_micros();
            let handshake = state.handshakes.begin(self.keys, self.identity, version, now_micros);
            return Ok(whole(respond::with_text(response, MCP_SESSION_ID.clone(), handshake)));
        }
        if message.method == "subscriptions/listen" {
            media::expect_one_of(self.headers, &[media::EVENTS])?;
        }
        match mcp::answer(context, id, message).await? {
            Answer::Result(result) => {
                if let (Some(code), Some(state)) = (&result.error_code, self.state) {
                    state.metrics.record_rejection(super::code::of(code).name);
                }
                Ok(whole(json(mcp::response(id, &result.finish(&context.version)))))
            }
            Answer::Stream(watch) => Ok(stream_response(watch)),
        }
    }

    /// `GET`: a stream of updates to the resources that the client of the handshake subscribed to.
    async fn stream(&self) -> Result<Response<Body>, Failure> {
        let handshake = match self.handshake() {
            Ok(Some(handshake)) => handshake,
            Ok(None) => return Err(without_handshake()),
            Err(fault) => return Ok(whole(fault_response(None, &fault))),
        };
        if !media::wants_events(self.headers) {
            return Err(Failure::new(
                "MALFORMED_REQUEST",
                "a GET of this endpoint is a stream: send Accept: text/event-stream",
            ));
        }
        let version = Version::Legacy(handshake.version().clone());
        let context = self.context_in(version, Some(handshake));
        let last_event_id = single(self.headers, &super::changes::LAST_EVENT_ID)?;
        legacy::stream(&context, last_event_id).await.map(stream_response)
    }

    /// `DELETE`: ends a handshake.
    fn end(&self) -> Result<Response<Bytes>, Failure> {
        let id = single(self.headers, &MCP_SESSION_ID)?;
        let (Some(state), Some(id)) = (self.state, id) else { return Err(without_handshake()) };
        Ok(if state.handshakes.end(id, self.identity) {
            respond::empty(StatusCode::NO_CONTENT)
        } else {
            fault_response(None, &unknown_handshake())
        })
    }

    /// Returns the methods that can be used where this request's own cannot. `DELETE` ends a
    /// handshake, so it is among them if the request names one.
    pub(super) fn allow(&self) -> HeaderValue {
        HeaderValue::from_static(match self.handshake() {
            Ok(Some(_)) => "POST, DELETE, OPTIONS",
            _ => "POST, OPTIONS",
        })
    }

    /// Returns the handshake that the request names, if any.
    ///
    /// Without in-process state no id was ever issued. The header is then ignored, as in the
    /// protocol without sessions (2026-07-28, Streamable HTTP, Backward Compatibility).
    fn handshake(&self) -> Result<Option<Arc<Handshake>>, Fault> {
        let Some(state) = self.state else { return Ok(None) };
        let id = single(self.headers, &MCP_SESSION_ID)
            .map_err(|it| Fault::bad_request(ErrorCode::INVALID_REQUEST, it.message))?;
        let Some(id) = id else { return Ok(None) };
        let now_micros = self.engine.monotonic_micros();
        let found = state.handshakes.find(id, self.identity, now_micros);
        found.map(Some).ok_or_else(unknown_handshake)
    }

    fn authorization(&self) -> &str {
        single(self.headers, &AUTHORIZATION).ok().flatten().unwrap_or_default()
    }
}

/// Parses the sets of tools that `query` asks for with `tools`, such as `tools=delta_rounds`, for
/// `identity`. Returns `None` if it does not say.
///
/// # Errors
///
/// `MALFORMED_REQUEST`: there is no such set. `FORBIDDEN`: the credential has it not.
pub(super) fn sets(
    query: &Query<'_>,
    identity: &Identity,
) -> Result<Option<Vec<Toolset>>, Failure> {
    let Some(names) = query.text("tools") else { return Ok(None) };
    let names = names.split(',').filter(|it| !it.is_empty());
    let sets = Toolset::parse(names)?;
    if let Identity::Participant(grant) = identity
        && let Some(own) = &grant.tools
        // Every credential has the working memory.
        && let Some(other) = sets.iter().find(|it| {
            **it != Toolset::SharedContext && !own.iter().any(|own| own == it.as_str())
        })
    {
        return Err(Failure::new(
            "FORBIDDEN",
            format!("your credential does not have the tools {}: leave them out", other.as_str()),
        ));
    }
    Ok(Some(sets))
}

fn json(body: Vec<u8>) -> Response<Bytes> {
    respond::json(StatusCode::OK, body)
}

/// Returns the response for `fault`, with `id` if it could be parsed.
fn fault_response(id: Option<Id<'_>>, fault: &Fault) -> Response<Bytes> {
    respond::json(fault.status, mcp::error(id, &fault.error))
}

fn unknown_handshake() -> Fault {
    let message = "there is no MCP session of this Mcp-Session-Id: it was ended, or the server \
                   was started anew; send initialize again, without the header";
    Fault {
        status: StatusCode::NOT_FOUND,
        ..Fault::bad_request(ErrorCode::INVALID_REQUEST, message)
    }
}

/// Builds the error for `GET` and `DELETE` without a handshake; only older versions use these
/// methods.
fn without_handshake() -> Failure {
    Failure::new(
        "METHOD_NOT_ALLOWED",
        "without an Mcp-Session-Id, only POST can be used here; for changes as they come, POST \
         subscriptions/listen",
    )
}
