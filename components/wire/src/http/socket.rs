//! A WebSocket that sends the changes of a session or project, for hosts that may forget everything
//! but a text about it between two events.
//!
//! A [`Socket`] holds no changes, and nothing waits for one. When something may have changed, the
//! host calls [`catch_up`](Socket::catch_up) and then saves the [position](Socket::kept), from
//! which [`Http::resume`] continues. Messages of the client are ignored. The host performs the
//! handshake (RFC 6455 §4.2) and the framing; `changes` handles the request for a socket, and
//! `cursor` reads.
//!
//! # Invariants
//!
//! - Every change that passes the filter is sent once and in order, regardless of when the position
//!   is saved: it covers only messages that were taken.
//! - Nothing is sent to an invalid credential: it is checked on each read.

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
    call::{invalid_reply, parse_reply},
    changes::Page,
    code,
    cursor::Cursor,
    event::{Commit, commits},
    respond,
    streams::OpenStream,
};
use crate::{Engine, credential::bearer};

/// Number of filtered-out revisions after which the client gets a later one to resume from. The
/// feed stores at least four times as many changes.
const SILENT_REVISIONS_MAX: u64 = 64;

/// Close codes: "policy violation" for an error of the client, "internal error" for a failure of
/// the server (RFC 6455 §7.4.1).
const POLICY_VIOLATION: u16 = 1008;
const INTERNAL_ERROR: u16 = 1011;

/// Live changes of one session or project, as messages of a WebSocket.
///
/// After the handshake the host sends the messages of [`Socket::catch_up`], and calls it again
/// whenever something in it may have changed. It drops the socket when it forgets it or
/// the client has left. While the socket exists, it counts as a live stream of its participant.
pub struct Socket {
    /// Position of the next read: everything before it was taken.
    cursor: Cursor,
    /// True once the client was sent its start.
    is_begun: bool,
    /// Revision from which the client would resume.
    resume_from: u64,
    has_more: bool,
    close_code: Option<u16>,
    _open: OpenStream,
}

/// Last message of a socket, and its close code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Message.
    pub message: String,
    /// Status code of the close frame (RFC 6455 §7.4).
    pub close_code: u16,
}

/// A message.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Message<'m> {
    /// First message: changes after this revision follow.
    Open { since: u64 },
    /// Changes of one commit.
    Change(&'m Commit<'m>),
    /// No matching changes up to this revision.
    Moved { since: u64 },
}

/// Saved state of a socket.
#[derive(Serialize, Deserialize)]
struct SavedSocket<'k> {
    #[serde(borrow)]
    credential: Cow<'k, str>,
    /// Bucket.
    #[serde(borrow)]
    scope: Cow<'k, str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    keys: Option<Cow<'k, str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    except_own: bool,
    since: u64,
    told: u64,
    is_begun: bool,
}

impl Socket {
    /// Starts watching from `cursor`.
    ///
    /// # Errors
    ///
    /// Errors of the session or project, such as for callers that may not watch it, or not from
    /// there.
    pub(super) async fn open<E: Engine>(
        engine: &E,
        cursor: Cursor,
        open: OpenStream,
    ) -> Result<Self, Failure> {
        // Existing changes are read again once they can be sent.
        cursor.read(engine).await?;
        let resume_from = cursor.since;
        Ok(Self {
            cursor,
            is_begun: false,
            resume_from,
            has_more: true,
            close_code: None,
            _open: open,
        })
    }

    /// Returns the messages to send now, each a JSON text; none if there is nothing new. If there
    /// are many changes it returns the first ones, and [`has_more`](Self::has_more) is true.
    ///
    /// The future may be dropped at any time; nothing is lost.
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

    /// Returns true if there are more changes already: the host then calls again.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// Returns the status code to close the socket with (RFC 6455 §7.4) after the last message;
    /// `None` while it continues.
    pub fn close_code(&self) -> Option<u16> {
        self.close_code
    }

    /// Returns the state to save while this socket is forgotten: a JSON text, from which
    /// [`Http::resume`] continues after the messages that were taken. It contains the credential:
    /// store it like a secret, and no longer than the socket. It has less than 5,000 bytes, and
    /// less than 1,200 for a credential of all keys.
    pub fn kept(&self) -> String {
        let Cursor { authorization, scope, filter, except_own, since, .. } = &self.cursor;
        let saved = SavedSocket {
            credential: bearer(authorization).unwrap_or_default().into(),
            scope: scope.into(),
            keys: filter.as_deref().map(Cow::from),
            except_own: *except_own,
            since: *since,
            told: self.resume_from,
            is_begun: self.is_begun,
        };
        // Texts and numbers always serialize.
        serde_json::to_string(&saved).unwrap_or_default()
    }

    /// Reads until there is a message, or nothing more to read.
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
            let page: Page<'_> = parse_reply(&reply)?;
            let commits = commits(&page.changes).map_err(|_| invalid_reply())?;
            for commit in &commits {
                messages.push(json(&Message::Change(commit))?);
            }
            self.resume_from = commits.last().map_or(self.resume_from, |it| it.revision);
            self.cursor.since = page.next_since;
            self.has_more = page.has_more;
            if !self.has_more
                && self.cursor.since.saturating_sub(self.resume_from) >= SILENT_REVISIONS_MAX
            {
                self.resume_from = self.cursor.since;
                messages.push(json(&Message::Moved { since: self.resume_from })?);
            }
            if !self.has_more || !messages.is_empty() {
                return Ok(());
            }
        }
    }
}

impl Http {
    /// Restores a socket from its [saved state](Socket::kept). It counts again as a live stream of
    /// its participant; the session or project is not asked yet.
    ///
    /// # Errors
    ///
    /// The client's last message, as an [`Ending`]: `UNAUTHENTICATED` if its credential has
    /// expired; `RATE_LIMITED` if others have taken its slot; `INTERNAL` if `kept` is not a saved
    /// state.
    pub fn resume(&self, kept: &str, now: Timestamp) -> Result<Box<Socket>, Failure> {
        let saved: SavedSocket<'_> = serde_json::from_str(kept).map_err(|_| invalid_reply())?;
        let SavedSocket { credential, scope, keys, except_own, since, is_begun, .. } = saved;
        let resume_from = saved.told;
        let authorization = format!("Bearer {credential}");
        let (kind, id) = ScopeKind::split(&scope).ok_or_else(invalid_reply)?;
        let caller = self.keys.identify(Some(&authorization), now)?.caller(kind, id)?;
        let scope = scope.clone().into_owned();
        let open = self.streams.open(&scope, &caller)?;
        let cursor = Cursor {
            keys: Arc::clone(&self.keys),
            authorization,
            caller,
            scope,
            filter: keys.map(Cow::into_owned),
            except_own,
            since,
        };
        let (has_more, close_code) = (true, None);
        Ok(Box::new(Socket { cursor, is_begun, resume_from, has_more, close_code, _open: open }))
    }
}

impl Ending {
    /// Builds the ending for `failure`.
    pub fn of(failure: &Failure) -> Self {
        let message = respond::merge_objects(br#"{"event":"end"}"#.to_vec(), &failure.to_json());
        let is_ours = code::of(&failure.code).status.is_server_error();
        Self {
            message: String::from_utf8_lossy(&message).into_owned(),
            close_code: if is_ours { INTERNAL_ERROR } else { POLICY_VIOLATION },
        }
    }
}

/// Returns true if the method and headers request a WebSocket (RFC 6455 §4.2.1). The host checks
/// the rest of the handshake.
pub(super) fn is_upgrade(method: &Method, headers: &HeaderMap) -> bool {
    // Some hosts do not pass on headers of the connection.
    let may_upgrade = !headers.contains_key(CONNECTION) || names(headers, &CONNECTION, "upgrade");
    *method == Method::GET && may_upgrade && names(headers, &UPGRADE, "websocket")
}

/// Returns true if the list in the header `name` contains `wanted`.
fn names(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|it| it.to_str().ok());
    values.flat_map(|it| it.split(',')).any(|it| it.trim().eq_ignore_ascii_case(wanted))
}

fn json(message: &Message<'_>) -> Result<String, Failure> {
    serde_json::to_string(message).map_err(|_| invalid_reply())
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket")
            .field("scope", &self.cursor.scope)
            .field("since", &self.cursor.since)
            .finish_non_exhaustive()
    }
}
