//! Many clients read and change one session, and workerd is killed in the middle: there
//! is an order of all that happened that explains each answer. That lies would be found
//! out is shown where the check is (`tests/system/tests/linearizable.rs`).
//!
//! `SHARED_CONTEXT_HISTORIES=100 cargo xtask workers linearizable` is the long form.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::process::ExitCode;

use shared_context_system::{
    history::{self, Figures, Plan, Workload},
    tell,
};
use shared_context_workers::Setup;

/// How many histories are played in a short run.
const HISTORIES: u64 = 4;
/// How many of each workload with equal values.
const EQUAL_HISTORIES: u64 = 1;

fn main() -> ExitCode {
    shared_context_workers::main(&[
        (
            "there_is_an_order_of_all_that_clients_of_a_killed_workerd_see",
            clients_of_a_killed_workerd,
        ),
        ("equal_values_of_one_participant_are_linearizable", || equal_values(Workload::Equal)),
        ("a_counter_of_one_participant_loses_no_increment", || equal_values(Workload::Counter)),
        ("a_lock_of_one_participant_has_one_holder", || equal_values(Workload::Lock)),
        ("a_fence_of_one_participant_stops_stale_batches", || equal_values(Workload::Fence)),
        ("a_memory_file_of_one_participant_loses_no_line", || equal_values(Workload::Memory)),
    ])
}

fn clients_of_a_killed_workerd() {
    tell(&format!("workerd: {}", check(Workload::Distinct, HISTORIES)));
}

/// A failed condition once passed where the entry already had the value that was to be
/// written, if the same participant had written it. So a counter, a lock, a fence and the
/// memory tool lost acknowledged changes of clients that share a participant.
fn equal_values(workload: Workload) {
    tell(&format!("workerd, {workload:?}: {}", check(workload, EQUAL_HISTORIES)));
}

fn check(workload: Workload, histories: u64) -> Figures {
    let mut all = Figures::default();
    for seed in history::seeds(histories) {
        let folder = tempfile::tempdir().unwrap();
        let mut workerd = Some(Setup::new(folder.path()).without_rate_limit().start());
        let admin = workerd.as_ref().unwrap().admin();
        let plan = Plan {
            name: format!("workerd, history {seed}, {workload:?}"),
            workload,
            clients: 8,
            operations: 75,
            keys: 3,
            seed,
            kills: workload.kills(2),
        };
        let history = history::play(&plan, &admin, || {
            let setup = workerd.take().unwrap().kill();
            workerd.insert(setup.start()).admin()
        });
        let figures = history.check().unwrap_or_else(|it| panic!("{it}"));
        all += Figures { kills: plan.kills, ..figures };
    }
    all
}
