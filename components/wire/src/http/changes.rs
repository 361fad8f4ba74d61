//! What changed in a session: asked for, waited for, or told live, on a stream or
//! over a socket.
//!
//! Not here: which changes a caller may see and how long they are kept, which
//! the session decides; the stream itself (`watch`), nor the socket (`socket`).

use std::{sync::Arc, time::Duration};

use http::{
    HeaderName, HeaderValue, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use shared_context_codec::{Failure, Reply};

use super::{
    Body,
    call::{Call, part},
    cursor::Cursor,
    event::Feed,
    media,
    precondition::single,
    respond,
    shares::Share,
    socket::Socket,
    streams::Streams,
    tool::ToolRequest,
    watch::Watch,
    whole,
};
use crate::{Engine, Woken};

/// The longest time a caller may have the answer wait for a change, in seconds.
pub(crate) const WAIT_SECONDS_MAX: u64 = 60;

pub(super) static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Keeps proxies from collecting events before they pass them on.
static X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What is read of the tool's answer.
#[derive(Deserialize)]
pub(super) struct Page<'b> {
    #[serde(borrow)]
    pub(super) changes: Vec<&'b RawValue>,
    pub(super) next_since: u64,
    pub(super) has_more: bool,
}

impl Page<'_> {
    /// Returns the position after which there may be more to read, `position` being from
    /// before this page was read: none at all when there is more already.
    pub(super) fn seen(&self, position: u64) -> u64 {
        if self.has_more { 0 } else { position }
    }
}

/// `GET …/changes`: a socket for who asks for one where there are any, a stream for
/// who accepts events, else a page of changes.
pub(super) async fn read<E: Engine>(
    call: &Call<'_, E>,
    streams: &Streams,
    under_way: Option<Share>,
) -> Result<Response<Body>, Failure> {
    if call.wants_socket {
        let cursor = cursor(call, "do not ask for a WebSocket: it").await?;
        let open = streams.open(&cursor.scope, &call.caller)?;
        let socket = Socket::open(call.engine, cursor, open).await?;
        return Ok(upgraded(Box::new(socket)));
    }
    if media::wants_events(call.headers) {
        let cursor = cursor(call, "do not accept text/event-stream: a stream").await?;
        let open = streams.open(&cursor.scope, &call.caller)?;
        let watch = Watch::open(call.engine, cursor, Box::new(Feed), open).await?;
        return Ok(live(Box::new(watch)));
    }
    Ok(whole(respond::json(StatusCode::OK, page(call, streams, under_way).await?.body)))
}

/// Returns a page of changes; with `wait`, the first that is not empty. While it waits it is a
/// stream like others, and not `under_way`.
async fn page<E: Engine>(
    call: &Call<'_, E>,
    streams: &Streams,
    mut under_way: Option<Share>,
) -> Result<Reply, Failure> {
    let wait = call.query.number("wait")?.unwrap_or_default();
    if wait > WAIT_SECONDS_MAX {
        return Err(malformed(format!(
            "wait must be from 0 to {WAIT_SECONDS_MAX} seconds; ask again when the time is up"
        )));
    }
    let until = call.engine.monotonic_micros().saturating_add(wait.saturating_mul(1_000_000));
    let mut since = call.query.number("since")?;
    let limit = call.query.number("limit")?;
    let scope = call.scope.clone();
    let mut open = None;
    loop {
        let position = call.engine.position(&scope).await;
        let request = ToolRequest::new("changes")
            .with("since", since)
            .with("limit", limit)
            .with("keys", call.query.text("keys"));
        let reply = call.invoke(request).await?;
        let page: Page<'_> = part(&reply)?;
        let left = until.saturating_sub(call.engine.monotonic_micros());
        if left == 0 || !page.changes.is_empty() {
            return Ok(reply);
        }
        let left = Duration::from_micros(left);
        under_way.take();
        if open.is_none() {
            open = Some(streams.open(&scope, &call.caller)?);
        }
        match call.engine.wait_for_change(&scope, page.seen(position), left).await {
            Woken::Changed => since = Some(page.next_since),
            Woken::TimeUp | Woken::Stopping => return Ok(reply),
        }
    }
}

/// Returns where a reader begins that is told live: where it left off, or else now. What
/// is not for it is for those who `others`.
async fn cursor<E: Engine>(call: &Call<'_, E>, others: &str) -> Result<Cursor, Failure> {
    for unfit in ["limit", "wait"] {
        if call.query.text(unfit).is_some() {
            return Err(malformed(format!(
                "query parameter {unfit} is for those who {others} tells every change as it comes"
            )));
        }
    }
    let since = match single(call.headers, &LAST_EVENT_ID)? {
        Some(id) => Some(revision(id)?),
        None => call.query.number("since")?,
    };
    let since = if let Some(since) = since {
        since
    } else {
        call.invoke(ToolRequest::new("show_session")).await?.revision
    };
    Ok(Cursor {
        keys: Arc::clone(call.keys),
        authorization: single(call.headers, &AUTHORIZATION)?.unwrap_or_default().to_owned(),
        caller: call.caller.clone(),
        scope: call.scope.clone(),
        filter: call.query.text("keys").map(str::to_owned),
        since,
    })
}

/// Returns the response that is the stream `watch`.
pub(super) fn live(watch: Box<Watch>) -> Response<Body> {
    let mut response = Response::new(Body::Live(watch));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media::EVENTS));
    headers.insert(X_ACCEL_BUFFERING.clone(), HeaderValue::from_static("no"));
    response
}

/// Returns the response that turns the connection into `socket`.
fn upgraded(socket: Box<Socket>) -> Response<Body> {
    let mut response = Response::new(Body::Socket(socket));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response
}

/// Returns the revision that an event's id is.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn revision(id: &str) -> Result<u64, Failure> {
    let is_digits = !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
    id.parse().ok().filter(|_| is_digits).ok_or_else(|| {
        malformed(
            "the header Last-Event-ID is no revision: send the id of the last event as it came, \
             or none to be told what comes from now on",
        )
    })
}

fn malformed(message: impl Into<String>) -> Failure {
    Failure::new("MALFORMED_REQUEST", message)
}
