//! What the wire needs from a host: the rules, the list of sessions, the time,
//! and word of changes.
//!
//! A host implements [`Engine`] by calling the component, or by linking the
//! codec and the core. Nothing here says how.

use std::{future::Future, time::Duration};

use shared_context_codec::{Caller, Failure, Reply};
use shared_context_core::{ScopeKind, time::Timestamp};

/// The rules and the clocks, as a host gives them.
///
/// The futures are not required to be [`Send`]; where an engine's are, the
/// future of [`Http::handle`](crate::http::Http::handle) is too.
pub trait Engine {
    /// Performs one request of the JSON tool on `scope` (`session/{id}` or
    /// `project/{id}`, not yet checked) for `caller`. When the reply tells of a change, the change is
    /// durable.
    ///
    /// # Errors
    ///
    /// What the JSON tool answers; `STORAGE_UNAVAILABLE` or `INTERNAL` when the
    /// host itself failed.
    fn invoke(
        &self,
        scope: &str,
        caller: &Caller,
        request: &[u8],
    ) -> impl Future<Output = Result<Reply, Failure>>;

    /// Returns the ids of the sessions or projects that exist, those after `after`, in
    /// bytewise order, at most `limit`.
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

    /// Returns how far the bucket `scope` has come: its revision, which each change raises.
    /// That of the session may be ahead of it, since it was imported.
    fn position(&self, scope: &str) -> impl Future<Output = u64>;

    /// Waits for a change: until the bucket `scope` is further than `seen`, a
    /// [`position`](Engine::position) taken before it was read, or for `at_most`.
    /// It ends at once when the bucket is already, so that a change between reading
    /// and waiting is not missed; meanwhile neither a thread nor an instance waits.
    /// Dropping the future ends the wait.
    fn wait_for_change(
        &self,
        scope: &str,
        seen: u64,
        at_most: Duration,
    ) -> impl Future<Output = Woken>;

    /// Returns why the storage cannot be relied on, where the host knows that it cannot.
    /// Anyone may read it: it names no path and nothing that is stored.
    fn failure(&self) -> Option<&'static str> {
        None
    }

    /// Now, as credentials are issued and expire.
    fn now(&self) -> Timestamp;

    /// Microseconds since some fixed instant, by a clock that is never set: it
    /// measures how long requests took and how fast they come. A step of this
    /// clock would block callers, or let them pass.
    fn monotonic_micros(&self) -> u64;
}

/// Why a wait for a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// There may be something new: read.
    Changed,
    /// The time is up.
    TimeUp,
    /// The host is stopping, or needs the place of who waits: answer what there is, wait
    /// no more. Said in preference to the others.
    Stopping,
}
