//! Records what many clients of one session observe while workerd is killed, and checks the
//! history for linearizability. `tests/system/tests/linearizable.rs` shows that this check
//! detects broken servers.
//!
//! `SHARED_CONTEXT_HISTORIES=100 cargo xtask workers linearizable` runs longer.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::process::ExitCode;

use shared_context_system::{
    history::{Figures, Plan, Workload},
    kills, leases, tell,
};
use shared_context_workers::Setup;

/// The number of histories in a short run.
const HISTORIES: u64 = 4;
/// The number of histories of each workload with equal values.
const EQUAL_HISTORIES: u64 = 1;

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("a_killed_workerd_is_linearizable", clients_of_a_killed_workerd),
        ("equal_values_of_one_participant_are_linearizable", || equal_values(Workload::Equal)),
        ("a_counter_of_one_participant_loses_no_increment", || equal_values(Workload::Counter)),
        ("a_lock_of_one_participant_has_one_holder", || equal_values(Workload::Lock)),
        ("a_fence_of_one_participant_stops_stale_batches", || equal_values(Workload::Fence)),
        ("a_memory_file_of_one_participant_loses_no_line", || equal_values(Workload::Memory)),
        ("a_section_that_agents_contend_for_has_one_owner", owners),
    ])
}

fn clients_of_a_killed_workerd() {
    tell(&format!("workerd: {}", check(Workload::Distinct, HISTORIES)));
}

/// A failed condition once passed if the entry already had the new value and the same
/// participant had written it. So a counter, a lock, a fence and the memory tool lost
/// acknowledged changes of clients that share a participant.
fn equal_values(workload: Workload) {
    tell(&format!("workerd, {workload:?}: {}", check(workload, EQUAL_HISTORIES)));
}

fn check(workload: Workload, histories: u64) -> Figures {
    let plan = |seed| Plan {
        name: format!("workerd, history {seed}, {workload:?}"),
        workload,
        clients: 8,
        operations: 75,
        keys: 3,
        seed,
        kills: workload.kills(2),
    };
    kills::linearizable(histories, plan, |folder| Setup::new(folder).without_rate_limit().start())
}

fn owners() {
    let folder = tempfile::tempdir().unwrap();
    leases::check("workerd", || Setup::new(folder.path()).without_rate_limit().start());
}
