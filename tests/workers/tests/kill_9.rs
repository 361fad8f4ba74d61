//! Kills workerd under 32 writers, repeatedly on the same data, with the deployed Worker.
//! Each acknowledged write is stored once and in order, and only sent writes are stored.
//!
//! `SHARED_CONTEXT_KILL_ROUNDS=10 cargo xtask workers kill_9` runs longer.

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
/// The writes of a writer in a round: few enough that a session's audit trail still has the
/// whole round when it is checked.
const WRITES_MAX: usize = 100;

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("a_kill_loses_no_acknowledged_write_of_32_objects", of_32_objects),
        ("a_kill_loses_no_acknowledged_write_of_4_busy_objects", of_4_objects),
    ])
}

fn rounds() -> usize {
    env::var("SHARED_CONTEXT_KILL_ROUNDS")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(ROUNDS_DEFAULT)
}

/// Runs 32 writers, spread over `session_count` sessions, and kills workerd.
fn check(session_count: usize) {
    let started = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let sessions: Vec<_> = (0..session_count).map(|nth| format!("session-{nth}")).collect();
    let mut workerd = Setup::new(folder.path()).without_rate_limit().start();
    let writers = Writer::spread(&workerd.admin(), &sessions, WRITERS, KEYS);
    let mut account = Account::default();
    for round in 0..rounds() {
        let (sender, acknowledged) = mpsc::channel();
        let url = workerd.url().to_owned();
        // Each round is killed at another point, and some before the first answer.
        let until = if round % 5 == 4 { 0 } else { 150 + round * 97 % 500 };
        let kill = || {
            assert_eq!(acknowledged.iter().take(until).count(), until);
            workerd.kill()
        };
        let (mut writes, setup) = writers::run(&url, &writers, round, WRITES_MAX, sender, kill);
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

/// Each writer has its own object, so only workerd's disk can lose or repeat a write.
fn of_32_objects() {
    check(32);
}

/// Eight writers contend for the same keys of each object. A third of the writes are
/// conditional on the last seen version.
fn of_4_objects() {
    check(4);
}
