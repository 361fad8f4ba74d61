//! A live stream of a session's changes: what it has told, and what it tells
//! next.
//!
//! A [`Watch`] holds no changes. Whoever writes it to a socket asks for more when
//! there is room, and only then is anything read; so a slow reader takes up no
//! more memory than a fast one, and one that comes back is told from where it
//! was. Not here: how a stream is asked for (`changes`), and its text (`event`).
//!
//! # Invariants
//!
//! - Every change that passes the filter is told once and in order, whatever
//!   else happens between two looks.
//! - Nothing is told to a credential that is no longer good: the session is asked
//!   anew each time, and expiry is checked before anything is sent.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use shared_context_codec::{Caller, Failure, Reply};

use super::{
    call::{ToolRequest, misread, part},
    changes::Page,
    event,
    metrics::OpenStream,
};
use crate::{Engine, Woken, credential::Keys};

/// After how long without an event something is sent all the same.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How many commits are read at a time: what they did is all that lies in memory
/// for a reader that takes nothing.
const COMMITS_READ: u64 = 32;

/// A live stream of one session's changes, as `text/event-stream`.
///
/// A host writes what [`Watch::next`] gives to the client, piece by piece, and
/// drops the watch when the client has gone.
pub struct Watch {
    keys: Arc<Keys>,
    /// The credential as it was sent.
    authorization: String,
    caller: Caller,
    scope: String,
    /// The key pattern of the changes to be told; all when there is none.
    filter: Option<String>,
    /// The revision up to which changes were read.
    since: u64,
    /// The bucket's position after which there may be more to read.
    seen: u64,
    /// The revision the reader would come back with.
    told: u64,
    /// What was read and is sent next.
    ready: Option<String>,
    /// When something is to be sent, by the engine's monotonic clock.
    heartbeat_at_micros: u64,
    is_over: bool,
    _open: OpenStream,
}

/// What a stream is about.
pub(super) struct Watched {
    pub(super) authorization: String,
    pub(super) caller: Caller,
    pub(super) scope: String,
    pub(super) filter: Option<String>,
    pub(super) since: u64,
}

impl Watch {
    /// Begins to watch; reads what there is to tell already.
    ///
    /// # Errors
    ///
    /// What the session answers to who may not watch it, or not from there.
    pub(super) async fn open<E: Engine>(
        engine: &E,
        keys: Arc<Keys>,
        watched: Watched,
        open: OpenStream,
    ) -> Result<Self, Failure> {
        let Watched { authorization, caller, scope, filter, since } = watched;
        let mut watch = Self {
            keys,
            authorization,
            caller,
            scope,
            filter,
            since,
            seen: 0,
            told: since,
            ready: None,
            heartbeat_at_micros: 0,
            is_over: false,
            _open: open,
        };
        let mut text = event::opening(since);
        watch.read(engine, &mut text).await?;
        watch.ready = Some(text);
        Ok(watch)
    }

    /// What is to be sent next, as soon as there is something: events, or a
    /// heartbeat. `None` when the stream is at its end.
    ///
    /// The future may be dropped at any time; nothing is lost by it.
    pub async fn next<E: Engine>(&mut self, engine: &E) -> Option<Bytes> {
        if let Some(text) = self.ready.take() {
            return Some(self.sent(engine, text));
        }
        if self.is_over {
            return None;
        }
        loop {
            let left = self.heartbeat_at_micros.saturating_sub(engine.monotonic_micros());
            let left = Duration::from_micros(left);
            let woken = engine.wait_for_change(&self.scope, self.seen, left).await;
            let mut text = String::new();
            let outcome = match woken {
                Woken::Changed => self.read(engine, &mut text).await,
                Woken::TimeUp => self.check(engine).map(|()| text = event::heartbeat(self.moved())),
                // What was changed before is still told; who is further behind
                // comes back for it.
                Woken::Stopping => {
                    self.is_over = true;
                    let last = self.read(engine, &mut text).await;
                    last.map(|()| text.push_str(&event::farewell(self.moved())))
                }
            };
            if let Err(failure) = outcome {
                self.is_over = true;
                return Some(event::end(&failure).into());
            }
            if !text.is_empty() {
                return Some(self.sent(engine, text));
            }
        }
    }

    /// Reads the next changes and adds them to `text`.
    async fn read<E: Engine>(&mut self, engine: &E, text: &mut String) -> Result<(), Failure> {
        self.check(engine)?;
        let request = ToolRequest {
            action: "changes",
            since: Some(self.since),
            limit: Some(COMMITS_READ),
            keys: self.filter.as_deref(),
            ..ToolRequest::default()
        };
        let request = serde_json::to_vec(&request).map_err(|_| misread())?;
        let position = engine.position(&self.scope).await;
        let reply: Reply = engine.invoke(&self.scope, &self.caller, &request).await?;
        let page: Page<'_> = part(&reply)?;
        let last = event::changes(text, &page.changes).map_err(|_| misread())?;
        self.told = last.unwrap_or(self.told);
        self.since = page.next_since;
        self.seen = page.seen(position);
        Ok(())
    }

    /// Makes sure that the credential has not expired.
    fn check<E: Engine>(&self, engine: &E) -> Result<(), Failure> {
        self.keys.identify(Some(&self.authorization), engine.now()).map(drop)
    }

    /// Where the reader should come back to, when it does not know yet.
    fn moved(&mut self) -> Option<u64> {
        let is_moved = self.since > self.told;
        self.told = self.since;
        is_moved.then_some(self.since)
    }

    fn sent<E: Engine>(&mut self, engine: &E, text: String) -> Bytes {
        let heartbeat = u64::try_from(HEARTBEAT.as_micros()).unwrap_or(u64::MAX);
        self.heartbeat_at_micros = engine.monotonic_micros().saturating_add(heartbeat);
        text.into()
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("scope", &self.scope)
            .field("since", &self.since)
            .finish_non_exhaustive()
    }
}
