//! Kills workerd under 32 writers, repeatedly on the same data, with the deployed Worker.
//! Each acknowledged write is stored once and in order, and only sent writes are stored.
//!
//! `SHARED_CONTEXT_KILL_ROUNDS=10 cargo xtask workers kill_9` runs longer.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::process::ExitCode;

use shared_context_system::{Kills, MemoryKills, takeover};
use shared_context_workers::Setup;

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("a_kill_loses_no_acknowledged_write_of_32_objects", of_32_objects),
        ("a_kill_loses_no_acknowledged_write_of_4_busy_objects", of_4_objects),
        ("a_kill_loses_no_acknowledged_memory", of_a_project),
        ("a_section_whose_owner_is_gone_has_one_new_owner", of_an_owner),
    ])
}

/// Runs 32 writers, spread over `sessions` sessions, and kills workerd.
fn check(sessions: usize) {
    let folder = tempfile::tempdir().unwrap();
    let kills = Kills { host: "workerd", writers: 32, sessions, rounds: 3, first: 150 };
    kills.check(|| Setup::new(folder.path()).without_rate_limit().start());
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

/// Four sessions add memories to the object of one project.
fn of_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let all = MemoryKills { host: "workerd", writers: 4, rounds: 3, batch: 100, batches: 4 };
    all.check(|| Setup::new(folder.path()).without_rate_limit().start());
}

/// An agent owns a section of the object of a project, and does not come back in time.
fn of_an_owner() {
    let folder = tempfile::tempdir().unwrap();
    takeover::check("workerd", || Setup::new(folder.path()).without_rate_limit().start());
}
