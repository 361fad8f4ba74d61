//! Notifications, and their format in a stream. `update` decides when they are sent.

use std::fmt::Write as _;

use rmcp::model::Implementation;
use serde::Serialize;

use super::message::Id;

/// A notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Notice<'w> {
    /// The list of resources may have changed.
    ListChanged,
    /// The resource of this URI may have changed.
    Updated(&'w str),
}

impl Notice<'_> {
    /// Returns the notification as JSON, with the request's id on a stream of
    /// `subscriptions/listen`.
    pub(super) fn to_json(self, subscription: Option<Id<'_>>) -> String {
        #[derive(Serialize)]
        struct UpdateParams<'n> {
            #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
            meta: Option<Meta<'n>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            uri: Option<&'n str>,
        }
        let meta = subscription.map(Meta::of);
        let (method, uri) = match self {
            Self::ListChanged => ("notifications/resources/list_changed", None),
            Self::Updated(uri) => ("notifications/resources/updated", Some(uri)),
        };
        let has_params = meta.is_some() || uri.is_some();
        notification(method, has_params.then_some(UpdateParams { meta, uri }))
    }
}

/// Metadata of a message on a stream of `subscriptions/listen`.
#[derive(Serialize)]
pub(super) struct Meta<'n> {
    /// Request that it belongs to.
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    pub(super) subscription: Id<'n>,
    #[serde(
        rename = "io.modelcontextprotocol/serverInfo",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) server_info: Option<Implementation>,
}

impl<'n> Meta<'n> {
    /// Creates the metadata of a notification for the request `subscription`.
    pub(super) fn of(subscription: Id<'n>) -> Self {
        Self { subscription, server_info: None }
    }
}

/// Returns a notification as JSON.
pub(super) fn notification(method: &str, params: Option<impl Serialize>) -> String {
    #[derive(Serialize)]
    struct Notification<'n, P> {
        jsonrpc: &'static str,
        method: &'n str,
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<P>,
    }
    // Texts and numbers always serialize.
    serde_json::to_string(&Notification { jsonrpc: "2.0", method, params }).unwrap_or_default()
}

/// Appends `message`, JSON without line breaks, to the `text` of a stream. The reader resumes from
/// `id`.
pub(super) fn event(text: &mut String, id: Option<u64>, message: &str) {
    // Writing to a string does not fail.
    let _ = match id {
        Some(id) => write!(text, "event: message\nid: {id}\ndata: {message}\n\n"),
        None => write!(text, "event: message\ndata: {message}\n\n"),
    };
}
