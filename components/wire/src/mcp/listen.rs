//! `subscriptions/listen`: notifications of changes while the client keeps the response open
//! (2026-07-28, Subscriptions).
//!
//! `update` defines the notifications, and [`Watch`] reads and waits for changes.
//!
//! # Invariants
//!
//! - The acknowledgement comes first and names the accepted subscriptions. Every later change of
//!   these is sent, and no other.
//! - The last message is the response: a result if the server ends the stream in order, otherwise
//!   an error with the next step.

use std::sync::Arc;

use rmcp::model::{ErrorCode, Implementation, SubscriptionFilter};
use serde::Serialize;
use serde_json::value::RawValue;
use shared_context_codec::{Caller, Failure};

use super::{
    Context, Fault, Id, Rejection,
    fault::session_fault,
    message::{self, OwnedId},
    notice::{self, Meta, Notice},
    params::Params,
    server,
    update::{AddOutcome, Resource, SUBSCRIPTION_BYTES_MAX, SUBSCRIPTIONS_MAX, Subscriptions},
};
use crate::{
    Engine,
    credential::Identity,
    http::{Cursor, EventFormatter, ToolRequest, Watch, scope},
};

/// Opens the stream that answers the request `id`.
///
/// With the admin key it watches the session in the URIs. If no subscription is possible, the
/// stream ends at once, in order.
///
/// # Errors
///
/// Invalid params (-32602): `notifications` is missing or malformed, there are too many URIs, or
/// the admin's are of several sessions. Errors of the session for callers that may not watch it.
pub(crate) async fn open<E: Engine>(
    context: &Context<'_, E>,
    id: Id<'_>,
    params: &Params<'_>,
) -> Result<Box<Watch>, Rejection> {
    let AcceptedFilter { session, subscriptions, filter } =
        AcceptedFilter::of(filter(params)?, context.identity)?;
    let is_nothing = subscriptions.is_empty();
    let mut cursor = Cursor {
        keys: Arc::clone(context.keys),
        authorization: context.authorization.to_owned(),
        caller: Caller::trusted("admin"),
        scope: String::new(),
        filter: None,
        except_own: false,
        since: 0,
    };
    let formatter = Box::new(ListenFormatter { id: id.into_owned(), filter, subscriptions });
    if let Some(session) = session {
        // Changes from here on are sent, even before the acknowledgement arrives.
        let show = ToolRequest::new("show_session");
        cursor.since = context.invoke(&session, show).await?.revision;
        cursor.caller = context.caller(&session)?;
        cursor.scope = scope(&session);
    }
    let open = context.streams.open(&cursor.scope, &cursor.caller)?;
    Ok(Box::new(if is_nothing {
        Watch::of_nothing(cursor, formatter, open)
    } else {
        Watch::open(context.engine, cursor, formatter, open).await?
    }))
}

/// Returns the filter that the client requests.
fn filter(params: &Params<'_>) -> Result<SubscriptionFilter, Fault> {
    let raw = params.get("notifications").filter(|it| it.get().starts_with('{'));
    let filter = raw.and_then(|it| serde_json::from_str(it.get()).ok());
    filter.ok_or_else(|| {
        Fault::invalid_params(
            "notifications must be an object; it says what to tell of: resourceSubscriptions, a \
             list of URIs, and resourcesListChanged, true or false",
        )
    })
}

/// Accepted part of a filter, and its session.
struct AcceptedFilter {
    /// Session; `None` if the admin names none.
    session: Option<String>,
    subscriptions: Subscriptions,
    /// The accepted part, as sent to the client.
    filter: SubscriptionFilter,
}

impl AcceptedFilter {
    /// Accepts the part of `requested` that `identity` may receive, and drops the rest.
    ///
    /// # Errors
    ///
    /// Invalid params (-32602).
    fn of(requested: SubscriptionFilter, identity: &Identity) -> Result<Self, Fault> {
        let mut session = match identity {
            Identity::Admin => None,
            Identity::Participant(grant) => Some(grant.scope.id().to_owned()),
        };
        let mut subscriptions = Subscriptions::default();
        let mut uris = Vec::new();
        for uri in requested.resource_subscriptions.unwrap_or_default() {
            let Some((named, resource)) = Resource::parse(&uri) else { continue };
            let session = session.get_or_insert_with(|| named.clone().into_owned());
            if *session != named {
                match identity {
                    Identity::Participant(_) => continue,
                    Identity::Admin => return Err(two_sessions(session, &named)),
                }
            }
            if !resource.is_granted(identity) {
                continue;
            }
            match subscriptions.add(resource, &uri) {
                AddOutcome::New => uris.push(uri),
                AddOutcome::Known => {}
                AddOutcome::TooMany => return Err(too_many()),
            }
        }
        let mut filter = SubscriptionFilter::new();
        filter.resource_subscriptions = Some(uris).filter(|it| !it.is_empty());
        subscriptions.is_list = session.is_some() && requested.resources_list_changed == Some(true);
        filter.resources_list_changed = subscriptions.is_list.then_some(true);
        Ok(Self { session, subscriptions, filter })
    }
}

fn two_sessions(one: &str, other: &str) -> Fault {
    Fault::invalid_params(format!(
        "resourceSubscriptions names the sessions {one} and {other}; a stream tells of one: open \
         one for each"
    ))
}

fn too_many() -> Fault {
    Fault::invalid_params(format!(
        "resourceSubscriptions names more than {SUBSCRIPTIONS_MAX} resources, or has more than \
         {SUBSCRIPTION_BYTES_MAX} bytes; session://{{session}}/keys tells of every change"
    ))
}

/// Event formatter for the client of one request. Its events have no id: a stream of this version
/// cannot be resumed.
struct ListenFormatter {
    id: OwnedId,
    /// Filter to acknowledge; empty afterwards.
    filter: SubscriptionFilter,
    subscriptions: Subscriptions,
}

impl ListenFormatter {
    fn write<'n>(&self, text: &mut String, notices: impl IntoIterator<Item = Notice<'n>>) {
        for notice in notices {
            notice::event(text, None, &notice.to_json(Some(self.id.get())));
        }
    }
}

/// Formats the last message of a stream.
fn last(response: &[u8]) -> String {
    let mut text = String::new();
    notice::event(&mut text, None, &String::from_utf8_lossy(response));
    text
}

impl EventFormatter for ListenFormatter {
    fn opening(&mut self, _since: u64) -> String {
        #[derive(Serialize)]
        struct AcknowledgedParams<'l> {
            #[serde(rename = "_meta")]
            meta: Meta<'l>,
            notifications: SubscriptionFilter,
        }
        let notifications = std::mem::take(&mut self.filter);
        let params = AcknowledgedParams { meta: Meta::of(self.id.get()), notifications };
        let method = "notifications/subscriptions/acknowledged";
        let mut text = String::new();
        notice::event(&mut text, None, &notice::notification(method, Some(params)));
        text
    }

    fn changes(
        &self,
        text: &mut String,
        changes: &[&RawValue],
        _read: u64,
    ) -> serde_json::Result<Option<u64>> {
        self.write(text, self.subscriptions.notices_for(changes)?);
        Ok(None)
    }

    fn truncated(&self, text: &mut String, _now: u64) -> bool {
        self.write(text, self.subscriptions.everything());
        true
    }

    fn heartbeat(&self, _id: Option<u64>) -> String {
        ": heartbeat\n\n".to_owned()
    }

    fn closing(&self, _id: Option<u64>) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct ListenResult<'l> {
            result_type: &'static str,
            #[serde(rename = "_meta")]
            meta: Meta<'l>,
        }
        let info = Implementation::new(server::NAME, env!("CARGO_PKG_VERSION"));
        let meta = Meta { server_info: Some(info), ..Meta::of(self.id.get()) };
        let result = serde_json::to_vec(&ListenResult { result_type: "complete", meta });
        last(&message::response(self.id.get(), &result.unwrap_or_default()))
    }

    fn end(&self, failure: &Failure) -> String {
        let fault = session_fault(ErrorCode::INTERNAL_ERROR, failure);
        last(&message::error(Some(self.id.get()), &fault.error))
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{
        RequestId, ResourceUpdatedNotification, SubscriptionsAcknowledgedNotification,
        SubscriptionsListenResult,
    };
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::mcp::Message;

    /// Returns a listener of the request with this id, a JSON text, that is subscribed to the list
    /// and to the entry `a`.
    fn listener(id: &str) -> ListenFormatter {
        let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#);
        let id = Message::parse(request.as_bytes()).unwrap().id.unwrap().into_owned();
        let mut subscriptions = Subscriptions::list();
        subscriptions.add(Resource::Entry("a".to_owned()), "session://s/entries/a");
        let mut filter = SubscriptionFilter::new();
        filter.resources_list_changed = Some(true);
        filter.resource_subscriptions = Some(vec!["session://s/entries/a".to_owned()]);
        ListenFormatter { id, filter, subscriptions }
    }

    fn changes_text(listener: &ListenFormatter, changes: &str) -> String {
        let changes: Vec<&RawValue> = serde_json::from_str(changes).unwrap();
        let mut text = String::new();
        assert_eq!(listener.changes(&mut text, &changes, 9).unwrap(), None);
        text
    }

    /// Parses the one message in `text`, or a member of it, with the SDK.
    #[track_caller]
    fn read<T: DeserializeOwned>(text: &str, member: Option<&str>) -> T {
        let data = text.strip_prefix("event: message\ndata: ").unwrap();
        let mut message: serde_json::Value = serde_json::from_str(data).unwrap();
        let message = member.map_or(message.clone(), |it| message[it].take());
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn every_message_has_the_id_of_its_request_as_sent() {
        let mut listener = listener("7");
        assert_eq!(
            listener.opening(3),
            "event: message\ndata: {\"jsonrpc\":\"2.0\",\
             \"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":{\
             \"io.modelcontextprotocol/subscriptionId\":7},\"notifications\":{\
             \"resourcesListChanged\":true,\
             \"resourceSubscriptions\":[\"session://s/entries/a\"]}}}\n\n"
        );
        assert_eq!(
            changes_text(&listener, r#"[{"action":"write","key":"a","version":1}]"#),
            "event: message\ndata: {\"jsonrpc\":\"2.0\",\
             \"method\":\"notifications/resources/list_changed\",\"params\":{\"_meta\":{\
             \"io.modelcontextprotocol/subscriptionId\":7}}}\n\n\
             event: message\ndata: {\"jsonrpc\":\"2.0\",\
             \"method\":\"notifications/resources/updated\",\"params\":{\"_meta\":{\
             \"io.modelcontextprotocol/subscriptionId\":7},\"uri\":\"session://s/entries/a\"}}\n\n"
        );
        assert_eq!(changes_text(&listener, r#"[{"action":"write","key":"b","version":2}]"#), "");
        assert_eq!(listener.heartbeat(Some(3)), ": heartbeat\n\n");
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            listener.closing(Some(3)),
            format!(
                "event: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\
                 \"resultType\":\"complete\",\"_meta\":{{\
                 \"io.modelcontextprotocol/subscriptionId\":7,\
                 \"io.modelcontextprotocol/serverInfo\":{{\"name\":\"shared-context\",\
                 \"version\":\"{version}\"}}}}}}}}\n\n"
            )
        );
        assert_eq!(
            listener.end(&Failure::new("UNAUTHENTICATED", "it expired")),
            "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,\
             \"message\":\"it expired\",\"data\":{\"error\":{\"code\":\"UNAUTHENTICATED\",\
             \"message\":\"it expired\"}}}}\n\n"
        );
    }

    #[test]
    fn no_id_breaks_a_message() {
        for id in [r#""listen:0""#, r#""\u000a\n\r data: x""#, "-1", "123456789012345678901234"] {
            let mut listener = listener(id);
            let failure = Failure::new("INTERNAL", "two\nlines\r\n\n");
            let change = changes_text(&listener, r#"[{"action":"redact","key":"a"}]"#);
            let texts =
                [listener.opening(3), change, listener.closing(None), listener.end(&failure)];
            for text in texts {
                assert_eq!(text.lines().count(), 3, "{text:?}");
                assert!(text.ends_with("}\n\n") && !text.contains('\r'), "{text:?}");
                assert!(text.contains(id), "{text:?}");
            }
        }
    }

    #[test]
    fn the_sdk_reads_every_message() {
        let mut listener = listener("\"listen:0\"");
        let it: SubscriptionsAcknowledgedNotification = read(&listener.opening(3), None);
        assert_eq!(it.params.notifications.resources_list_changed, Some(true));
        let text = changes_text(&listener, r#"[{"action":"redact","key":"a"}]"#);
        let it: ResourceUpdatedNotification = read(&text, None);
        assert_eq!(it.params.uri, "session://s/entries/a");
        let it: SubscriptionsListenResult = read(&listener.closing(None), Some("result"));
        assert_eq!(it.meta.subscription_id(), Some(RequestId::String("listen:0".into())));
        assert_eq!(it.meta.server_info().unwrap().name, "shared-context");
    }

    #[test]
    fn a_client_that_missed_changes_gets_all_notifications() {
        let mut text = String::new();
        assert!(listener("1").truncated(&mut text, 40));
        assert_eq!(text.matches("list_changed").count(), 1, "{text}");
        assert_eq!(text.matches("\"uri\":\"session://s/entries/a\"").count(), 1, "{text}");
    }
}
