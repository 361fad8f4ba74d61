//! An authenticated request, with everything that an endpoint may use.

use std::{borrow::Cow, sync::Arc};

use http::HeaderMap;
use shared_context_codec::{Caller, Failure, Reply};
use shared_context_core::ScopeKind;

use super::{query::Query, route::RouteMatch, tool::ToolRequest};
use crate::{Engine, credential::Keys};

/// An authenticated request.
pub(crate) struct Call<'r, E> {
    pub(crate) engine: &'r E,
    pub(crate) keys: &'r Arc<Keys>,
    pub(crate) headers: &'r HeaderMap,
    pub(crate) body: &'r [u8],
    pub(crate) query: Query<'r>,
    /// Bucket of the session or project in the path.
    pub(crate) scope: String,
    /// Id of that session or project; empty if the path has none.
    pub(crate) session: Cow<'r, str>,
    /// Key in the path; empty if it has none.
    pub(crate) key: Cow<'r, str>,
    /// Matched route with all parameters of the path.
    pub(crate) path: &'r RouteMatch<'r>,
    pub(crate) caller: Caller,
    /// True if the client requests a WebSocket and the host supports them.
    pub(crate) wants_socket: bool,
}

impl<E: Engine> Call<'_, E> {
    /// Performs `request` on the scope in the path.
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

    /// Performs `request`, JSON that is passed on without parsing, on the scope in the path.
    pub(crate) async fn invoke_bytes(&self, request: &[u8]) -> Result<Reply, Failure> {
        self.engine.invoke(&self.scope, &self.caller, request).await
    }
}

/// Returns the bucket of `session`.
pub(crate) fn scope(session: &str) -> String {
    ScopeKind::Session.bucket_name(session)
}

/// Parses the required members of the tool's reply.
pub(crate) fn parse_reply<'b, T: serde::Deserialize<'b>>(reply: &'b Reply) -> Result<T, Failure> {
    serde_json::from_slice(&reply.body).map_err(|_| invalid_reply())
}

/// Builds the error for a tool reply that the wire cannot parse or write.
pub(crate) fn invalid_reply() -> Failure {
    Failure::new(
        "INTERNAL",
        "the server could not put its own answer into words; the request may have been carried \
         out: read before retrying, and tell the operator",
    )
}
