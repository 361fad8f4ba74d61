//! Interface that a host implements for the wire: the rules, the list of sessions, the time, and
//! change notifications.
//!
//! A host implements [`Engine`] by calling the component or by linking the codec and the core.

use std::{future::Future, time::Duration};

use shared_context_codec::{Caller, Failure, Reply};
use shared_context_core::{ScopeKind, time::Timestamp};

/// Rules, storage and clocks of a host.
///
/// The futures need not be [`Send`]. If an engine's futures are, then so is the future of
/// [`Http::handle`](crate::http::Http::handle).
pub trait Engine {
    /// Performs one request of the JSON tool on `scope` (`session/{id}` or `project/{id}`, not yet
    /// validated) for `caller`. When the reply reports a change, the change is durable.
    ///
    /// # Errors
    ///
    /// Errors of the JSON tool; `STORAGE_UNAVAILABLE` or `INTERNAL` if the host itself failed.
    fn invoke(
        &self,
        scope: &str,
        caller: &Caller,
        request: &[u8],
    ) -> impl Future<Output = Result<Reply, Failure>>;

    /// Returns the ids of at most `limit` existing sessions or projects after `after`, in bytewise
    /// order.
    ///
    /// # Errors
    ///
    /// `STORAGE_UNAVAILABLE`.
    fn ids(
        &self,
        kind: ScopeKind,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<String>, Failure>>;

    /// Returns the position of the bucket `scope`: its revision, which each change raises. The
    /// session's own revision may be higher if it was imported.
    fn position(&self, scope: &str) -> impl Future<Output = u64>;

    /// Waits until the bucket `scope` is past `seen`, or for `at_most`. `seen` is a
    /// [`position`](Engine::position) taken before the bucket was read. The wait ends at once if
    /// the bucket is already past it, so no change between reading and waiting is missed. Waiting
    /// blocks neither a thread nor an instance. Dropping the future ends the wait.
    fn wait_for_change(
        &self,
        scope: &str,
        seen: u64,
        at_most: Duration,
    ) -> impl Future<Output = Woken>;

    /// Returns the reason if the host knows that the storage is unreliable. The text is public: it
    /// contains no path and no stored data.
    fn failure(&self) -> Option<&'static str> {
        None
    }

    /// Returns the counts of requests that read entries. `None` if the host keeps no replies.
    fn entry_reads(&self) -> Option<EntryReads> {
        None
    }

    /// Returns the current time, for issuing and expiring credentials.
    fn now(&self) -> Timestamp;

    /// Returns microseconds since some fixed instant, by a monotonic clock. It measures durations
    /// and rates of requests; a step of this clock would block callers, or let them pass.
    fn monotonic_micros(&self) -> u64;
}

/// Counts of requests that read entries, since the host started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntryReads {
    /// All of them.
    pub all: u64,
    /// Those that were answered by a reply that was kept.
    pub kept: u64,
}

/// Reason why a wait for a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// There may be a change: read.
    Changed,
    /// The timeout elapsed.
    TimeUp,
    /// The host is stopping, or needs the slot of the waiting request: reply with what there is,
    /// and stop waiting. Takes precedence over the others.
    Stopping,
}
