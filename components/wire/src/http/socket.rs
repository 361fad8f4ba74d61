//! A WebSocket that is told a session's changes by a host that may forget all but
//! a text about it between two events: what it has told, and what it tells next.
//!
//! A [`Socket`] holds no changes, and nothing waits for one. Whenever something may
//! have changed the host asks for [what there is to tell](Socket::catch_up), and
//! then writes down [where that ended](Socket::kept); from there
//! [`Http::resume`] goes on. What a client sends means nothing.
//! Not here: the handshake (RFC 6455 §4.2) and frames, which are the host's; how a
//! socket is asked for (`changes`), and reading (`cursor`).
//!
//! # Invariants
//!
//! - Every change that passes the filter is told once and in order, whatever is
//!   written down when: what is kept tells no more than what was taken.
//! - Nothing is told to a credential that is no longer good: the session is asked
//!   anew each time, and expiry is checked before.

use std::{borrow::Cow, fmt, sync::Arc};

use http::{
    HeaderMap, HeaderName, Method,
    header::{CONNECTION, UPGRADE},
};
use serde::{Deserialize, Serialize};
use shared_context_codec::Failure;
use shared_context_core::{ScopeKind, time::Timestamp};

use super::{
    Http,
    call::{misread, part, scope},
    changes::Page,
    code,
    cursor::Cursor,
    event::{Commit, commits},
    respond,
    streams::OpenStream,
};
use crate::{Engine, credential::bearer};

/// After how many revisions that told it nothing a client is told to come back
/// with a later one. The feed keeps at least four times as many changes.
const SPARED_MAX: u64 = 64;

/// A refusal closes with "policy violation", a failure of the server with "internal
/// error" (RFC 6455 §7.4.1).
const REFUSED: u16 = 1008;
const FAILED: u16 = 1011;

/// Live changes of one session, as messages of a WebSocket.
///
/// A host that has answered the handshake sends what [`Socket::catch_up`] gives,
/// and asks again whenever something in the session may have changed. It drops the
/// socket when it forgets it or the client has gone; while it exists, it counts
/// among the live streams of its participant.
pub struct Socket {
    /// Where changes are read next: all before was taken.
    cursor: Cursor,
    /// Whether the client was told where it begins.
    is_begun: bool,
    /// The revision the client would come back with.
    told: u64,
    has_more: bool,
    close_code: Option<u16>,
    _open: OpenStream,
}

/// The last message of a socket, and how it is closed then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The message.
    pub message: String,
    /// The status code of the closing frame (RFC 6455 §7.4).
    pub close_code: u16,
}

/// One message.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Message<'m> {
    /// The first: what comes after this revision is told.
    Open { since: u64 },
    /// What one commit changed.
    Change(&'m Commit<'m>),
    /// There was nothing to tell up to this revision.
    Moved { since: u64 },
}

/// What is written down of a socket.
#[derive(Serialize, Deserialize)]
struct Kept<'k> {
    #[serde(borrow)]
    credential: Cow<'k, str>,
    #[serde(borrow)]
    session: Cow<'k, str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    keys: Option<Cow<'k, str>>,
    since: u64,
    told: u64,
    is_begun: bool,
}

impl Socket {
    /// Begins to watch from `cursor` on.
    ///
    /// # Errors
    ///
    /// What the session answers to who may not watch it, or not from there.
    pub(super) async fn open<E: Engine>(
        engine: &E,
        cursor: Cursor,
        open: OpenStream,
    ) -> Result<Self, Failure> {
        // What there is to tell already is read again when it can be sent.
        cursor.read(engine).await?;
        let told = cursor.since;
        Ok(Self { cursor, is_begun: false, told, has_more: true, close_code: None, _open: open })
    }

    /// Returns the messages that are to be sent now, each a JSON text; none when there is
    /// nothing to tell. Of many changes it tells the first ones, and then it
    /// [has more](Self::has_more).
    ///
    /// The future may be dropped at any time; nothing is lost by it.
    pub async fn catch_up<E: Engine>(&mut self, engine: &E) -> Vec<String> {
        let mut messages = Vec::new();
        if self.close_code.is_some() {
            return messages;
        }
        if let Err(failure) = self.read(engine, &mut messages).await {
            let Ending { message, close_code } = Ending::of(&failure);
            messages.push(message);
            self.has_more = false;
            self.close_code = Some(close_code);
        }
        self.is_begun = true;
        messages
    }

    /// Returns whether there is more to tell already: then the host asks again.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// Returns the status code to close the socket with (RFC 6455 §7.4), now that the last
    /// message was taken; `None` as long as it goes on.
    pub fn close_code(&self) -> Option<u16> {
        self.close_code
    }

    /// Returns what is to be remembered of this socket while it is forgotten: a text of
    /// JSON, with which [`Http::resume`] goes on after the messages that were taken.
    /// It holds the credential, so it is to be kept where secrets are, and no longer
    /// than the socket. It has less than 5,000 bytes, and less than 1,200 for a
    /// credential of all keys.
    pub fn kept(&self) -> String {
        let Cursor { authorization, scope, filter, since, .. } = &self.cursor;
        let kept = Kept {
            credential: bearer(authorization).unwrap_or_default().into(),
            session: ScopeKind::split(scope).map_or("", |(_, id)| id).into(),
            keys: filter.as_deref().map(Cow::from),
            since: *since,
            told: self.told,
            is_begun: self.is_begun,
        };
        // Texts and numbers always have a JSON form.
        serde_json::to_string(&kept).unwrap_or_default()
    }

    /// Reads until there is something to tell, or nothing more to read.
    async fn read<E: Engine>(
        &mut self,
        engine: &E,
        messages: &mut Vec<String>,
    ) -> Result<(), Failure> {
        if !self.is_begun {
            messages.push(json(&Message::Open { since: self.cursor.since })?);
        }
        loop {
            let reply = self.cursor.read(engine).await?;
            let page: Page<'_> = part(&reply)?;
            let commits = commits(&page.changes).map_err(|_| misread())?;
            for commit in &commits {
                messages.push(json(&Message::Change(commit))?);
            }
            self.told = commits.last().map_or(self.told, |it| it.revision);
            self.cursor.since = page.next_since;
            self.has_more = page.has_more;
            if !self.has_more && self.cursor.since.saturating_sub(self.told) >= SPARED_MAX {
                self.told = self.cursor.since;
                messages.push(json(&Message::Moved { since: self.told })?);
            }
            if !self.has_more || !messages.is_empty() {
                return Ok(());
            }
        }
    }
}

impl Http {
    /// Takes up the socket again of which `kept` was [written down](Socket::kept).
    /// It takes its place among the live streams of its participant; nothing is
    /// asked of the session yet.
    ///
    /// # Errors
    ///
    /// What the client is told last, as an [`Ending`]: `UNAUTHENTICATED`, when its
    /// credential has expired; `RATE_LIMITED`, when others have taken its place;
    /// `INTERNAL`, when `kept` is not what was written down.
    pub fn resume(&self, kept: &str, now: Timestamp) -> Result<Box<Socket>, Failure> {
        let kept: Kept<'_> = serde_json::from_str(kept).map_err(|_| misread())?;
        let Kept { credential, session, keys, since, told, is_begun } = kept;
        let authorization = format!("Bearer {credential}");
        let caller = self.keys.identify(Some(&authorization), now)?;
        let caller = caller.caller(ScopeKind::Session, &session)?;
        let scope = scope(&session);
        let open = self.streams.open(&scope, &caller)?;
        let cursor = Cursor {
            keys: Arc::clone(&self.keys),
            authorization,
            caller,
            scope,
            filter: keys.map(Cow::into_owned),
            since,
        };
        let (has_more, close_code) = (true, None);
        Ok(Box::new(Socket { cursor, is_begun, told, has_more, close_code, _open: open }))
    }
}

impl Ending {
    /// Creates the end that `failure` makes.
    pub fn of(failure: &Failure) -> Self {
        let message = respond::joined(br#"{"event":"end"}"#.to_vec(), &failure.to_json());
        let is_ours = code::of(&failure.code).status.is_server_error();
        Self {
            message: String::from_utf8_lossy(&message).into_owned(),
            close_code: if is_ours { FAILED } else { REFUSED },
        }
    }
}

/// Returns whether a request of this method and with these headers asks for a WebSocket
/// (RFC 6455 §4.2.1). Whether the rest of its handshake is as it should be, the host
/// tells when it answers it.
pub(super) fn is_wanted(method: &Method, headers: &HeaderMap) -> bool {
    // Some hosts keep what is about the connection to themselves.
    let may_upgrade = !headers.contains_key(CONNECTION) || names(headers, &CONNECTION, "upgrade");
    *method == Method::GET && may_upgrade && names(headers, &UPGRADE, "websocket")
}

/// Returns whether `wanted` is in the list that the header `name` is.
fn names(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|it| it.to_str().ok());
    values.flat_map(|it| it.split(',')).any(|it| it.trim().eq_ignore_ascii_case(wanted))
}

fn json(message: &Message<'_>) -> Result<String, Failure> {
    serde_json::to_string(message).map_err(|_| misread())
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket")
            .field("scope", &self.cursor.scope)
            .field("since", &self.cursor.since)
            .finish_non_exhaustive()
    }
}
