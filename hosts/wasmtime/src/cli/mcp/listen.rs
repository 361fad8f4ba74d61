//! `subscriptions/listen` (2026-07-28): sends notifications until the client cancels them.
//!
//! On stdio a subscription ends with `notifications/cancelled`, with a result when the
//! server stops (here: this process is stopped), or with the process. When the server
//! behind the bridge restarts, the subscription goes on: the bridge subscribes again, and
//! then reports a change of every subscribed resource, because changes in between are
//! unknown.
//!
//! # Invariants
//!
//! - The client receives one acknowledgement, first, and at most one end.
//! - No change goes unreported; a reported change may not have happened.

use std::{
    io::{self, BufReader, Read},
    ops::ControlFlow::{self, Break, Continue},
    sync::{Arc, atomic::Ordering},
    thread,
    time::Duration,
};

use serde_json::Value;

use super::{
    bridge::Bridge,
    message::{self, Message, ServerMessage, notification},
    output::Ticket,
    upstream::Need,
};
use crate::cli::{client::AnswerTime, event::Events, signals::no_thread};

/// The maximum number of open subscriptions. A cancelled one counts until the server sends
/// its next event or heartbeat.
const LISTENING_MAX: usize = 32;
/// The pause before the second attempt to connect, and the longest pause.
const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(8);

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
pub(super) const UPDATED: &str = "notifications/resources/updated";
pub(super) const LIST_CHANGED: &str = "notifications/resources/list_changed";

/// Starts the subscription that `message` requests.
pub(super) fn begin(bridge: &Arc<Bridge>, message: Arc<Message>, ticket: &Arc<Ticket>) {
    let reject = |text: &str| {
        let line = message::error(Some(&ticket.id), message::INTERNAL_ERROR, text, None);
        bridge.output.answer(ticket, &line);
    };
    if bridge.listening.fetch_add(1, Ordering::SeqCst) >= LISTENING_MAX {
        bridge.listening.fetch_sub(1, Ordering::SeqCst);
        let text = format!("{LISTENING_MAX} subscriptions are open; cancel one that is not needed");
        return reject(&text);
    }
    let (listening, kept) = (Arc::clone(bridge), Arc::clone(ticket));
    let listen = move || {
        let subscription = Subscription {
            bridge: &listening,
            message: &message,
            ticket: &kept,
            is_acknowledged: false,
            is_empty: false,
        };
        subscription.run();
        listening.listening.fetch_sub(1, Ordering::SeqCst);
    };
    if let Err(error) = thread::Builder::new().spawn(listen) {
        bridge.listening.fetch_sub(1, Ordering::SeqCst);
        reject(no_thread(&error).message());
    }
}

/// A subscription.
struct Subscription<'b> {
    bridge: &'b Bridge,
    message: &'b Message,
    ticket: &'b Arc<Ticket>,
    /// True after the client received the acknowledgement.
    is_acknowledged: bool,
    /// True if the server accepted no notifications, so that there is nothing to report.
    is_empty: bool,
}

impl Subscription<'_> {
    /// Listens until the client cancels, or the server reports a permanent error.
    fn run(mut self) {
        let Self { bridge, message, ticket, .. } = self;
        let mut pause = Pause::default();
        while bridge.output.is_open(ticket) {
            let need = if self.is_acknowledged { Need::Stream } else { Need::Request };
            let line = match bridge.send(message, AnswerTime::Endless, need) {
                Ok(answer) if self.is_acknowledged && answer.is_temporary() => None,
                Ok(answer) => match answer.stream() {
                    Ok(body) => {
                        pause = Pause::default();
                        self.follow(body);
                        None
                    }
                    Err(answer) => Some(answer.line(&ticket.id)),
                },
                Err(_) if self.is_acknowledged => None,
                Err(failure) => Some(failure.line(message, &ticket.id)),
            };
            match line {
                Some(line) => bridge.output.answer(ticket, &line),
                None if bridge.output.is_open(ticket) => pause.wait(),
                None => {}
            }
        }
    }

    /// Forwards the events in `body`.
    fn follow(&mut self, body: impl Read) {
        let body = CancellableBody { body, bridge: self.bridge, ticket: self.ticket };
        let mut events = Events::new(BufReader::new(body));
        while let Ok(Some(event)) = events.next() {
            if self.pass(event.data.as_bytes()).is_break() {
                return;
            }
        }
    }

    /// Forwards `line`; breaks if it is the last of this stream.
    fn pass(&mut self, line: &[u8]) -> ControlFlow<()> {
        let Self { bridge, ticket, .. } = *self;
        let Some(message) = ServerMessage::parse(line) else { return Continue(()) };
        if message.answers(&ticket.id) {
            // The server is stopping or has a temporary error: the stream ends, but not the
            // subscription.
            let is_temporary = match message.error_code() {
                None => !self.is_empty,
                Some(_) => match message.failure_code() {
                    Some("UNAUTHENTICATED") => bridge.upstream.is_renewable(),
                    Some("STORAGE_UNAVAILABLE" | "RATE_LIMITED") => true,
                    _ => false,
                },
            };
            if !is_temporary || !self.is_acknowledged {
                bridge.output.answer(ticket, line);
            }
            return Break(());
        }
        if message.method() == Some(ACKNOWLEDGED) {
            if self.is_acknowledged {
                for line in missed_notifications(&message, ticket) {
                    bridge.output.notify(ticket, &line);
                }
                return Continue(());
            }
            self.is_acknowledged = true;
            let accepted = message.param("notifications").and_then(Value::as_object);
            self.is_empty = accepted.is_none_or(serde_json::Map::is_empty);
        }
        bridge.output.notify(ticket, line);
        Continue(())
    }
}

/// Returns the notifications after a repeated `acknowledged`: every subscribed resource may
/// have changed.
fn missed_notifications(acknowledged: &ServerMessage, ticket: &Ticket) -> Vec<Vec<u8>> {
    let accepted = |name: &str| acknowledged.param("notifications")?.get(name);
    let uris = accepted("resourceSubscriptions").and_then(Value::as_array);
    let uris = uris.into_iter().flatten().filter_map(Value::as_str);
    let mut lines: Vec<_> =
        uris.map(|uri| notification(UPDATED, Some(uri), Some(&ticket.id))).collect();
    if accepted("resourcesListChanged") == Some(&Value::Bool(true)) {
        lines.push(notification(LIST_CHANGED, None, Some(&ticket.id)));
    }
    lines
}

/// The growing pause before a stream is opened again.
#[derive(Debug, Default)]
pub(super) struct Pause(Option<Duration>);

impl Pause {
    /// Waits, longer each time.
    pub(super) fn wait(&mut self) {
        let pause = self.0.unwrap_or(PAUSE_MIN);
        thread::sleep(pause);
        self.0 = Some(pause.saturating_mul(2).min(PAUSE_MAX));
    }
}

/// A body that ends after its subscription is cancelled, at the server's next event or
/// heartbeat.
struct CancellableBody<'b, R> {
    body: R,
    bridge: &'b Bridge,
    ticket: &'b Arc<Ticket>,
}

impl<R: Read> Read for CancellableBody<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.body.read(buffer)?;
        if self.bridge.output.is_open(self.ticket) { Ok(read) } else { Ok(0) }
    }
}
