//! Many clients read and change one session over HTTP, and the server is killed in the middle
//! (`kill -9`). The test searches for one order of all requests that explains each answer. To prove
//! that the check works, deliberately wrong answers must fail it.
//!
//! `SHARED_CONTEXT_HISTORIES=200 cargo test --workspace --test linearizable -- \ an_order
//! --nocapture` is the long form; with `SHARED_CONTEXT_HISTORY_SEED=N` the clients send the
//! requests of the history N.

use std::path::Path;

use shared_context_system::{
    Setup,
    history::{
        self, Figures, Plan, Workload,
        forge::{Forger, Lie},
    },
    kills, leases, tell,
};

/// The number of histories in a short run.
const HISTORIES: u64 = 6;
/// The number of histories of each workload with equal values.
const EQUAL_HISTORIES: u64 = 2;

fn plan(workload: Workload, seed: u64) -> Plan {
    Plan {
        name: format!("history {seed}, {workload:?}"),
        workload,
        clients: 8,
        operations: 75,
        // On two keys nearly everything collides, on eight hardly anything.
        keys: 2 << (seed % 3),
        seed,
        kills: workload.kills(3),
    }
}

/// Plays `count` histories of `workload`, and checks what clients saw.
#[track_caller]
fn check(workload: Workload, count: u64) -> Figures {
    let start = |folder: &Path| Setup::new(folder).without_rate_limit().start();
    kills::linearizable(count, |seed| plan(workload, seed), start)
}

#[test]
fn there_is_an_order_of_all_that_clients_of_a_killed_server_see() {
    tell(&format!("wasmtime: {}", check(Workload::Distinct, HISTORIES)));
}

/// A failed condition once passed where the entry already had the value that was to be
/// written, if the same participant had written it. So a counter, a lock, a fence and the
/// memory tool lost acknowledged changes of clients that share a participant.
fn check_equal_values(workload: Workload) {
    tell(&format!("wasmtime, {workload:?}: {}", check(workload, EQUAL_HISTORIES)));
}

#[test]
fn equal_values_of_one_participant_are_linearizable() {
    check_equal_values(Workload::Equal);
}

#[test]
fn a_counter_of_one_participant_loses_no_increment() {
    check_equal_values(Workload::Counter);
}

#[test]
fn a_lock_of_one_participant_has_one_holder() {
    check_equal_values(Workload::Lock);
}

#[test]
fn a_fence_of_one_participant_stops_stale_batches() {
    check_equal_values(Workload::Fence);
}

#[test]
fn a_memory_file_of_one_participant_loses_no_line() {
    check_equal_values(Workload::Memory);
}

/// The owner of a section is not an entry, so this test has a separate model.
#[test]
fn a_section_that_agents_contend_for_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    leases::check("the server", || Setup::new(folder.path()).without_rate_limit().start());
}

/// The checker is believed because it is seen to find lies.
#[test]
fn a_server_that_lies_is_found_out() {
    for lie in Lie::ALL {
        let folder = tempfile::tempdir().unwrap();
        let server = Setup::new(folder.path()).without_rate_limit().start();
        let forger = Forger::start(server.url(), lie);
        let plan = Plan { name: format!("{lie:?}"), keys: 3, kills: 0, ..plan(lie.workload(), 1) };
        let admin = forger.client(server.admin().credential());
        let history = history::play(&plan, &admin, || panic!("nobody is killed"));
        assert!(forger.lies() > 0, "{lie:?}: there was nothing to lie about");
        let Err(offence) = history.check() else {
            panic!("{lie:?}: told {} times, and nobody noticed", forger.lies());
        };
        tell(&format!("{} lies told: {offence}", forger.lies()));
    }
}
