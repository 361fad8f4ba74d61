//! The server is killed in the middle of 64 writers, again and again on the same
//! data: all that was acknowledged is stored, once, in order, and nothing is
//! stored that nobody sent.
//!
//! `SHARED_CONTEXT_KILL_ROUNDS=20 cargo test -p shared-context-system --test
//! kill_9` is the long form.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{env, sync::mpsc, time::Instant};

use shared_context_system::{
    Setup, tell,
    writers::{self, Account, Writer},
};

const WRITERS: usize = 64;
const ROUNDS_DEFAULT: usize = 5;
const KEYS: usize = 5;
/// So that a session's audit trail still has a whole round when it is checked.
const WRITES_MAX: usize = 100;

fn rounds() -> usize {
    env::var("SHARED_CONTEXT_KILL_ROUNDS")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(ROUNDS_DEFAULT)
}

/// 64 writers, spread over `session_count` sessions.
fn check(session_count: usize) {
    let started = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let sessions: Vec<_> = (0..session_count).map(|nth| format!("session-{nth}")).collect();
    let start = || Setup::new(folder.path()).without_rate_limit().start();
    let mut server = start();
    let writers = Writer::spread(&server.admin(), &sessions, WRITERS, KEYS);
    let mut account = Account::default();
    for round in 0..rounds() {
        let (told, acknowledged) = mpsc::channel();
        let url = server.url().to_owned();
        // Each round dies at another place, and some before the first answer.
        let until = if round % 7 == 6 { 0 } else { 200 + round * 97 % 700 };
        let kill = || {
            assert_eq!(acknowledged.iter().take(until).count(), until);
            server.kill();
        };
        let (mut writes, ()) = writers::run(&url, &writers, round, WRITES_MAX, told, kill);
        server = start();
        if round % 2 == 0 {
            account.send_again(&server.admin(), &writers, &mut writes);
        }
        account.check(&server.admin(), &sessions, &writes);
    }
    let figures = account.figures();
    assert!(figures.acknowledged >= rounds() * 150, "{figures:?}");
    tell(&format!(
        "kill -9, {WRITERS} writers over {session_count} sessions: {} rounds, {} acknowledged, \
         lost 0, {} refused for their version; {} in doubt, of them {} sent again under their \
         request id, {} of the others stored; {} s",
        rounds(),
        figures.acknowledged,
        figures.refused,
        figures.in_doubt,
        figures.sent_again,
        figures.in_doubt_stored,
        started.elapsed().as_secs(),
    ));
}

/// Each writer is alone in its session: only the database, which all sessions
/// share, can lose or repeat a write.
#[test]
fn a_killed_server_keeps_the_writes_of_64_sessions() {
    check(64);
}

/// Eight writers contend for the same keys of each session, and a third of the
/// writes depend on the version that was seen last.
#[test]
fn a_killed_server_keeps_the_writes_of_8_contended_sessions() {
    check(8);
}
