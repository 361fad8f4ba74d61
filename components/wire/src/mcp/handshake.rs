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
//! - One participant cannot fill the table: [`OWN_MAX`] handshakes of a caller are
//!   remembered, and [`ALL_MAX`] of all. Where there is one too many, the one that
//!   was unused longest goes.

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
        if table.by_caller.get(&caller).is_some_and(|own| own.len() >= OWN_MAX) {
            table.forget_one(Some(caller));
        } else if table.count >= ALL_MAX {
            table.forget_one(None);
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

    /// The handshake `id`, when `identity` made it. From now on it counts as used.
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
                let session = (&grant.session, session.incarnation, session.epoch);
                self.hasher.hash_one((session, &grant.participant, &grant.keys))
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Forgets the handshake that was unused longest: of `caller`, or of all.
    fn forget_one(&mut self, caller: Option<u64>) {
        let of_caller = caller.and_then(|it| self.by_caller.get_key_value(&it));
        let all = self.by_caller.iter().filter(|_| caller.is_none());
        let each = of_caller.into_iter().chain(all);
        let each = each.flat_map(|(caller, own)| own.iter().map(move |it| (*caller, it)));
        // Of those unused equally long, that of the caller's which is older.
        let oldest = each.min_by_key(|(_, it)| it.used_micros.load(Ordering::Relaxed));
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
    /// The protocol that was agreed upon.
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

    /// How grave what it wants to read in the log is at least.
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

    /// Whether the stream `number` is the one that is told; then the handshake is
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use shared_context_codec::Credential;

    use super::*;
    use crate::credential::Grant;

    fn keys() -> Keys {
        Keys::new(&[7; 32], "admin-key-admin-key-admin-key-admin").unwrap()
    }

    fn grant(task: u64) -> Grant {
        Grant {
            session: "s".to_owned(),
            participant: format!("subagent:{task}"),
            credential: Credential { incarnation: 1, epoch: 1 },
            keys: Vec::new(),
        }
    }

    fn agent(task: u64) -> Identity {
        Identity::Participant(grant(task))
    }

    /// Handshakes of one server, and their ids.
    struct Server {
        handshakes: Handshakes,
        keys: Keys,
    }

    impl Server {
        fn new() -> Self {
            Self { handshakes: Handshakes::new(), keys: keys() }
        }

        fn begin(&self, identity: &Identity, now_micros: u64) -> String {
            let version = ProtocolVersion::V_2025_11_25;
            self.handshakes.begin(&self.keys, identity, version, now_micros)
        }

        fn knows(&self, id: &str, identity: &Identity) -> bool {
            self.handshakes.find(id, identity, 0).is_some()
        }
    }

    #[test]
    fn an_id_is_given_once_and_cannot_be_guessed() {
        let (server, restarted) = (Server::new(), Server::new());
        let mut ids = BTreeSet::new();
        for task in 0..10 {
            for _ in 0..10 {
                ids.extend([server.begin(&agent(task), 5), restarted.begin(&agent(task), 5)]);
            }
        }
        assert_eq!(ids.len(), 200);
        // 256 bits, of which a header takes every character.
        let is_fine = |it: &String| it.len() == 43 && it.bytes().all(|b| b.is_ascii_graphic());
        assert!(ids.iter().all(is_fine), "{ids:?}");
        assert_ne!(server.keys.sign("mcp handshake", b"x"), server.keys.sign("other", b"x"));
        let other = Keys::new(&[8; 32], "admin-key-admin-key-admin-key-admin").unwrap();
        assert_ne!(server.keys.sign("mcp handshake", b"x"), other.sign("mcp handshake", b"x"));
    }

    #[test]
    fn a_handshake_is_known_to_who_made_it_only() {
        let server = Server::new();
        let id = server.begin(&agent(1), 0);
        let elsewhere = Grant { session: "t".to_owned(), ..grant(1) };
        let revoked = Credential { incarnation: 1, epoch: 2 };
        let renewed = Grant { credential: revoked, ..grant(1) };
        let limited = Grant { keys: vec!["a".to_owned()], ..grant(1) };
        let others = [elsewhere, renewed, limited].map(Identity::Participant);
        for other in others.iter().chain([&agent(2), &Identity::Admin]) {
            assert!(!server.knows(&id, other), "{other:?}");
            assert!(!server.handshakes.end(&id, other), "{other:?}");
        }
        assert!(server.knows(&id, &agent(1)));
        assert!(!server.knows("", &agent(1)) && !server.knows(&id[1..], &agent(1)));
        assert!(server.handshakes.end(&id, &agent(1)));
        assert!(!server.knows(&id, &agent(1)));
        assert!(!server.handshakes.end(&id, &agent(1)));
        assert_eq!(server.handshakes.table().count, 0);
        assert!(server.handshakes.table().by_caller.is_empty());
    }

    #[test]
    fn of_a_callers_handshakes_the_one_unused_longest_goes_first() {
        let server = Server::new();
        let other = server.begin(&agent(2), 0);
        let mut ids: Vec<String> = (0..64).map(|now| server.begin(&agent(1), now)).collect();
        server.handshakes.find(&ids[0], &agent(1), 100).unwrap();
        // A stream that is open is a use, too.
        let streaming = server.handshakes.find(&ids[1], &agent(1), 1).unwrap();
        let (number, _) = streaming.begin_stream();
        assert!(streaming.is_told(number, 100));
        ids.push(server.begin(&agent(1), 65));
        ids.push(server.begin(&agent(1), 66));
        let forgotten: Vec<usize> =
            (0..ids.len()).filter(|it| !server.knows(&ids[*it], &agent(1))).collect();
        assert_eq!(forgotten, [2, 3]);
        assert!(server.knows(&other, &agent(2)), "others are not affected");
        assert_eq!(server.handshakes.table().count, 65);
    }

    #[test]
    fn of_all_handshakes_the_one_unused_longest_goes_first() {
        let server = Server::new();
        let callers = u64::try_from(ALL_MAX / OWN_MAX).unwrap();
        let begin = |now: u64| (now % callers, server.begin(&agent(now % callers), now));
        let all: Vec<_> = (0..ALL_MAX).map(|it| begin(u64::try_from(it).unwrap())).collect();
        for now in 0..10 {
            server.begin(&agent(callers + now), 10_000 + now);
        }
        assert_eq!(server.handshakes.table().count, ALL_MAX);
        let (gone, kept) = all.split_at(10);
        assert!(gone.iter().all(|(caller, id)| !server.knows(id, &agent(*caller))));
        assert!(kept.iter().all(|(caller, id)| server.knows(id, &agent(*caller))));
    }

    #[test]
    fn one_stream_of_a_handshake_is_told_and_the_next_goes_on_where_it_was() {
        let server = Server::new();
        let id = server.begin(&agent(1), 0);
        let legacy = server.handshakes.find(&id, &agent(1), 0).unwrap();
        let (first, told) = legacy.begin_stream();
        assert_eq!(told, None);
        legacy.told(first, 7);
        assert!(legacy.is_told(first, 0));
        let (second, told) = legacy.begin_stream();
        assert_eq!(told, Some(7));
        legacy.told(first, 9);
        assert!(!legacy.is_told(first, 0) && legacy.is_told(second, 0));
        assert_eq!(legacy.begin_stream().1, Some(7), "what the first tells counts no more");
        let (last, _) = legacy.begin_stream();
        assert!(server.handshakes.end(&id, &agent(1)));
        assert!(!legacy.is_told(last, 0));
        let (late, _) = legacy.begin_stream();
        assert!(!legacy.is_told(late, 0), "a handshake that ended has no streams");
    }

    #[test]
    fn what_a_client_subscribed_to_before_its_stream_is_told_from_then_on() {
        let server = Server::new();
        let id = server.begin(&agent(1), 0);
        let legacy = server.handshakes.find(&id, &agent(1), 0).unwrap();
        let subscribe = |now| legacy.subscribe(Resource::Keys, "session://s/keys", now);
        assert_eq!((subscribe(5), subscribe(8)), (Added::New, Added::Known));
        assert_eq!(legacy.begin_stream().1, Some(5));
    }
}
