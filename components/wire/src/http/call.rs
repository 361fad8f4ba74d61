//! One request on its way to the engine: all that an endpoint may look at.

use std::{borrow::Cow, sync::Arc};

use http::HeaderMap;
use shared_context_codec::{Caller, Failure, Reply};
use shared_context_core::ScopeKind;

use super::{query::Query, route::Matched, tool::ToolRequest};
use crate::{Engine, credential::Keys};

/// A request whose sender is known.
pub(crate) struct Call<'r, E> {
    pub(crate) engine: &'r E,
    pub(crate) keys: &'r Arc<Keys>,
    pub(crate) headers: &'r HeaderMap,
    pub(crate) body: &'r [u8],
    pub(crate) query: Query<'r>,
    /// The bucket of the session or project in the path.
    pub(crate) scope: String,
    /// The id of that session or project; empty where the path has none.
    pub(crate) session: Cow<'r, str>,
    /// The key in the path; empty where there is none.
    pub(crate) key: Cow<'r, str>,
    /// What else varies in the path.
    pub(crate) path: &'r Matched<'r>,
    pub(crate) caller: Caller,
    /// Whether the connection is to become a WebSocket, and can.
    pub(crate) wants_socket: bool,
}

impl<E: Engine> Call<'_, E> {
    /// Performs `request` on what the path names.
    pub(crate) async fn invoke(&self, request: ToolRequest) -> Result<Reply, Failure> {
        self.invoke_on(&self.scope, request).await
    }

    /// Performs `request` on the bucket `scope`.
    pub(crate) async fn invoke_on(
        &self,
        scope: &str,
        request: ToolRequest,
    ) -> Result<Reply, Failure> {
        self.engine.invoke(scope, &self.caller, &request.into_bytes()).await
    }

    /// Performs `request`, JSON that is passed on unread, on what the path names.
    pub(crate) async fn invoke_bytes(&self, request: &[u8]) -> Result<Reply, Failure> {
        self.engine.invoke(&self.scope, &self.caller, request).await
    }
}

/// Returns the bucket of `session`.
pub(crate) fn scope(session: &str) -> String {
    ScopeKind::Session.bucket_name(session)
}

/// Reads the members it needs from a reply of the tool.
pub(crate) fn part<'b, T: serde::Deserialize<'b>>(reply: &'b Reply) -> Result<T, Failure> {
    serde_json::from_slice(&reply.body).map_err(|_| misread())
}

/// Returns what the rules and the wire say to each other does not fit.
pub(crate) fn misread() -> Failure {
    Failure::new(
        "INTERNAL",
        "the server could not put its own answer into words; the request may have been carried \
         out: read before retrying, and tell the operator",
    )
}
