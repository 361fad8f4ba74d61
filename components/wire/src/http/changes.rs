//! Changes of a session or project: read, waited for, or streamed live as events or over a
//! WebSocket.
//!
//! The session or project decides which changes a caller may see and how long they are stored.
//! Streams are in `watch`, sockets in `socket`.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{
    HeaderName, HeaderValue, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use shared_context_codec::{Caller, Failure, Reply};

use super::{
    Body,
    call::{Call, parse_reply},
    cursor::{self, Cursor},
    event::FeedFormatter,
    media,
    permits::Permit,
    precondition::single,
    respond,
    socket::Socket,
    streams::Streams,
    tool::ToolRequest,
    watch::Watch,
    whole,
};
use crate::{Engine, Woken};

/// Longest time that a response may wait for a change, in seconds.
pub(crate) const WAIT_SECONDS_MAX: u64 = 60;

pub(super) static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Stops proxies from buffering events.
static X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Members of the tool's reply that are used here.
#[derive(Deserialize)]
pub(crate) struct Page<'b> {
    #[serde(borrow)]
    pub(crate) changes: Vec<&'b RawValue>,
    pub(super) next_since: u64,
    pub(super) has_more: bool,
}

impl Page<'_> {
    /// Returns the position to wait for, `position` being from before this page was read: 0 if
    /// there are more changes already.
    pub(super) fn wait_position(&self, position: u64) -> u64 {
        if self.has_more { 0 } else { position }
    }
}

/// `GET …/changes`: a WebSocket for clients that request one where the host supports them, a stream
/// for clients that accept events, otherwise a page of changes.
pub(super) async fn read<E: Engine>(
    call: &Call<'_, E>,
    streams: &Streams,
    in_flight: Option<Permit>,
) -> Result<Response<Body>, Failure> {
    if call.wants_socket {
        let cursor = start(call, "do not ask for a WebSocket: it").await?;
        let open = streams.open(&cursor.scope, &call.caller)?;
        let socket = Socket::open(call.engine, cursor, open).await?;
        return Ok(upgrade_response(Box::new(socket)));
    }
    if media::wants_events(call.headers) {
        let cursor = start(call, "do not accept text/event-stream: a stream").await?;
        let open = streams.open(&cursor.scope, &call.caller)?;
        let watch = Watch::open(call.engine, cursor, Box::new(FeedFormatter), open).await?;
        return Ok(stream_response(Box::new(watch)));
    }
    Ok(whole(respond::json(StatusCode::OK, page(call, streams, in_flight).await?.body)))
}

/// Returns a page of changes; with `wait`, the first that is not empty.
async fn page<E: Engine>(
    call: &Call<'_, E>,
    streams: &Streams,
    in_flight: Option<Permit>,
) -> Result<Reply, Failure> {
    let seconds = call.query.number("wait")?.unwrap_or_default();
    if seconds > WAIT_SECONDS_MAX {
        return Err(malformed(format!(
            "wait must be from 0 to {WAIT_SECONDS_MAX} seconds; ask again when the time is up"
        )));
    }
    let limit = call.query.number("limit")?;
    let except_own = call.query.flag("except_own")?;
    let action = cursor::actions(cursor::kind(&call.scope)).changes;
    let request = |since: Option<u64>| {
        let request = ToolRequest::new(action).with("since", since).with("limit", limit);
        request.with("keys", call.query.text("keys")).with("except_own", except_own)
    };
    let in_flight = Mutex::new(in_flight);
    let (engine, scope, caller) = (call.engine, call.scope.as_str(), &call.caller);
    let wait = Wait { engine, streams, scope, caller, in_flight: &in_flight, seconds };
    let since = call.query.number("since")?;
    let page = wait.for_page(since, request, |page| !page.changes.is_empty()).await?;
    if seconds > 0 {
        // A project does not know what happened to the credential meanwhile.
        reader(call, 0)?.check(engine).await?;
    }
    Ok(page)
}

/// A request that waits for changes. While it waits it counts as a stream, and no longer as a
/// request in flight.
pub(crate) struct Wait<'r, E> {
    pub(crate) engine: &'r E,
    pub(crate) streams: &'r Streams,
    /// Bucket.
    pub(crate) scope: &'r str,
    pub(crate) caller: &'r Caller,
    /// Permit to give back when the wait begins.
    pub(crate) in_flight: &'r Mutex<Option<Permit>>,
    /// Longest wait.
    pub(crate) seconds: u64,
}

impl<E: Engine> Wait<'_, E> {
    /// Reads pages of changes with `request`, which begins after the given revision, until one is
    /// as `is_wanted` or the time is up. Returns the last page.
    pub(crate) async fn for_page(
        &self,
        mut since: Option<u64>,
        request: impl Fn(Option<u64>) -> ToolRequest,
        is_wanted: impl Fn(&Page<'_>) -> bool,
    ) -> Result<Reply, Failure> {
        let (engine, scope) = (self.engine, self.scope);
        let wait_micros = self.seconds.saturating_mul(1_000_000);
        let until = engine.monotonic_micros().saturating_add(wait_micros);
        let mut open = None;
        loop {
            let position = engine.position(scope).await;
            let reply = engine.invoke(scope, self.caller, &request(since).into_bytes()).await?;
            let page: Page<'_> = parse_reply(&reply)?;
            let left = until.saturating_sub(engine.monotonic_micros());
            if left == 0 || is_wanted(&page) {
                return Ok(reply);
            }
            let left = Duration::from_micros(left);
            self.in_flight.lock().unwrap_or_else(PoisonError::into_inner).take();
            if open.is_none() {
                open = Some(self.streams.open(scope, self.caller)?);
            }
            match engine.wait_for_change(scope, page.wait_position(position), left).await {
                Woken::Changed => since = Some(page.next_since),
                Woken::TimeUp | Woken::Stopping => return Ok(reply),
            }
        }
    }
}

/// Returns the start of a live reader: the position where it stopped, or now. `others` names the
/// requests that the rejected parameters are for.
async fn start<E: Engine>(call: &Call<'_, E>, others: &str) -> Result<Cursor, Failure> {
    for unfit in ["limit", "wait"] {
        if call.query.text(unfit).is_some() {
            return Err(malformed(format!(
                "query parameter {unfit} is for requests that {others} sends every change as it comes"
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
        let show = cursor::actions(cursor::kind(&call.scope)).show;
        call.invoke(ToolRequest::new(show)).await?.revision
    };
    reader(call, since)
}

/// Returns a reader of the caller that continues after the revision `since`.
fn reader<E: Engine>(call: &Call<'_, E>, since: u64) -> Result<Cursor, Failure> {
    Ok(Cursor {
        keys: Arc::clone(call.keys),
        authorization: single(call.headers, &AUTHORIZATION)?.unwrap_or_default().to_owned(),
        caller: call.caller.clone(),
        scope: call.scope.clone(),
        filter: call.query.text("keys").map(str::to_owned),
        except_own: call.query.flag("except_own")?.unwrap_or_default(),
        since,
    })
}

/// Returns the response with the stream `watch`.
pub(super) fn stream_response(watch: Box<Watch>) -> Response<Body> {
    let mut response = Response::new(Body::Live(watch));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media::EVENTS));
    headers.insert(X_ACCEL_BUFFERING.clone(), HeaderValue::from_static("no"));
    response
}

/// Returns the response that upgrades the connection to `socket`.
fn upgrade_response(socket: Box<Socket>) -> Response<Body> {
    let mut response = Response::new(Body::Socket(socket));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response
}

/// Parses an event's id as a revision.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn revision(id: &str) -> Result<u64, Failure> {
    let is_digits = !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
    id.parse().ok().filter(|_| is_digits).ok_or_else(|| {
        malformed(
            "the header Last-Event-ID is no revision: send the id of the last event as it came, \
             or none to get what comes from now on",
        )
    })
}

fn malformed(message: impl Into<String>) -> Failure {
    Failure::new("MALFORMED_REQUEST", message)
}
