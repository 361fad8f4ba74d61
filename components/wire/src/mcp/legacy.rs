//! Features of versions before 2026-07-28 that need a handshake: subscriptions to resources, a log,
//! and the stream for both (2025-11-25, Resources, Subscriptions; Logging; Transports, Listening
//! for Messages from the Server).
//!
//! `handshake` stores the state, and `update` defines the notifications. None of this is offered
//! without in-process state.
//!
//! # Invariants
//!
//! - A client has one stream for each handshake, so that no message is sent twice. A new stream
//!   replaces the previous one and continues where it stopped.
//! - A change between `resources/subscribe` and the stream is sent on the stream.

use std::{borrow::Cow, fmt::Write as _, sync::Arc};

use rmcp::model::{EmptyObject, ErrorCode, ProtocolVersion};
use serde_json::{json, value::RawValue};
use shared_context_codec::Failure;

pub(crate) use super::handshake::{Handshake, Handshakes};
use super::{
    Context, Fault, MethodResult, Rejection,
    log::Level,
    notice::{self, Notice},
    params::Params,
    update::{AddOutcome, Resource, SUBSCRIPTION_BYTES_MAX, SUBSCRIPTIONS_MAX},
};
use crate::{
    Engine,
    credential::Identity,
    http::{Cursor, EventFormatter, ToolRequest, Watch, revision, scope},
};

/// Delay before a client reconnects, in milliseconds.
const RETRY_MS: u32 = 1_000;

/// `resources/subscribe`.
pub(crate) async fn subscribe<E: Engine>(
    context: &Context<'_, E>,
    params: &Params<'_>,
) -> Result<MethodResult, Rejection> {
    let (handshake, uri, resource) = subscription_target(context, params)?;
    // Reports a void credential now, not only when a stream is opened.
    let now = revision_now(context, context.session(None)?).await?;
    if handshake.subscribe(resource, &uri, now) == AddOutcome::TooMany {
        return Err(Fault::invalid_params(format!(
            "this client subscribed to as many resources as it may, {SUBSCRIPTIONS_MAX} with \
             {SUBSCRIPTION_BYTES_MAX} bytes of URIs; unsubscribe from some, or subscribe to session://{{session}}/keys, which tells of every change"
        ))
        .into());
    }
    MethodResult::new(&EmptyObject {})
}

/// `resources/unsubscribe`.
pub(crate) fn unsubscribe<E: Engine>(
    context: &Context<'_, E>,
    params: &Params<'_>,
) -> Result<MethodResult, Rejection> {
    let (handshake, uri, resource) = subscription_target(context, params)?;
    handshake.unsubscribe(&resource, &uri);
    MethodResult::new(&EmptyObject {})
}

/// `logging/setLevel`.
pub(crate) async fn set_level<E: Engine>(
    context: &Context<'_, E>,
    params: &Params<'_>,
) -> Result<MethodResult, Rejection> {
    let handshake = handshake(context)?;
    let level = Level::from_params(params)?;
    let now = revision_now(context, context.session(None)?).await?;
    handshake.set_level(level, now);
    MethodResult::new(&EmptyObject {})
}

/// `GET`: a stream of updates to the subscribed resources and to their list. It starts after
/// `last_event_id`, otherwise after the last message of the previous stream, otherwise now.
///
/// # Errors
///
/// `METHOD_NOT_ALLOWED`: the admin key belongs to no session. `MALFORMED_REQUEST`: `last_event_id`
/// is invalid. Errors of the session for callers that may not watch it.
pub(crate) async fn stream<E: Engine>(
    context: &Context<'_, E>,
    last_event_id: Option<&str>,
) -> Result<Box<Watch>, Failure> {
    let (Identity::Participant(grant), Some(handshake)) = (context.identity, &context.handshake)
    else {
        return Err(Failure::new(
            "METHOD_NOT_ALLOWED",
            "the admin key is for every session, so there is none to watch here: use the \
             credential of a participant, or POST subscriptions/listen with URIs of one session",
        ));
    };
    let resumed = last_event_id.map(revision).transpose()?;
    let now = revision_now(context, grant.scope.id()).await?;
    let scope = scope(grant.scope.id());
    // Opened before the stream that it replaces ends.
    let caller = context.caller(grant.scope.id())?;
    let open = context.streams.open(&scope, &caller)?;
    let (number, sent) = handshake.begin_stream();
    let cursor = Cursor {
        keys: Arc::clone(context.keys),
        authorization: context.authorization.to_owned(),
        caller,
        scope,
        filter: None,
        except_own: false,
        since: resumed.or(sent).unwrap_or(now),
    };
    let formatter = Box::new(HandshakeFormatter { handshake: Arc::clone(handshake), number });
    Watch::open(context.engine, cursor, formatter, open).await.map(Box::new)
}

/// Builds the error for `method` on a server without in-process state, with alternatives for
/// `identity`.
pub(crate) fn unavailable(method: &str, identity: &Identity) -> Fault {
    let session = match identity {
        Identity::Participant(grant) => grant.scope.id(),
        Identity::Admin => "{session}",
    };
    let message = format!(
        "this server keeps nothing between requests, so there is no {method}: call \
         shared_context with action changes, wait for the next one with GET \
         /v1/sessions/{session}/changes?wait=60, or POST subscriptions/listen of 2026-07-28"
    );
    Fault::in_band(ErrorCode::METHOD_NOT_FOUND, message)
}

/// Returns the handshake that the request belongs to.
///
/// # Errors
///
/// Invalid request (-32600): there was no handshake.
fn handshake<'a, E>(context: &'a Context<'_, E>) -> Result<&'a Handshake, Fault> {
    context.handshake.as_deref().ok_or_else(|| {
        Fault::bad_request(
            ErrorCode::INVALID_REQUEST,
            "what a client wants to hear of belongs to a handshake: send initialize first, and \
             the Mcp-Session-Id of its response with this request",
        )
    })
}

/// Returns the handshake, the URI in `params` and its resource.
///
/// # Errors
///
/// Invalid request (-32600): there was no handshake. Invalid params (-32602).
/// Resource not found (-32002).
fn subscription_target<'a, E>(
    context: &'a Context<'_, E>,
    params: &Params<'a>,
) -> Result<(&'a Handshake, Cow<'a, str>, Resource), Fault> {
    let handshake = handshake(context)?;
    let uri = params.required_text("uri")?;
    let own = match (Resource::parse(&uri), context.identity) {
        (Some((session, it)), Identity::Participant(grant)) if session == grant.scope.id() => {
            Some(it)
        }
        _ => None,
    };
    match own.filter(|it| it.is_granted(context.identity)) {
        Some(resource) => Ok((handshake, uri, resource)),
        None => Err(not_found(&uri, context.identity)),
    }
}

fn not_found(uri: &str, identity: &Identity) -> Fault {
    let message = match identity {
        Identity::Admin => {
            "Resource not found: the admin key is for every session, so that there is none to \
             subscribe to; use the credential of a participant"
                .to_owned()
        }
        Identity::Participant(grant) => {
            let keys = if grant.keys.is_empty() {
                String::new()
            } else {
                format!(" for keys that match {}", grant.keys.join(" or "))
            };
            format!(
                "Resource not found: this credential can subscribe to session://{0}/keys, \
                 session://{0}/context, session://{0}/packets/{{address}} and \
                 session://{0}/entries/{{key}}{keys}",
                grant.scope.id()
            )
        }
    };
    Fault::in_band(ErrorCode::RESOURCE_NOT_FOUND, message).with_data(json!({"uri": uri}))
}

/// Returns the current revision of `session`.
async fn revision_now<E: Engine>(context: &Context<'_, E>, session: &str) -> Result<u64, Failure> {
    Ok(context.invoke(session, ToolRequest::new("show_session")).await?.revision)
}

/// Event formatter for the client of a handshake.
///
/// Comments between messages are for proxies. They are lines and not blocks of their own: after an
/// id, older clients take each block for a message.
struct HandshakeFormatter {
    handshake: Arc<Handshake>,
    number: u64,
}

impl HandshakeFormatter {
    /// Writes the id to resume from, if the client's version has events without a message
    /// (2025-11-25).
    fn write_resume_id(&self, text: &mut String, id: u64) {
        if *self.handshake.version() == ProtocolVersion::V_2025_11_25 {
            // Writing to a string does not fail.
            let _ = write!(text, "retry: {RETRY_MS}\nid: {id}\ndata:\n\n");
        }
    }

    fn comment(&self, id: Option<u64>, comment: &str) -> String {
        let mut text = String::new();
        if let Some(id) = id {
            self.write_resume_id(&mut text, id);
        }
        let _ = writeln!(text, ": {comment}");
        text
    }
}

/// Appends `messages` to `text`. Only the last one has the id `read`, so that a client that is cut
/// off earlier gets all of them again. Returns true if there were any.
fn write_messages(
    text: &mut String,
    messages: impl IntoIterator<Item = String>,
    read: u64,
) -> bool {
    let mut messages = messages.into_iter().peekable();
    let has_messages = messages.peek().is_some();
    while let Some(message) = messages.next() {
        let id = messages.peek().is_none().then_some(read);
        notice::event(text, id, &message);
    }
    has_messages
}

fn json(notice: Notice<'_>) -> String {
    notice.to_json(None)
}

impl EventFormatter for HandshakeFormatter {
    fn opening(&mut self, since: u64) -> String {
        self.handshake.record_sent(self.number, since);
        self.comment(Some(since), &format!("changes after revision {since}"))
    }

    fn changes(
        &self,
        text: &mut String,
        changes: &[&RawValue],
        read: u64,
    ) -> serde_json::Result<Option<u64>> {
        let level = self.handshake.level();
        let mut messages = level.map_or(Ok(Vec::new()), |it| it.messages(changes))?;
        self.handshake.subscriptions(|it| {
            messages.extend(it.notices_for(changes)?.into_iter().map(json));
            Ok(write_messages(text, messages, read).then_some(read))
        })
    }

    fn truncated(&self, text: &mut String, now: u64) -> bool {
        self.handshake.subscriptions(|it| write_messages(text, it.everything().map(json), now));
        true
    }

    fn heartbeat(&self, id: Option<u64>) -> String {
        self.comment(id, "heartbeat")
    }

    fn closing(&self, id: Option<u64>) -> String {
        self.comment(id, "the server ends this stream; connect again")
    }

    /// Sends only the code: the client gets the message when it reconnects.
    fn end(&self, failure: &Failure) -> String {
        self.comment(None, &format!("this stream ends: {}", failure.code))
    }

    fn delivered(&self, since: u64) {
        self.handshake.record_sent(self.number, since);
    }

    fn is_current(&self, now_micros: u64) -> bool {
        self.handshake.is_current_stream(self.number, now_micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential::Keys;

    /// Returns a stream of a client of this version that subscribed to the entry `a`.
    fn stream(version: ProtocolVersion) -> HandshakeFormatter {
        let handshakes = Handshakes::new();
        let keys = Keys::new(&[7; 32], "admin-key-admin-key-admin-key-admin").unwrap();
        let id = handshakes.begin(&keys, &Identity::Admin, version, 0);
        let handshake = handshakes.find(&id, &Identity::Admin, 0).unwrap();
        handshake.subscribe(Resource::Entry("a".to_owned()), "session://s/entries/a", 1);
        let (number, _) = handshake.begin_stream();
        HandshakeFormatter { handshake, number }
    }

    #[track_caller]
    fn check(stream: &HandshakeFormatter, changes: &str, expected: &str) {
        let changes: Vec<&RawValue> = serde_json::from_str(changes).unwrap();
        let mut text = String::new();
        let last = stream.changes(&mut text, &changes, 9).unwrap();
        assert_eq!(text, expected);
        assert_eq!(last, (!expected.is_empty()).then_some(9));
    }

    const UPDATED: &str = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"session://s/entries/a"}}"#;
    const LIST_CHANGED: &str =
        r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#;

    #[test]
    fn only_the_last_message_of_a_read_has_an_id() {
        for version in [ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2025_06_18] {
            let stream = stream(version);
            check(&stream, "[]", "");
            check(&stream, r#"[{"action":"write","key":"b","version":2}]"#, "");
            check(
                &stream,
                r#"[{"action":"write","key":"a","version":2},{"action":"write","key":"a","version":3}]"#,
                &format!("event: message\nid: 9\ndata: {UPDATED}\n\n"),
            );
            check(
                &stream,
                r#"[{"action":"delete","key":"a","version":3}]"#,
                &format!(
                    "event: message\ndata: {LIST_CHANGED}\n\n\
                     event: message\nid: 9\ndata: {UPDATED}\n\n"
                ),
            );
            let mut text = String::new();
            assert!(stream.truncated(&mut text, 12));
            let all = format!(
                "event: message\ndata: {LIST_CHANGED}\n\n\
                 event: message\nid: 12\ndata: {UPDATED}\n\n"
            );
            assert_eq!(text, all);
        }
    }

    /// Clients of 2025-06-18 treat an event without data as a broken message, and some treat a
    /// comment in a separate block as such an event.
    #[test]
    fn events_without_a_message_depend_on_the_version() {
        let failure = Failure::new("UNAUTHENTICATED", "it expired\n\nask");
        let texts = |version: ProtocolVersion| {
            let mut it = stream(version);
            [
                it.opening(3),
                it.heartbeat(None),
                it.heartbeat(Some(4)),
                it.closing(Some(4)),
                it.end(&failure),
            ]
        };
        assert_eq!(
            texts(ProtocolVersion::V_2025_11_25),
            [
                "retry: 1000\nid: 3\ndata:\n\n: changes after revision 3\n",
                ": heartbeat\n",
                "retry: 1000\nid: 4\ndata:\n\n: heartbeat\n",
                "retry: 1000\nid: 4\ndata:\n\n: the server ends this stream; connect again\n",
                ": this stream ends: UNAUTHENTICATED\n",
            ]
        );
        assert_eq!(
            texts(ProtocolVersion::V_2025_06_18),
            [
                ": changes after revision 3\n",
                ": heartbeat\n",
                ": heartbeat\n",
                ": the server ends this stream; connect again\n",
                ": this stream ends: UNAUTHENTICATED\n",
            ]
        );
    }
}
