//! What is remembered of the clients of an older protocol: that they said
//! `initialize`, and what they want to hear of.
//!
//! Nothing that a session holds depends on it. A client whose handshake is
//! forgotten is told so, and begins with a new one (2025-11-25, Transports,
//! Session Management). Not here: what a client asks for ([`legacy`](super::legacy)).
//!
//! # Invariants
//!
//! - A handshake is known only to who made it: to all others its id is none.
//! - Neither one participant nor one session can fill the table: [`OWN_MAX`] handshakes
//!   of a caller are remembered, [`SESSION_MAX`] of a session, and [`ALL_MAX`] of all.
//!   Where there is one too many, the one of those that was unused longest goes.

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
    update::{Added, Resource, Wanted},
};
use crate::credential::{Identity, Keys};

/// The most handshakes of one caller.
const OWN_MAX: usize = 64;
/// The most handshakes of the participants of one session.
const SESSION_MAX: usize = 512;
/// The most handshakes in all: some 10 MB, when nobody subscribes to much.
const ALL_MAX: usize = 8_192;

/// The handshakes of one server.
pub(crate) struct Handshakes {
    table: Mutex<Table>,
    /// Other at each start, so that an id is never given twice.
    hasher: RandomState,
}

#[derive(Default)]
struct Table {
    /// Keyed by a hash of the caller. Two callers with one hash would share what
    /// is remembered of one, which does no harm.
    by_caller: BTreeMap<u64, Vec<Arc<Legacy>>>,
    count: usize,
    /// How many there ever were.
    begun: u64,
}

/// One handshake.
pub(crate) struct Legacy {
    id: String,
    owner: Identity,
    version: ProtocolVersion,
    /// When it was last used, by the engine's monotonic clock.
    used_micros: AtomicU64,
    state: Mutex<State>,
}

struct State {
    wanted: Wanted,
    /// How grave what it wants to read in the log is at least; none: nothing.
    level: Option<Level>,
    /// The revision up to which the client was told what it wanted to hear; none
    /// before it wanted anything.
    told: Option<u64>,
    /// Which of its streams is told, by number; none when the handshake ended.
    stream: Option<u64>,
}

impl Handshakes {
    pub(crate) fn new() -> Self {
        Self { table: Mutex::default(), hasher: RandomState::new() }
    }

    /// Remembers a handshake of `identity`, and gives it an id that nobody can
    /// guess.
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
        let is_neighbour = |it: &Legacy| it.owner.scope() == identity.scope();
        if table.by_caller.get(&caller).is_some_and(|own| own.len() >= OWN_MAX) {
            table.forget_one(|of, _| of == caller);
        } else if table.count_if(is_neighbour) >= SESSION_MAX {
            table.forget_one(|_, it| is_neighbour(it));
        } else if table.count >= ALL_MAX {
            table.forget_one(|_, _| true);
        }
        table.count = table.count.saturating_add(1);
        table.by_caller.entry(caller).or_default().push(Arc::new(Legacy {
            id: id.clone(),
            owner: identity.clone(),
            version,
            used_micros: AtomicU64::new(now_micros),
            // Nobody asks these clients whether they want to hear of the list.
            state: Mutex::new(State {
                wanted: Wanted::list(),
                level: None,
                told: None,
                stream: Some(0),
            }),
        }));
        id
    }

    /// Returns the handshake `id`, when `identity` made it. From now on it counts as used.
    pub(crate) fn find(
        &self,
        id: &str,
        identity: &Identity,
        now_micros: u64,
    ) -> Option<Arc<Legacy>> {
        let table = self.table();
        let own = table.by_caller.get(&self.caller(identity))?;
        let found = own.iter().find(|it| it.id == id && it.owner == *identity)?;
        found.used_micros.fetch_max(now_micros, Ordering::Relaxed);
        Some(Arc::clone(found))
    }

    /// Forgets the handshake `id` of `identity`. `false`: there is none.
    pub(crate) fn end(&self, id: &str, identity: &Identity) -> bool {
        self.table().forget(self.caller(identity), |it| it.id == id && it.owner == *identity)
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
    fn count_if(&self, is_counted: impl Fn(&Legacy) -> bool) -> usize {
        self.by_caller.values().flatten().filter(|it| is_counted(it)).count()
    }

    /// Forgets the handshake that was unused longest, of those that `may_go` by their
    /// caller and themselves.
    fn forget_one(&mut self, may_go: impl Fn(u64, &Legacy) -> bool) {
        let each = self.by_caller.iter();
        let each = each.flat_map(|(caller, own)| own.iter().map(move |it| (*caller, it)));
        // Of those unused equally long, that of the caller's which is older.
        let oldest = each
            .filter(|(caller, it)| may_go(*caller, it))
            .min_by_key(|(_, it)| it.used_micros.load(Ordering::Relaxed));
        let Some((caller, oldest)) = oldest.map(|(caller, it)| (caller, Arc::clone(it))) else {
            return;
        };
        self.forget(caller, |it| Arc::ptr_eq(it, &oldest));
    }

    /// Forgets the handshake of `caller` that is `meant`. `false`: there is none.
    fn forget(&mut self, caller: u64, meant: impl Fn(&Arc<Legacy>) -> bool) -> bool {
        let Some(own) = self.by_caller.get_mut(&caller) else { return false };
        let Some(at) = own.iter().position(meant) else { return false };
        own.remove(at).state().stream = None;
        if own.is_empty() {
            self.by_caller.remove(&caller);
        }
        self.count = self.count.saturating_sub(1);
        true
    }
}

impl Legacy {
    /// Returns the protocol that was agreed upon.
    pub(crate) fn version(&self) -> &ProtocolVersion {
        &self.version
    }

    /// Wants to hear of `resource` under the name `uri`, from the revision `now` on
    /// if it did not want to hear of anything before.
    pub(super) fn subscribe(&self, resource: Resource, uri: &str, now: u64) -> Added {
        let mut state = self.state();
        state.told.get_or_insert(now);
        state.wanted.add(resource, uri)
    }

    /// Wants to read messages of `level` and graver ones, from the revision `now` on
    /// if it did not want to hear of anything before.
    pub(super) fn log(&self, level: Level, now: u64) {
        let mut state = self.state();
        state.told.get_or_insert(now);
        state.level = Some(level);
    }

    /// Returns how grave what it wants to read in the log is at least.
    pub(super) fn level(&self) -> Option<Level> {
        self.state().level
    }

    /// No longer wants to hear of `resource` under the name `uri`.
    pub(super) fn unsubscribe(&self, resource: &Resource, uri: &str) {
        self.state().wanted.remove(resource, uri);
    }

    /// Begins a stream, in the place of the one there may be: its number, and the
    /// revision up to which the client was told already.
    pub(super) fn begin_stream(&self) -> (u64, Option<u64>) {
        let mut state = self.state();
        let number = state.stream.map(|it| it.saturating_add(1));
        state.stream = number;
        // A handshake that ended has no stream of the number 0.
        (number.unwrap_or_default(), state.told)
    }

    /// Returns whether the stream `number` is the one that is told; then the handshake is
    /// in use.
    pub(super) fn is_told(&self, number: u64, now_micros: u64) -> bool {
        let is_told = self.state().stream == Some(number);
        if is_told {
            self.used_micros.fetch_max(now_micros, Ordering::Relaxed);
        }
        is_told
    }

    /// Notes that the stream `number` told the client everything up to the revision
    /// `since`.
    pub(super) fn told(&self, number: u64, since: u64) {
        let mut state = self.state();
        if state.stream == Some(number) {
            state.told = Some(since);
        }
    }

    /// Looks at what the client wants to hear of.
    pub(super) fn wanted<T>(&self, look: impl FnOnce(&Wanted) -> T) -> T {
        look(&self.state().wanted)
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

impl fmt::Debug for Legacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Legacy").field("version", &self.version).finish_non_exhaustive()
    }
}
