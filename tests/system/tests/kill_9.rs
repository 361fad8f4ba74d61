//! The server is killed in the middle of 64 writers, again and again on the same data. Every
//! acknowledged write is stored, once, in order, and nothing that was not sent.
//!
//! `SHARED_CONTEXT_KILL_ROUNDS=20 cargo test -p shared-context-system --test
//! kill_9` is the long form.

#![expect(clippy::unwrap_used, reason = "a test")]

use shared_context_system::{Kills, MemoryKills, Setup, kills, takeover};

/// 64 writers, spread over `sessions` sessions.
#[track_caller]
fn check(sessions: usize) {
    let folder = tempfile::tempdir().unwrap();
    let kills = Kills { host: "the server", writers: 64, sessions, rounds: 5, first: 200 };
    kills.check(|| Setup::new(folder.path()).without_rate_limit().start());
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

/// Four sessions add memories to one project.
#[test]
fn a_killed_server_keeps_10_000_memories_over_20_kills() {
    let folder = tempfile::tempdir().unwrap();
    let rounds = 20;
    let all = MemoryKills { host: "the server", writers: 4, rounds, batch: 125, batches: 4 };
    let count = all.check(|| Setup::new(folder.path()).without_rate_limit().start());
    assert!(count >= kills::rounds(rounds) * 500, "{count}");
}

/// An agent owns a section and does not come back in time.
#[test]
fn a_section_whose_owner_is_gone_has_one_new_owner() {
    let folder = tempfile::tempdir().unwrap();
    takeover::check("the server", || Setup::new(folder.path()).without_rate_limit().start());
}
