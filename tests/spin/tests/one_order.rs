//! Many clients read and change one session, each request in an instance of its own, and
//! instances end by chance in the middle of what they do: there is an order of all that
//! happened that explains each answer. That lies would be found out is shown where the
//! check is (`tests/system/tests/linearizable.rs`).
//!
//! `SHARED_CONTEXT_HISTORIES=100 cargo xtask spin one_order` is the long form.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::process::ExitCode;

use shared_context_spin_tests::{
    Kill, Over,
    story::{self, Stage, Test},
};
use shared_context_system::{
    Client,
    history::{self, Figures, Plan, Workload},
    tell,
};

/// How many histories are played in a short run.
const HISTORIES: u64 = 3;
/// How many of each workload with equal values.
const EQUAL_HISTORIES: u64 = 1;
/// A request is some calls long.
const ONE_CALL_IN: u64 = 80;

fn main() -> ExitCode {
    story::main(&[
        Test::in_stand_in("there_is_an_order_where_instances_end_by_chance", by_chance),
        Test::anywhere("there_is_an_order_where_the_process_is_killed", process),
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

fn plan(stage: &Stage, workload: Workload, seed: u64, kills: usize) -> Plan {
    let host = if stage.is_spin() { "spin" } else { "stand-in" };
    Plan {
        name: format!("{host}, history {seed}, {workload:?}"),
        workload,
        clients: 8,
        operations: 50,
        keys: 3,
        seed,
        kills,
    }
}

fn by_chance(stage: &Stage) {
    let mut all = Figures::default();
    for seed in history::seeds(HISTORIES) {
        let folder = tempfile::tempdir().unwrap();
        let app = stage.app(&folder);
        // It is quiet at first and at last; chance begins anew in between.
        let plan = plan(stage, Workload::Distinct, seed, 6);
        let mut nth = 0;
        let history = history::play(&plan, &app.admin(), || {
            nth += 1;
            let seed = seed.wrapping_add(nth);
            let randomly = Kill::Randomly { seed, one_in: ONE_CALL_IN };
            app.stand_in().kill(if nth < 6 { randomly } else { Kill::Never });
            app.admin()
        });
        let kills = usize::try_from(app.stand_in().killed()).unwrap();
        assert!(kills > 0, "no instance ended");
        let figures = history.check().unwrap_or_else(|it| panic!("{it}"));
        all += Figures { kills, ..figures };
    }
    tell(&format!("Spin's stand-in, instances ended by chance: {all}"));
}

fn process(stage: &Stage) {
    let all = check(stage, Workload::Distinct, HISTORIES);
    tell(&format!("Spin's process killed: {all}"));
}

/// A failed condition once passed where the entry already had the value that was to be
/// written, if the same participant had written it. So a counter, a lock, a fence and the
/// memory tool lost acknowledged changes of clients that share a participant.
fn equal_values(stage: &Stage, workload: Workload) {
    let all = check(stage, workload, EQUAL_HISTORIES);
    tell(&format!("Spin's process killed, {workload:?}: {all}"));
}

fn check(stage: &Stage, workload: Workload, histories: u64) -> Figures {
    let mut all = Figures::default();
    for seed in history::seeds(histories) {
        let folder = tempfile::tempdir().unwrap();
        let setup = stage.setup(Over::Sqlite, &folder);
        let mut program = Some(stage.program(&setup));
        let admin = Client::new(program.as_ref().unwrap().url(), setup.admin_key());
        let plan = plan(stage, workload, seed, workload.kills(2));
        let history = history::play(&plan, &admin, || {
            program.take().unwrap().kill().unwrap();
            Client::new(program.insert(stage.program(&setup)).url(), setup.admin_key())
        });
        let figures = history.check().unwrap_or_else(|it| panic!("{it}"));
        all += Figures { kills: plan.kills, ..figures };
    }
    all
}
