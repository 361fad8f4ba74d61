//! MCP, the Model Context Protocol: a session as tools, resources and prompts for agents.
//!
//! [`answer`] handles one message. The types of messages are those of the official SDK. HTTP's
//! part, such as statuses and the check of origins, is in `http::mcp`.
//!
//! # Invariants
//!
//! - A modern request (2026-07-28) contains everything it needs. Older versions use a handshake
//!   ([`legacy`]) if there is in-process state, and no content of a session depends on it.
//! - An error of the tool is a result that an agent can act on. An invalid credential is an HTTP
//!   error, so that the program around the agent notices.

mod arguments;
mod completion;
mod fault;
mod handshake;
mod headers;
mod key_page;
pub(crate) mod legacy;
pub(crate) mod listen;
mod log;
mod message;
mod notice;
mod params;
mod prompts;
mod resources;
mod result_text;
mod server;
mod skill;
mod tools;
mod update;
mod uri;
mod version;

use std::{
    borrow::Cow,
    sync::{Arc, Mutex},
};

use http::HeaderMap;
use rmcp::model::{CacheScope, EmptyObject, ErrorCode, ProtocolVersion};
use serde::Serialize;
use shared_context_codec::{Caller, Failure, Reply};
use shared_context_core::ScopeKind;

pub(crate) use self::{
    fault::{Fault, Rejection},
    message::{Id, Message, error, response},
    version::Version,
};
use self::{legacy::Handshake, params::Params};
use crate::{
    Engine,
    credential::{Identity, Keys},
    http::{Permit, Streams, ToolRequest, Wait, Watch, invalid_reply, scope},
    tools::Toolset,
};

/// Member of a call's `_meta` with a name for it: a call that is repeated under the same name takes
/// effect once. It is for programs; the tools do not list it.
pub const REQUEST_ID: &str = "shared-context/request_id";

/// Caller, engine and version of a request.
pub(crate) struct Context<'r, E> {
    pub(crate) engine: &'r E,
    pub(crate) keys: &'r Arc<Keys>,
    pub(crate) streams: &'r Streams,
    pub(crate) identity: &'r Identity,
    /// Credential as it was sent: a stream checks it repeatedly.
    pub(crate) authorization: &'r str,
    pub(crate) version: Version,
    /// Sets of tools that the connection asks for; `None` if it does not say.
    pub(crate) sets: Option<&'r [Toolset]>,
    /// Permit to give back when the request begins to wait.
    pub(crate) in_flight: &'r Mutex<Option<Permit>>,
    /// Handshake of the request, in an older version.
    pub(crate) handshake: Option<Arc<Handshake>>,
    /// True if handshakes are supported.
    pub(crate) is_kept: bool,
}

/// Response to a request.
pub(crate) enum Answer {
    /// A result.
    Result(MethodResult),
    /// A stream of notifications that ends with a result.
    Stream(Box<Watch>),
}

/// Result of a method, without the members that every result of its version has.
pub(crate) struct MethodResult {
    /// JSON object.
    pub(crate) body: Vec<u8>,
    /// Caching rule; sent if the version has one.
    pub(crate) cache: Option<Cache>,
    /// Code of the tool's error, if the result is one.
    pub(crate) error_code: Option<Cow<'static, str>>,
}

/// Caching rule of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cache {
    /// Anyone may cache it for an hour: it is part of the program.
    Static,
    /// Only this credential may cache it, for an hour.
    Own,
    /// It may be outdated already: a session changes at any time.
    Live,
}

const HOUR_MS: u64 = 3_600_000;

impl MethodResult {
    /// Serializes `result`.
    ///
    /// # Errors
    ///
    /// Internal error: serialization failed.
    pub(crate) fn new(result: &impl Serialize) -> Result<Self, Rejection> {
        let body = serde_json::to_vec(result).map_err(|_| invalid_reply())?;
        Ok(Self { body, cache: None, error_code: None })
    }

    /// Sets the caching rule.
    pub(crate) fn cached(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Returns the complete result for the protocol `version`.
    pub(crate) fn finish(self, version: &Version) -> Vec<u8> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct CommonMembers {
            result_type: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            ttl_ms: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            cache_scope: Option<CacheScope>,
            #[serde(rename = "_meta")]
            meta: ServerMeta,
        }
        #[derive(Serialize)]
        struct ServerMeta {
            #[serde(rename = "io.modelcontextprotocol/serverInfo")]
            server_info: ServerInfo,
        }
        #[derive(Serialize)]
        struct ServerInfo {
            name: &'static str,
            version: &'static str,
        }
        if !version.is_modern() {
            return self.body;
        }
        let more = CommonMembers {
            result_type: "complete",
            ttl_ms: self.cache.map(|it| if it == Cache::Live { 0 } else { HOUR_MS }),
            cache_scope: self.cache.map(|it| match it {
                Cache::Static => CacheScope::Public,
                Cache::Own | Cache::Live => CacheScope::Private,
            }),
            meta: ServerMeta {
                server_info: ServerInfo { name: server::NAME, version: env!("CARGO_PKG_VERSION") },
            },
        };
        let more = serde_json::to_vec(&more).unwrap_or_default();
        crate::http::merge_objects(self.body, &more)
    }
}

/// Returns the version of `message`, and checks that its headers agree with it.
///
/// # Errors
///
/// See [`Version::of`]; header mismatch (-32020).
pub(crate) fn version(
    headers: &HeaderMap,
    message: &Message<'_>,
    is_admin: bool,
) -> Result<Version, Fault> {
    let params = Params::parse(message.params, "params")?;
    let version = Version::of(headers, message, &params)?;
    if version.is_modern() && message.id.is_some() {
        headers::check(headers, message, &params, is_admin)?;
    }
    Ok(version)
}

/// Performs the handshake `message`: returns the negotiated version and the result. The handshake
/// is stored if `is_kept`.
///
/// # Errors
///
/// Invalid params (-32602).
pub(crate) fn initialize(
    message: &Message<'_>,
    is_kept: bool,
) -> Result<(ProtocolVersion, MethodResult), Rejection> {
    server::initialize(&Params::parse(message.params, "params")?, is_kept)
}

/// Handles the request `message` with this id.
///
/// # Errors
///
/// Method not found (-32601); errors of the method.
pub(crate) async fn answer<E: Engine>(
    context: &Context<'_, E>,
    id: Id<'_>,
    message: &Message<'_>,
) -> Result<Answer, Rejection> {
    let params = Params::parse(message.params, "params")?;
    let is_modern = context.version.is_modern();
    let result = match &*message.method {
        "tools/call" => tools::call(context, &params).await,
        "tools/list" => tools::list(context, &params).await,
        "resources/list" => resources::list(context, &params).await,
        "resources/templates/list" => resources::list_templates(&params),
        "resources/read" => resources::read(context, &params).await,
        "prompts/list" => prompts::list(context, &params),
        "prompts/get" => prompts::get(context, &params).await,
        "completion/complete" => completion::complete(context, &params).await,
        "skills/list" if is_modern => skill::list(&params),
        "skills/get" if is_modern => skill::get(&params),
        "server/discover" if is_modern => server::discover(),
        "subscriptions/listen" if is_modern => {
            return listen::open(context, id, &params).await.map(Answer::Stream);
        }
        "ping" if !is_modern => MethodResult::new(&EmptyObject {}),
        method @ ("resources/subscribe" | "resources/unsubscribe" | "logging/setLevel")
            if !is_modern && !context.is_kept =>
        {
            Err(legacy::unavailable(method, context.identity).into())
        }
        "resources/subscribe" if !is_modern => legacy::subscribe(context, &params).await,
        "resources/unsubscribe" if !is_modern => legacy::unsubscribe(context, &params),
        "logging/setLevel" if !is_modern => legacy::set_level(context, &params).await,
        method => Err(unknown(method, is_modern).into()),
    };
    result.map(Answer::Result)
}

/// Builds the error for an unknown method in this version.
fn unknown(method: &str, is_modern: bool) -> Fault {
    let shown: String = method.chars().take(80).collect();
    let fault = |message| {
        let code = ErrorCode::METHOD_NOT_FOUND;
        let mut fault = Fault::in_band(code, message);
        if is_modern {
            fault.status = http::StatusCode::NOT_FOUND;
        }
        fault
    };
    fault(match method {
        "initialize"
        | "ping"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "logging/setLevel" => {
            format!("{shown} is not part of 2026-07-28; ask server/discover what is")
        }
        "server/discover" | "subscriptions/listen" | "skills/list" | "skills/get" => {
            format!("{shown} is part of 2026-07-28: send MCP-Protocol-Version and _meta with it")
        }
        _ => format!("this server has no method {shown}"),
    })
}

impl<E: Engine> Context<'_, E> {
    /// Returns the session: the one `named`, or that of the credential.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: neither names a session. `FORBIDDEN`: they differ.
    pub(crate) fn session<'s>(&'s self, named: Option<&'s str>) -> Result<&'s str, Failure> {
        match (self.identity, named) {
            (Identity::Admin, Some(named)) => Ok(named),
            (Identity::Admin, None) => Err(Failure::new(
                "MALFORMED_REQUEST",
                "the admin key is for every session: say which one with session",
            )),
            (Identity::Participant(grant), None) => Ok(grant.scope.id()),
            (Identity::Participant(grant), Some(named)) if grant.scope.id() == named => Ok(named),
            (Identity::Participant(grant), Some(_)) => Err(Failure::new(
                "FORBIDDEN",
                format!(
                    "this credential is for the session {}: leave session out, or say that one",
                    grant.scope.id()
                ),
            )),
        }
    }

    /// Returns the caller for `session`.
    ///
    /// # Errors
    ///
    /// `FORBIDDEN`: the credential is for another session.
    pub(crate) fn caller(&self, session: &str) -> Result<Caller, Failure> {
        self.identity.caller(ScopeKind::Session, session)
    }

    /// Performs `request` on `session`.
    ///
    /// # Errors
    ///
    /// Errors of the session.
    pub(crate) async fn invoke(
        &self,
        session: &str,
        request: ToolRequest,
    ) -> Result<Reply, Failure> {
        self.invoke_bytes(session, &request.into_bytes()).await
    }

    /// Performs `request`, JSON that is passed on without parsing, on `session`.
    ///
    /// # Errors
    ///
    /// Errors of the session.
    pub(crate) async fn invoke_bytes(
        &self,
        session: &str,
        request: &[u8],
    ) -> Result<Reply, Failure> {
        self.engine.invoke(&scope(session), &self.caller(session)?, request).await
    }

    /// Returns a wait of at most `seconds` for changes of the bucket `scope`.
    fn wait<'w>(&'w self, scope: &'w str, caller: &'w Caller, seconds: u64) -> Wait<'w, E> {
        let (engine, streams, in_flight) = (self.engine, self.streams, self.in_flight);
        Wait { engine, streams, scope, caller, in_flight, seconds }
    }
}
