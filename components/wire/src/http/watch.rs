//! A live stream of the changes of a session or project.
//!
//! A [`Watch`] holds no changes. Changes are read only when its writer asks for more because the
//! socket has room. A slow reader therefore takes no more memory than a fast one, and a reader that
//! reconnects continues where it stopped. `changes`, `mcp::listen` and `mcp::legacy` handle
//! requests for streams; an [`EventFormatter`] writes the text, and `cursor` reads.
//!
//! # Invariants
//!
//! - Every change that passes the filter is sent once and in order, whatever happens between two
//!   reads.
//! - Nothing is sent to an invalid credential: it is checked on each read, and before a heartbeat.

use std::{fmt, time::Duration};

use bytes::Bytes;
use serde::Deserialize;
use shared_context_codec::Failure;

use super::{
    call::{invalid_reply, parse_reply},
    changes::Page,
    cursor::Cursor,
    event::EventFormatter,
    streams::OpenStream,
};
use crate::{Engine, Woken};

/// Interval without an event after which a heartbeat is sent.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A live stream of the changes of one session or project, as `text/event-stream`.
///
/// A host writes each result of [`Watch::next`] to the client, and drops the watch when the client
/// has left.
pub struct Watch {
    /// Position of the next read.
    cursor: Cursor,
    formatter: Box<dyn EventFormatter>,
    /// Position of the bucket when it was last read; 0 if there are more changes already.
    seen: u64,
    /// Revision from which the reader would resume.
    resume_from: u64,
    /// Text that is sent next.
    ready: Option<String>,
    /// Time of the next heartbeat, by the engine's monotonic clock.
    heartbeat_at_micros: u64,
    is_over: bool,
    _open: OpenStream,
}

/// Details of an error: the current revision.
#[derive(Deserialize)]
struct TruncatedDetails {
    revision: u64,
}

impl Watch {
    /// Starts watching from `cursor`, and reads the changes that exist already.
    ///
    /// # Errors
    ///
    /// Errors of the session or project, such as for callers that may not watch it, or not from
    /// there.
    pub(crate) async fn open<E: Engine>(
        engine: &E,
        cursor: Cursor,
        formatter: Box<dyn EventFormatter>,
        open: OpenStream,
    ) -> Result<Self, Failure> {
        let mut watch = Self::new(cursor, formatter, open);
        let mut text = watch.formatter.opening(watch.cursor.since);
        watch.read(engine, &mut text).await?;
        watch.ready = Some(text);
        Ok(watch)
    }

    /// Creates a stream that only opens and closes, because there is nothing to watch.
    pub(crate) fn of_nothing(
        cursor: Cursor,
        formatter: Box<dyn EventFormatter>,
        open: OpenStream,
    ) -> Self {
        let mut watch = Self::new(cursor, formatter, open);
        let mut text = watch.formatter.opening(watch.cursor.since);
        text.push_str(&watch.formatter.closing(None));
        watch.ready = Some(text);
        watch.is_over = true;
        watch
    }

    fn new(cursor: Cursor, formatter: Box<dyn EventFormatter>, open: OpenStream) -> Self {
        let resume_from = cursor.since;
        Self {
            cursor,
            formatter,
            seen: 0,
            resume_from,
            ready: None,
            heartbeat_at_micros: 0,
            is_over: false,
            _open: open,
        }
    }

    /// Returns the next text to send: events, or a heartbeat. `None` at the end of the stream.
    ///
    /// The future may be dropped at any time; nothing is lost.
    pub async fn next<E: Engine>(&mut self, engine: &E) -> Option<Bytes> {
        if !self.is_current(engine) {
            return None;
        }
        if let Some(text) = self.ready.take() {
            return Some(self.emit(engine, text));
        }
        // A caller that asks for more has sent the previous text.
        self.formatter.delivered(self.cursor.since);
        if self.is_over {
            return None;
        }
        loop {
            let left = self.heartbeat_at_micros.saturating_sub(engine.monotonic_micros());
            let left = Duration::from_micros(left);
            let woken = engine.wait_for_change(&self.cursor.scope, self.seen, left).await;
            if !self.is_current(engine) {
                return None;
            }
            let mut text = String::new();
            let outcome = match woken {
                Woken::Changed => self.read(engine, &mut text).await,
                Woken::TimeUp => self.cursor.check(engine).await.map(|()| {
                    let resume_id = self.take_resume_id();
                    text = self.formatter.heartbeat(resume_id);
                }),
                // Earlier changes are still sent; a reader that is further behind reconnects for
                // the rest.
                Woken::Stopping => {
                    self.is_over = true;
                    let last = self.read(engine, &mut text).await;
                    let resume_id = self.take_resume_id();
                    last.map(|()| text.push_str(&self.formatter.closing(resume_id)))
                }
            };
            if let Err(failure) = outcome {
                self.is_over = true;
                return Some(self.formatter.end(&failure).into());
            }
            if !text.is_empty() {
                return Some(self.emit(engine, text));
            }
        }
    }

    /// Reads the next changes and appends them to `text`.
    async fn read<E: Engine>(&mut self, engine: &E, text: &mut String) -> Result<(), Failure> {
        let position = engine.position(&self.cursor.scope).await;
        let reply = match self.cursor.read(engine).await {
            Ok(reply) => reply,
            Err(failure) => {
                let Some(now) = truncated(&failure) else { return Err(failure) };
                if !self.formatter.truncated(text, now) {
                    return Err(failure);
                }
                (self.cursor.since, self.resume_from, self.seen) = (now, now, position);
                return Ok(());
            }
        };
        let page: Page<'_> = parse_reply(&reply)?;
        let resume_from = self.formatter.changes(text, &page.changes, page.next_since);
        self.resume_from = resume_from.map_err(|_| invalid_reply())?.unwrap_or(self.resume_from);
        self.cursor.since = page.next_since;
        self.seen = page.wait_position(position);
        Ok(())
    }

    /// Returns false, and ends the stream, if the reader has opened another one.
    fn is_current<E: Engine>(&mut self, engine: &E) -> bool {
        let is_current = self.formatter.is_current(engine.monotonic_micros());
        self.is_over |= !is_current;
        is_current
    }

    /// Returns the revision to resume from, if the reader does not have it yet.
    fn take_resume_id(&mut self) -> Option<u64> {
        let is_moved = self.cursor.since > self.resume_from;
        self.resume_from = self.cursor.since;
        is_moved.then_some(self.resume_from)
    }

    fn emit<E: Engine>(&mut self, engine: &E, text: String) -> Bytes {
        let heartbeat = u64::try_from(HEARTBEAT.as_micros()).unwrap_or(u64::MAX);
        self.heartbeat_at_micros = engine.monotonic_micros().saturating_add(heartbeat);
        text.into()
    }
}

/// Returns the current revision if `failure` reports that earlier changes are no longer stored.
fn truncated(failure: &Failure) -> Option<u64> {
    let details = failure.details.as_deref().filter(|_| failure.code == "CHANGES_TRUNCATED")?;
    serde_json::from_str(details).ok().map(|TruncatedDetails { revision }| revision)
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("scope", &self.cursor.scope)
            .field("since", &self.cursor.since)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        task::{Context, Poll, Waker},
    };

    use serde_json::value::RawValue;
    use shared_context_codec::{Caller, Effect, Reply};
    use shared_context_core::{ScopeKind, time::Timestamp};

    use super::*;
    use crate::{
        credential::Keys,
        http::{metrics::Metrics, streams::Streams},
    };

    const ADMIN_KEY: &str = "admin-key-admin-key-admin-key-admin";

    /// A host on which something changes, and the reader opens another stream, during the first
    /// wait.
    struct Host {
        has_left: Arc<AtomicBool>,
    }

    impl Engine for Host {
        async fn invoke(&self, _: &str, _: &Caller, _: &[u8]) -> Result<Reply, Failure> {
            assert!(!self.has_left.load(Ordering::SeqCst), "read for a reader that has left");
            let body = br#"{"changes":[],"next_since":1,"has_more":false,"revision":1}"#.to_vec();
            Ok(Reply { body, revision: 1, effect: Effect::Done, next_expiry_ms: None })
        }

        async fn ids(
            &self,
            _: ScopeKind,
            _: Option<&str>,
            _: usize,
        ) -> Result<Vec<String>, Failure> {
            Ok(Vec::new())
        }

        async fn position(&self, _: &str) -> u64 {
            1
        }

        async fn wait_for_change(&self, _: &str, _: u64, _: Duration) -> Woken {
            self.has_left.store(true, Ordering::SeqCst);
            Woken::Changed
        }

        fn now(&self) -> Timestamp {
            Timestamp(1_771_597_800_000)
        }

        fn monotonic_micros(&self) -> u64 {
            0
        }
    }

    /// Formatter that only writes the opening.
    struct Silent {
        has_left: Arc<AtomicBool>,
    }

    impl EventFormatter for Silent {
        fn opening(&mut self, _: u64) -> String {
            "opening".to_owned()
        }

        fn changes(
            &self,
            _: &mut String,
            _: &[&RawValue],
            _: u64,
        ) -> serde_json::Result<Option<u64>> {
            Ok(None)
        }

        fn truncated(&self, _: &mut String, _: u64) -> bool {
            false
        }

        fn heartbeat(&self, _: Option<u64>) -> String {
            "heartbeat".to_owned()
        }

        fn closing(&self, _: Option<u64>) -> String {
            "farewell".to_owned()
        }

        fn end(&self, _: &Failure) -> String {
            "end".to_owned()
        }

        fn is_current(&self, _: u64) -> bool {
            !self.has_left.load(Ordering::SeqCst)
        }
    }

    fn ready<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => unreachable!("nothing here waits"),
        }
    }

    #[test]
    fn a_replaced_stream_sends_nothing_more() {
        let has_left = Arc::new(AtomicBool::new(false));
        let host = Host { has_left: Arc::clone(&has_left) };
        let cursor = Cursor {
            keys: Arc::new(Keys::new(&[7; 32], ADMIN_KEY).unwrap()),
            authorization: format!("Bearer {ADMIN_KEY}"),
            caller: Caller::trusted("admin"),
            scope: "session/s".to_owned(),
            filter: None,
            except_own: false,
            since: 1,
        };
        let formatter = Box::new(Silent { has_left });
        let streams = Streams::new(Metrics::new().streams(), None);
        let open = streams.open("session/s", &cursor.caller).unwrap();
        let mut watch = ready(Watch::open(&host, cursor, formatter, open)).unwrap();
        assert_eq!(ready(watch.next(&host)).unwrap(), "opening");
        assert_eq!(ready(watch.next(&host)), None);
        assert_eq!(ready(watch.next(&host)), None);
    }
}
