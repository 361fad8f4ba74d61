//! Handshakes of clients of older versions: the negotiated version and the client's subscriptions.
//!
//! No content of a session depends on them. A client whose handshake was dropped is notified and
//! sends a new one (2025-11-25, Transports, Session Management). [`legacy`](super::legacy) handles
//! the requests of these clients.
//!
//! # Invariants
//!
//! - Only the caller that created a handshake can use it; its id is invalid for all others.
//! - Neither one participant nor one session can fill the table: it holds [`OWN_MAX`] handshakes of
//!   a caller, [`SESSION_MAX`] of a session, and [`ALL_MAX`] in total. At a limit, the handshake
//!   under it that was unused for the longest time is dropped.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rmcp::model::ProtocolVersion;

use super::{
    log::Level,
    update::{AddOutcome, Resource, Subscriptions},
};
use crate::credential::{Identity, Keys};

/// Most handshakes of one caller.
const OWN_MAX: usize = 64;
/// Most handshakes of all participants of one session.
const SESSION_MAX: usize = 512;
/// Most handshakes in total: some 10 MB with few subscriptions.
const ALL_MAX: usize = 8_192;

/// Handshakes of one server.
pub(crate) struct Handshakes {
    table: Mutex<Table>,
    /// Differs after each start, so that an id is never issued twice.
    hasher: RandomState,
}

#[derive(Default)]
struct Table {
    /// By hash of the caller. Callers whose hashes collide share a limit, which is harmless.
    by_caller: BTreeMap<u64, Vec<Arc<Handshake>>>,
    count: usize,
    /// Number of handshakes ever created.
    begun: u64,
}

/// A handshake.
pub(crate) struct Handshake {
    id: String,
    owner: Identity,
    version: ProtocolVersion,
    /// Time of its last use, by the engine's monotonic clock.
    used_micros: AtomicU64,
    state: Mutex<State>,
}

struct State {
    subscriptions: Subscriptions,
    /// Lowest severity of log messages to send; `None` sends none.
    level: Option<Level>,
    /// Revision up to which notifications were sent; `None` before the first subscription.
    sent: Option<u64>,
    /// Number of its current stream; `None` when the handshake has ended.
    stream: Option<u64>,
}

impl Handshakes {
    pub(crate) fn new() -> Self {
        Self { table: Mutex::default(), hasher: RandomState::new() }
    }

    /// Creates a handshake of `identity`, and returns its id, which cannot be guessed.
    pub(crate) fn begin(
        &self,
        keys: &Keys,
        identity: &Identity,
        version: ProtocolVersion,
        now_micros: u64,
    ) -> String {
        let caller = self.caller(identity);
        let mut table = self.table();
        table.begun = table.begun.saturating_add(1);
        let parts = [table.begun, now_micros, caller];
        let id = keys.sign("mcp handshake", &parts.map(u64::to_be_bytes).concat());
        let is_neighbour = |it: &Handshake| it.owner.scope() == identity.scope();
        if table.by_caller.get(&caller).is_some_and(|own| own.len() >= OWN_MAX) {
            table.evict_oldest(|of, _| of == caller);
        } else if table.count_if(is_neighbour) >= SESSION_MAX {
            table.evict_oldest(|_, it| is_neighbour(it));
        } else if table.count >= ALL_MAX {
            table.evict_oldest(|_, _| true);
        }
        table.count = table.count.saturating_add(1);
        table.by_caller.entry(caller).or_default().push(Arc::new(Handshake {
            id: id.clone(),
            owner: identity.clone(),
            version,
            used_micros: AtomicU64::new(now_micros),
            // These clients cannot choose whether to be notified of the list.
            state: Mutex::new(State {
                subscriptions: Subscriptions::list(),
                level: None,
                sent: None,
                stream: Some(0),
            }),
        }));
        id
    }

    /// Returns the handshake `id` if `identity` created it, and marks it as used.
    pub(crate) fn find(
        &self,
        id: &str,
        identity: &Identity,
        now_micros: u64,
    ) -> Option<Arc<Handshake>> {
        let table = self.table();
        let own = table.by_caller.get(&self.caller(identity))?;
        let found = own.iter().find(|it| it.id == id && it.owner == *identity)?;
        found.used_micros.fetch_max(now_micros, Ordering::Relaxed);
        Some(Arc::clone(found))
    }

    /// Drops the handshake `id` of `identity`. Returns false if it does not exist.
    pub(crate) fn end(&self, id: &str, identity: &Identity) -> bool {
        self.table().remove(self.caller(identity), |it| it.id == id && it.owner == *identity)
    }

    fn caller(&self, identity: &Identity) -> u64 {
        match identity {
            Identity::Admin => self.hasher.hash_one(()),
            Identity::Participant(grant) => {
                let session = &grant.credential;
                let session = (&grant.scope, session.incarnation, session.epoch);
                self.hasher.hash_one((session, &grant.participant, &grant.keys))
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn count_if(&self, is_counted: impl Fn(&Handshake) -> bool) -> usize {
        self.by_caller.values().flatten().filter(|it| is_counted(it)).count()
    }

    /// Drops the handshake that was unused for the longest time, among those that `may_go` selects.
    fn evict_oldest(&mut self, may_go: impl Fn(u64, &Handshake) -> bool) {
        let each = self.by_caller.iter();
        let each = each.flat_map(|(caller, own)| own.iter().map(move |it| (*caller, it)));
        // On a tie, the caller's older handshake is dropped.
        let oldest = each
            .filter(|(caller, it)| may_go(*caller, it))
            .min_by_key(|(_, it)| it.used_micros.load(Ordering::Relaxed));
        let Some((caller, oldest)) = oldest.map(|(caller, it)| (caller, Arc::clone(it))) else {
            return;
        };
        self.remove(caller, |it| Arc::ptr_eq(it, &oldest));
    }

    /// Drops the handshake of `caller` that `matches` selects. Returns false if none matches.
    fn remove(&mut self, caller: u64, matches: impl Fn(&Arc<Handshake>) -> bool) -> bool {
        let Some(own) = self.by_caller.get_mut(&caller) else { return false };
        let Some(at) = own.iter().position(matches) else { return false };
        own.remove(at).state().stream = None;
        if own.is_empty() {
            self.by_caller.remove(&caller);
        }
        self.count = self.count.saturating_sub(1);
        true
    }
}

impl Handshake {
    /// Returns the negotiated version.
    pub(crate) fn version(&self) -> &ProtocolVersion {
        &self.version
    }

    /// Subscribes to `resource` under the name `uri`, starting at the revision `now` if it is the
    /// first subscription.
    pub(super) fn subscribe(&self, resource: Resource, uri: &str, now: u64) -> AddOutcome {
        let mut state = self.state();
        state.sent.get_or_insert(now);
        state.subscriptions.add(resource, uri)
    }

    /// Requests log messages of `level` and above, starting at the revision `now` if there is no
    /// subscription yet.
    pub(super) fn set_level(&self, level: Level, now: u64) {
        let mut state = self.state();
        state.sent.get_or_insert(now);
        state.level = Some(level);
    }

    /// Returns the lowest severity of log messages to send.
    pub(super) fn level(&self) -> Option<Level> {
        self.state().level
    }

    /// Cancels the subscription to `resource` under the name `uri`.
    pub(super) fn unsubscribe(&self, resource: &Resource, uri: &str) {
        self.state().subscriptions.remove(resource, uri);
    }

    /// Begins a stream that replaces the previous one. Returns its number, and the revision up to
    /// which the client was notified.
    pub(super) fn begin_stream(&self) -> (u64, Option<u64>) {
        let mut state = self.state();
        let number = state.stream.map(|it| it.saturating_add(1));
        state.stream = number;
        // An ended handshake has no stream with the number 0.
        (number.unwrap_or_default(), state.sent)
    }

    /// Returns true if the stream `number` is the current one, and marks the handshake as used.
    pub(super) fn is_current_stream(&self, number: u64, now_micros: u64) -> bool {
        let is_current = self.state().stream == Some(number);
        if is_current {
            self.used_micros.fetch_max(now_micros, Ordering::Relaxed);
        }
        is_current
    }

    /// Records that the stream `number` sent all notifications up to the revision `since`.
    pub(super) fn record_sent(&self, number: u64, since: u64) {
        let mut state = self.state();
        if state.stream == Some(number) {
            state.sent = Some(since);
        }
    }

    /// Passes the client's subscriptions to `look`.
    pub(super) fn subscriptions<T>(&self, look: impl FnOnce(&Subscriptions) -> T) -> T {
        look(&self.state().subscriptions)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Handshakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshakes").field("count", &self.table().count).finish_non_exhaustive()
    }
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshake").field("version", &self.version).finish_non_exhaustive()
    }
}
