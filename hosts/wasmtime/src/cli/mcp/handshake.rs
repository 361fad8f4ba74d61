//! The handshake of older protocols: what it agreed on, and doing it again when the
//! server has forgotten it.
//!
//! Servers keep handshakes in memory: one that was restarted answers 404, and the
//! client begins anew (2025-11-25, Session Management). A client of stdio knows
//! nothing of that, so the bridge does it for the client.
//!
//! # Invariant
//!
//! A handshake that was done again is as good as the first: what the client
//! subscribed to is subscribed to, and its log has the level it asked for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, Method, StatusCode};

use super::{
    exchange::{self, Answer, Call, Failure},
    header::{self, MCP_SESSION_ID},
    message::Message,
    upstream::{Need, Upstream},
};
use crate::cli::client::not_ours;

/// JSON-RPC 2.0: there is no such method; sent with status 404 too.
const METHOD_NOT_FOUND: i64 = -32601;

/// What was agreed on.
#[derive(Debug, Clone, Default)]
pub(super) struct Handshake {
    /// The server's name for it.
    pub(super) session_id: Option<String>,
    pub(super) version: String,
    /// How many the client did before.
    pub(super) era: u64,
    pub(super) initialize: Arc<Message>,
    pub(super) initialized: Option<Arc<Message>>,
    pub(super) subscriptions: Vec<Arc<Message>>,
    /// What it last asked to read in the log.
    pub(super) level: Option<Arc<Message>>,
}

/// What came of a message.
#[derive(Debug)]
pub(super) enum Learned {
    /// Nothing about the handshake itself.
    Nothing,
    /// It is complete: from now on the server may send notifications.
    Complete,
    /// It took the place of this one.
    Other(Handshake),
}

/// The handshake of the client, when there was one.
#[derive(Debug, Default)]
pub(super) struct Handshakes {
    current: Mutex<Option<Handshake>>,
    /// Held by who does it again.
    renewing: Mutex<()>,
}

impl Handshake {
    /// Returns what the client subscribed to.
    pub(super) fn uris(&self) -> impl Iterator<Item = &str> {
        self.subscriptions.iter().filter_map(|it| it.text("uri"))
    }

    /// Returns whether `answer` says that the server does not know it.
    pub(super) fn is_forgotten(&self, answer: &Answer) -> bool {
        let is_other = || answer.told().is_some_and(|it| it.error_code() == Some(METHOD_NOT_FOUND));
        answer.status == StatusCode::NOT_FOUND && self.session_id.is_some() && !is_other()
    }

    /// Takes over what `answer` says to `initialize`; `false` when it is an error.
    fn agree(&mut self, answer: &Answer) -> bool {
        let Some(told) = answer.told() else { return false };
        let Some(version) = told.result_text("protocolVersion") else { return false };
        let id = answer.headers.get(&MCP_SESSION_ID).and_then(|it| it.to_str().ok());
        self.session_id = id.map(str::to_owned);
        version.clone_into(&mut self.version);
        true
    }

    /// Drops the subscription that `message` names.
    fn forget(&mut self, message: &Message) {
        self.subscriptions.retain(|it| it.text("uri") != message.text("uri"));
    }
}

impl Handshakes {
    /// Returns the handshake that `message` belongs to, if it belongs to one.
    pub(super) fn of(&self, message: &Message) -> Option<Handshake> {
        let is_legacy = message.version().is_none() && message.method != "initialize";
        if is_legacy { self.current() } else { None }
    }

    /// The one the client did last.
    pub(super) fn current(&self) -> Option<Handshake> {
        lock(&self.current).clone()
    }

    /// Remembers what `message` did, as `answer` says.
    pub(super) fn learn(&self, message: &Arc<Message>, answer: &Answer) -> Learned {
        if !answer.status.is_success() {
            return Learned::Nothing;
        }
        let mut current = lock(&self.current);
        if message.method == "initialize" {
            let era = current.as_ref().map_or(0, |it| it.era.saturating_add(1));
            let initialize = Arc::clone(message);
            let mut handshake = Handshake { era, initialize, ..Handshake::default() };
            let ended = if handshake.agree(answer) { current.replace(handshake) } else { None };
            return ended.map_or(Learned::Nothing, Learned::Other);
        }
        let Some(handshake) = current.as_mut() else { return Learned::Nothing };
        let is_done = || answer.told().is_some_and(|it| it.error_code().is_none());
        match &*message.method {
            "notifications/initialized" if handshake.initialized.is_none() => {
                handshake.initialized = Some(Arc::clone(message));
                return Learned::Complete;
            }
            "resources/subscribe" if is_done() => {
                handshake.forget(message);
                handshake.subscriptions.push(Arc::clone(message));
            }
            "resources/unsubscribe" if is_done() => handshake.forget(message),
            "logging/setLevel" if is_done() => handshake.level = Some(Arc::clone(message)),
            _ => {}
        }
        Learned::Nothing
    }

    /// Does the handshake `forgotten` again, unless that was done already. Returns
    /// the one that holds now.
    ///
    /// # Errors
    ///
    /// The server does not answer, or does not agree any more.
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
                may_last: false,
                need,
            };
            exchange::send(upstream, &call)
        };
        let initialize = Arc::clone(&handshake.initialize);
        let answer = send(&initialize, header::of(&initialize, None))?;
        if !handshake.agree(&answer) {
            let url = upstream.target().server.client.url().to_owned();
            let why = "it does not agree to the handshake any more";
            return Err(Failure::NotDone(not_ours(&url, why)));
        }
        let wanted = handshake.subscriptions.iter().chain(&handshake.level);
        for message in handshake.initialized.iter().chain(wanted) {
            send(message, header::of(message, Some(&handshake)))?;
        }
        *lock(&self.current) = Some(handshake.clone());
        Ok(handshake)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
