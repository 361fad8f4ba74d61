//! Records what many clients of one session observe, each request in its own instance,
//! while instances are aborted at random, and checks the history for linearizability.
//! `tests/system/tests/linearizable.rs` shows that this check detects broken servers.
//!
//! `SHARED_CONTEXT_HISTORIES=100 cargo xtask spin one_order` runs longer.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::process::ExitCode;

use shared_context_spin_tests::{
    Kill, Over,
    suite::{self, Test, TestHost},
};
use shared_context_system::{
    Client,
    history::{self, Figures, Plan, Workload},
    tell,
};

/// The number of histories in a short run.
const HISTORIES: u64 = 3;
/// The number of histories of each workload with equal values.
const EQUAL_HISTORIES: u64 = 1;
/// One of this many calls to storage is aborted; a request makes several calls.
const ONE_CALL_IN: u64 = 80;

fn main() -> ExitCode {
    suite::main(&[
        Test::in_emulator("linearizable_while_instances_are_aborted", random_aborts),
        Test::anywhere("linearizable_while_the_process_is_killed", process),
        Test::anywhere("equal_values_of_one_participant_are_linearizable", |it| {
            equal_values(it, Workload::Equal);
        }),
        Test::anywhere("a_counter_of_one_participant_loses_no_increment", |it| {
            equal_values(it, Workload::Counter);
        }),
        Test::anywhere("a_lock_of_one_participant_has_one_holder", |it| {
            equal_values(it, Workload::Lock);
        }),
        Test::anywhere("a_fence_of_one_participant_stops_stale_batches", |it| {
            equal_values(it, Workload::Fence);
        }),
        Test::anywhere("a_memory_file_of_one_participant_loses_no_line", |it| {
            equal_values(it, Workload::Memory);
        }),
    ])
}

fn plan(host: &TestHost, workload: Workload, seed: u64, kills: usize) -> Plan {
    let runtime = if host.is_spin() { "spin" } else { "emulator" };
    Plan {
        name: format!("{runtime}, history {seed}, {workload:?}"),
        workload,
        clients: 8,
        operations: 50,
        keys: 3,
        seed,
        kills,
    }
}

fn random_aborts(host: &TestHost) {
    let mut all = Figures::default();
    for seed in history::seeds(HISTORIES) {
        let folder = tempfile::tempdir().unwrap();
        let app = host.app(&folder);
        // No instance is aborted in the first and the last part; each part in between has
        // its own seed.
        let plan = plan(host, Workload::Distinct, seed, 6);
        let mut nth = 0;
        let history = history::play(&plan, &app.admin(), || {
            nth += 1;
            let seed = seed.wrapping_add(nth);
            let randomly = Kill::Randomly { seed, one_in: ONE_CALL_IN };
            app.emulator().kill(if nth < 6 { randomly } else { Kill::Never });
            app.admin()
        });
        let kills = usize::try_from(app.emulator().killed()).unwrap();
        assert!(kills > 0, "no instance ended");
        let figures = history.check().unwrap_or_else(|it| panic!("{it}"));
        all += Figures { kills, ..figures };
    }
    tell(&format!("Spin's emulator, instances ended by chance: {all}"));
}

fn process(host: &TestHost) {
    let all = check(host, Workload::Distinct, HISTORIES);
    tell(&format!("Spin's process killed: {all}"));
}

/// A failed condition once passed if the entry already had the new value and the same
/// participant had written it. So a counter, a lock, a fence and the memory tool lost
/// acknowledged changes of clients that share a participant.
fn equal_values(host: &TestHost, workload: Workload) {
    let all = check(host, workload, EQUAL_HISTORIES);
    tell(&format!("Spin's process killed, {workload:?}: {all}"));
}

fn check(host: &TestHost, workload: Workload, histories: u64) -> Figures {
    let mut all = Figures::default();
    for seed in history::seeds(histories) {
        let folder = tempfile::tempdir().unwrap();
        let setup = host.setup(Over::Sqlite, &folder);
        let mut program = Some(host.program(&setup));
        let admin = Client::new(program.as_ref().unwrap().url(), setup.admin_key());
        let plan = plan(host, workload, seed, workload.kills(2));
        let history = history::play(&plan, &admin, || {
            program.take().unwrap().kill().unwrap();
            Client::new(program.insert(host.program(&setup)).url(), setup.admin_key())
        });
        let figures = history.check().unwrap_or_else(|it| panic!("{it}"));
        all += Figures { kills: plan.kills, ..figures };
    }
    all
}
