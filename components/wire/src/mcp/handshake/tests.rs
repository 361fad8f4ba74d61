//! Retention of handshakes: owners, order and limits.

use std::collections::BTreeSet;

use shared_context_codec::Credential;
use shared_context_core::{Scope, ScopeKind};

use super::*;
use crate::credential::Grant;

fn keys() -> Keys {
    Keys::new(&[7; 32], "admin-key-admin-key-admin-key-admin").unwrap()
}

fn scope(session: &str) -> Scope {
    Scope::new(ScopeKind::Session, session).unwrap()
}

fn grant(task: u64) -> Grant {
    Grant {
        scope: scope("s"),
        participant: format!("subagent:{task}"),
        credential: Credential { incarnation: 1, epoch: 1 },
        keys: Vec::new(),
        project: None,
        tools: None,
    }
}

fn agent(task: u64) -> Identity {
    Identity::Participant(grant(task))
}

/// Handshakes of one server, with its keys.
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
fn ids_are_unique_and_cannot_be_guessed() {
    let (server, restarted) = (Server::new(), Server::new());
    let mut ids = BTreeSet::new();
    for task in 0..10 {
        for _ in 0..10 {
            ids.extend([server.begin(&agent(task), 5), restarted.begin(&agent(task), 5)]);
        }
    }
    assert_eq!(ids.len(), 200);
    // 256 bits, in characters that a header accepts.
    let is_fine = |it: &String| it.len() == 43 && it.bytes().all(|b| b.is_ascii_graphic());
    assert!(ids.iter().all(is_fine), "{ids:?}");
    assert_ne!(server.keys.sign("mcp handshake", b"x"), server.keys.sign("other", b"x"));
    let other = Keys::new(&[8; 32], "admin-key-admin-key-admin-key-admin").unwrap();
    assert_ne!(server.keys.sign("mcp handshake", b"x"), other.sign("mcp handshake", b"x"));
}

#[test]
fn only_its_creator_can_use_a_handshake() {
    let server = Server::new();
    let id = server.begin(&agent(1), 0);
    let elsewhere = Grant { scope: scope("t"), ..grant(1) };
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
fn the_longest_unused_handshake_of_a_caller_is_dropped_first() {
    let server = Server::new();
    let other = server.begin(&agent(2), 0);
    let mut ids: Vec<String> = (0..64).map(|now| server.begin(&agent(1), now)).collect();
    server.handshakes.find(&ids[0], &agent(1), 100).unwrap();
    // An open stream counts as use, too.
    let streaming = server.handshakes.find(&ids[1], &agent(1), 1).unwrap();
    let (number, _) = streaming.begin_stream();
    assert!(streaming.is_current_stream(number, 100));
    ids.push(server.begin(&agent(1), 65));
    ids.push(server.begin(&agent(1), 66));
    let forgotten: Vec<usize> =
        (0..ids.len()).filter(|it| !server.knows(&ids[*it], &agent(1))).collect();
    assert_eq!(forgotten, [2, 3]);
    assert!(server.knows(&other, &agent(2)), "others are not affected");
    assert_eq!(server.handshakes.table().count, 65);
}

#[test]
fn the_longest_unused_handshake_of_all_is_dropped_first() {
    let server = Server::new();
    let callers = u64::try_from(ALL_MAX / OWN_MAX).unwrap();
    let agent = |task: u64| {
        Identity::Participant(Grant { scope: scope(&format!("s-{}", task / 8)), ..grant(task) })
    };
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

/// An orchestrator minted subagents until their handshakes filled the server's table. The clients
/// of every other session then had to start over.
#[test]
fn a_session_cannot_push_out_the_handshakes_of_another() {
    let server = Server::new();
    let other = Identity::Participant(Grant { scope: scope("t"), ..grant(1) });
    let mut kept = vec![(server.begin(&other, 0), other), {
        (server.begin(&Identity::Admin, 0), Identity::Admin)
    }];
    let first = server.begin(&agent(0), 1);
    for now in 0..20_000 {
        let id = server.begin(&agent(now % 1_000), now + 2);
        if now >= 20_000 - u64::try_from(SESSION_MAX).unwrap() {
            kept.push((id, agent(now % 1_000)));
        }
    }
    assert!(!server.knows(&first, &agent(0)));
    assert!(kept.iter().all(|(id, owner)| server.knows(id, owner)));
    assert_eq!(server.handshakes.table().count, SESSION_MAX + 2);
}

#[test]
fn a_new_stream_continues_where_the_previous_one_stopped() {
    let server = Server::new();
    let id = server.begin(&agent(1), 0);
    let handshake = server.handshakes.find(&id, &agent(1), 0).unwrap();
    let (first, sent) = handshake.begin_stream();
    assert_eq!(sent, None);
    handshake.record_sent(first, 7);
    assert!(handshake.is_current_stream(first, 0));
    let (second, sent) = handshake.begin_stream();
    assert_eq!(sent, Some(7));
    handshake.record_sent(first, 9);
    assert!(!handshake.is_current_stream(first, 0) && handshake.is_current_stream(second, 0));
    assert_eq!(handshake.begin_stream().1, Some(7), "the replaced stream no longer counts");
    let (last, _) = handshake.begin_stream();
    assert!(server.handshakes.end(&id, &agent(1)));
    assert!(!handshake.is_current_stream(last, 0));
    let (late, _) = handshake.begin_stream();
    assert!(!handshake.is_current_stream(late, 0), "a handshake that ended has no streams");
}

#[test]
fn a_stream_starts_at_the_first_subscription() {
    let server = Server::new();
    let id = server.begin(&agent(1), 0);
    let handshake = server.handshakes.find(&id, &agent(1), 0).unwrap();
    let subscribe = |now| handshake.subscribe(Resource::Keys, "session://s/keys", now);
    assert_eq!((subscribe(5), subscribe(8)), (AddOutcome::New, AddOutcome::Known));
    assert_eq!(handshake.begin_stream().1, Some(5));
}
