//! The handshake of older protocols: its result, and its repetition when the server has
//! forgotten it.
//!
//! Servers hold handshakes in memory. A restarted one answers 404, and an HTTP client has
//! to start anew (2025-11-25, Session Management). A stdio client does not expect that, so
//! the bridge repeats the handshake for it.
//!
//! # Invariant
//!
//! A repeated handshake is equivalent to the first: subscriptions and the log level are
//! restored.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, Method, StatusCode};

use super::{
    exchange::{self, Answer, Call, Failure},
    header::{self, MCP_SESSION_ID},
    message::Message,
    upstream::{Need, Upstream},
};
use crate::cli::client::{AnswerTime, not_a_server};

/// JSON-RPC 2.0: the method does not exist, which is also sent with status 404.
const METHOD_NOT_FOUND: i64 = -32601;

/// The result of a handshake, and the messages to repeat it.
#[derive(Debug, Clone, Default)]
pub(super) struct Handshake {
    /// The server's id for the MCP session.
    pub(super) session_id: Option<String>,
    pub(super) version: String,
    /// The number of earlier handshakes of the client.
    pub(super) era: u64,
    pub(super) initialize: Arc<Message>,
    pub(super) initialized: Option<Arc<Message>>,
    pub(super) subscriptions: Vec<Arc<Message>>,
    /// The last request for a log level.
    pub(super) level: Option<Arc<Message>>,
}

/// The effect of a message on the handshake.
#[derive(Debug)]
pub(super) enum HandshakeChange {
    /// The handshake itself did not change.
    Unchanged,
    /// The handshake is complete; the server may now send notifications.
    Complete,
    /// A new handshake replaced this one.
    Replaced(Handshake),
}

/// The client's handshake, if there is one.
#[derive(Debug, Default)]
pub(super) struct Handshakes {
    current: Mutex<Option<Handshake>>,
    /// Locked while a handshake is repeated.
    renewing: Mutex<()>,
}

impl Handshake {
    /// Returns the subscribed URIs.
    pub(super) fn uris(&self) -> impl Iterator<Item = &str> {
        self.subscriptions.iter().filter_map(|it| it.text("uri"))
    }

    /// Returns true if `answer` means that the server has forgotten the handshake.
    pub(super) fn is_forgotten(&self, answer: &Answer) -> bool {
        let is_other =
            || answer.message().is_some_and(|it| it.error_code() == Some(METHOD_NOT_FOUND));
        answer.status == StatusCode::NOT_FOUND && self.session_id.is_some() && !is_other()
    }

    /// Stores the server's `answer` to `initialize`; returns false if the server rejected
    /// it.
    fn agree(&mut self, answer: &Answer) -> bool {
        let Some(message) = answer.message() else { return false };
        let Some(version) = message.result_text("protocolVersion") else { return false };
        let id = answer.headers.get(&MCP_SESSION_ID).and_then(|it| it.to_str().ok());
        self.session_id = id.map(str::to_owned);
        version.clone_into(&mut self.version);
        true
    }

    /// Removes the subscription that `message` names.
    fn forget(&mut self, message: &Message) {
        self.subscriptions.retain(|it| it.text("uri") != message.text("uri"));
    }
}

impl Handshakes {
    /// Returns the handshake that `message` belongs to; modern messages have none.
    pub(super) fn of(&self, message: &Message) -> Option<Handshake> {
        let is_legacy = message.version().is_none() && message.method != "initialize";
        if is_legacy { self.current() } else { None }
    }

    /// Returns the client's latest handshake.
    pub(super) fn current(&self) -> Option<Handshake> {
        lock(&self.current).clone()
    }

    /// Records the effect of `message`, if `answer` shows success.
    pub(super) fn record(&self, message: &Arc<Message>, answer: &Answer) -> HandshakeChange {
        if !answer.status.is_success() {
            return HandshakeChange::Unchanged;
        }
        let mut current = lock(&self.current);
        if message.method == "initialize" {
            let era = current.as_ref().map_or(0, |it| it.era.saturating_add(1));
            let initialize = Arc::clone(message);
            let mut handshake = Handshake { era, initialize, ..Handshake::default() };
            let ended = if handshake.agree(answer) { current.replace(handshake) } else { None };
            return ended.map_or(HandshakeChange::Unchanged, HandshakeChange::Replaced);
        }
        let Some(handshake) = current.as_mut() else { return HandshakeChange::Unchanged };
        let is_done = || answer.message().is_some_and(|it| it.error_code().is_none());
        match &*message.method {
            "notifications/initialized" if handshake.initialized.is_none() => {
                handshake.initialized = Some(Arc::clone(message));
                return HandshakeChange::Complete;
            }
            "resources/subscribe" if is_done() => {
                handshake.forget(message);
                handshake.subscriptions.push(Arc::clone(message));
            }
            "resources/unsubscribe" if is_done() => handshake.forget(message),
            "logging/setLevel" if is_done() => handshake.level = Some(Arc::clone(message)),
            _ => {}
        }
        HandshakeChange::Unchanged
    }

    /// Repeats the handshake `forgotten`, unless another thread has done so. Returns the
    /// valid handshake.
    ///
    /// # Errors
    ///
    /// The server does not answer, or rejects the handshake.
    pub(super) fn renewed(
        &self,
        upstream: &Upstream,
        forgotten: &Handshake,
        need: Need,
    ) -> Result<Handshake, Failure> {
        let _renewing = self.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.current().unwrap_or_else(|| forgotten.clone());
        if current.session_id != forgotten.session_id {
            return Ok(current);
        }
        let mut handshake = current;
        let send = |message: &Message, headers: HeaderMap| {
            let call = Call {
                method: Method::POST,
                headers,
                body: &message.line,
                is_repeatable: true,
                time: AnswerTime::USUAL,
                need,
            };
            exchange::send(upstream, &call)
        };
        let initialize = Arc::clone(&handshake.initialize);
        let answer = send(&initialize, header::of(&initialize, None))?;
        if !handshake.agree(&answer) {
            let url = upstream.target().server.client.url().to_owned();
            let why = "it does not agree to the handshake any more";
            return Err(Failure::NotDone(not_a_server(&url, why)));
        }
        let restored = handshake.subscriptions.iter().chain(&handshake.level);
        for message in handshake.initialized.iter().chain(restored) {
            send(message, header::of(message, Some(&handshake)))?;
        }
        *lock(&self.current) = Some(handshake.clone());
        Ok(handshake)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
