//! workerd is killed in the middle of 32 writers, again and again on the same data,
//! with the Worker as it is deployed: all that was acknowledged is stored, once, in
//! order, and nothing is stored that nobody sent.
//!
//! `SHARED_CONTEXT_KILL_ROUNDS=10 cargo xtask workers kill_9` is the long form.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{env, process::ExitCode, sync::mpsc, time::Instant};

use shared_context_system::{
    tell,
    writers::{self, Account, Writer},
};
use shared_context_workers::Setup;

const WRITERS: usize = 32;
const ROUNDS_DEFAULT: usize = 3;
const KEYS: usize = 5;
/// So that a session's audit trail still has a whole round when it is checked.
const WRITES_MAX: usize = 100;

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("a_killed_workerd_has_all_acknowledged_writes_of_32_objects", of_32_objects),
        ("a_killed_workerd_has_all_acknowledged_writes_of_4_contended_objects", of_4_objects),
    ])
}

fn rounds() -> usize {
    env::var("SHARED_CONTEXT_KILL_ROUNDS")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(ROUNDS_DEFAULT)
}

/// 32 writers, spread over `session_count` sessions.
fn check(session_count: usize) {
    let started = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let sessions: Vec<_> = (0..session_count).map(|nth| format!("session-{nth}")).collect();
    let mut workerd = Setup::new(folder.path()).without_rate_limit().start();
    let writers = Writer::spread(&workerd.admin(), &sessions, WRITERS, KEYS);
    let mut account = Account::default();
    for round in 0..rounds() {
        let (told, acknowledged) = mpsc::channel();
        let url = workerd.url().to_owned();
        // Each round dies at another place, and some before the first answer.
        let until = if round % 5 == 4 { 0 } else { 150 + round * 97 % 500 };
        let kill = || {
            assert_eq!(acknowledged.iter().take(until).count(), until);
            workerd.kill()
        };
        let (mut writes, setup) = writers::run(&url, &writers, round, WRITES_MAX, told, kill);
        workerd = setup.start();
        let admin = workerd.admin();
        if round % 2 == 0 {
            account.send_again(&admin, &writers, &mut writes);
        }
        account.check(&admin, &sessions, &writes);
    }
    let figures = account.figures();
    assert!(figures.acknowledged >= rounds() * 100, "{figures:?}");
    tell(&format!(
        "kill -9 of workerd, {WRITERS} writers over {session_count} sessions: {} rounds, {} \
         acknowledged, lost 0, {} refused for their version; {} in doubt, of them {} sent again \
         under their request id, {} of the others stored; {} s",
        rounds(),
        figures.acknowledged,
        figures.refused,
        figures.in_doubt,
        figures.sent_again,
        figures.in_doubt_stored,
        started.elapsed().as_secs(),
    ));
}

/// Each writer is alone in its object: only workerd's disk can lose or repeat a write.
fn of_32_objects() {
    check(32);
}

/// Eight writers contend for the same keys of each object, and a third of the writes
/// depend on the version that was seen last.
fn of_4_objects() {
    check(4);
}
