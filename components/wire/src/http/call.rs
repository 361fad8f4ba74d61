//! One request on its way to the engine: all that an endpoint may look at, and
//! the tool requests that endpoints make of it.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use serde::Serialize;
use serde_json::value::RawValue;
use shared_context_codec::{Caller, Failure, Reply};

use super::{body::Members, query::Query, respond};
use crate::{Engine, credential::Keys};

/// A request whose sender is known.
pub(crate) struct Call<'r, E> {
    pub(crate) engine: &'r E,
    pub(crate) keys: &'r Arc<Keys>,
    pub(crate) headers: &'r HeaderMap,
    pub(crate) body: &'r [u8],
    pub(crate) query: Query<'r>,
    /// The session in the path; empty where there is none.
    pub(crate) session: Cow<'r, str>,
    /// The key in the path; empty where there is none.
    pub(crate) key: Cow<'r, str>,
    /// The snapshot's label in the path; empty where there is none.
    pub(crate) label: Cow<'r, str>,
    pub(crate) caller: Caller,
    /// Whether the connection is to become a WebSocket, and can.
    pub(crate) wants_socket: bool,
}

/// A request of the JSON tool.
#[derive(Default, Serialize)]
pub(crate) struct ToolRequest<'r> {
    pub(crate) action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) document: Option<&'r RawValue>,
    /// Members of the request's body, as they were sent.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) members: Option<&'r Members<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Value<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) if_version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) if_revision: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) participant: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keys: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prefix: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) if_changed_since: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) versions: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) round: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<&'r str>,
}

impl ToolRequest<'_> {
    /// The request as the engine takes it.
    ///
    /// # Errors
    ///
    /// `INTERNAL`: it cannot be written down.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, Failure> {
        serde_json::to_vec(self).map_err(|_| misread())
    }
}

/// What is written to an entry.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
pub(crate) enum Value<'r> {
    /// Text, as it was sent.
    Text(&'r str),
    /// JSON, as it was sent; whether it is a string is the tool's to say.
    Json(&'r RawValue),
}

impl<E: Engine> Call<'_, E> {
    /// Performs `request` on the session in the path.
    pub(crate) async fn invoke(&self, request: &ToolRequest<'_>) -> Result<Reply, Failure> {
        self.invoke_on(&self.session, request).await
    }

    /// Performs `request` on the session in the path, and answers as the tool does.
    pub(crate) async fn answer(
        &self,
        request: &ToolRequest<'_>,
    ) -> Result<Response<Bytes>, Failure> {
        Ok(respond::json(StatusCode::OK, self.invoke(request).await?.body))
    }

    /// Performs `request` on `session`.
    pub(crate) async fn invoke_on(
        &self,
        session: &str,
        request: &ToolRequest<'_>,
    ) -> Result<Reply, Failure> {
        self.invoke_bytes(session, &request.to_bytes()?).await
    }

    /// Performs `request`, JSON that is passed on unread, on `session`.
    pub(crate) async fn invoke_bytes(
        &self,
        session: &str,
        request: &[u8],
    ) -> Result<Reply, Failure> {
        self.engine.invoke(&scope(session), &self.caller, request).await
    }
}

/// The bucket of `session`.
pub(crate) fn scope(session: &str) -> String {
    const PREFIX: &str = "session/";
    let mut scope = String::with_capacity(PREFIX.len() + session.len());
    scope.push_str(PREFIX);
    scope.push_str(session);
    scope
}

/// Reads the members it needs from a reply of the tool.
pub(crate) fn part<'b, T: serde::Deserialize<'b>>(reply: &'b Reply) -> Result<T, Failure> {
    serde_json::from_slice(&reply.body).map_err(|_| misread())
}

/// What the rules and the wire say to each other does not fit.
pub(crate) fn misread() -> Failure {
    Failure::new(
        "INTERNAL",
        "the server could not put its own answer into words; the request may have been carried \
         out: read before retrying, and tell the operator",
    )
}
