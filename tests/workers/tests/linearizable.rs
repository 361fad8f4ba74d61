//! Many clients read and change one session, and workerd is killed in the middle: there
//! is an order of all that happened that explains each answer. That lies would be found
//! out is shown where the check is (`tests/system/tests/linearizable.rs`).
//!
//! `SHARED_CONTEXT_HISTORIES=100 cargo xtask workers linearizable` is the long form.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::process::ExitCode;

use shared_context_system::{
    history::{self, Figures, Plan},
    tell,
};
use shared_context_workers::Setup;

/// How many histories are played in a short run.
const HISTORIES: u64 = 4;

fn main() -> ExitCode {
    shared_context_workers::main(&[(
        "there_is_an_order_of_all_that_clients_of_a_killed_workerd_see",
        clients_of_a_killed_workerd,
    )])
}

fn clients_of_a_killed_workerd() {
    let mut all = Figures::default();
    for seed in history::seeds(HISTORIES) {
        let folder = tempfile::tempdir().unwrap();
        let mut workerd = Some(Setup::new(folder.path()).without_rate_limit().start());
        let admin = workerd.as_ref().unwrap().admin();
        let plan = Plan {
            name: format!("workerd, history {seed}"),
            clients: 8,
            operations: 75,
            keys: 3,
            seed,
            kills: 2,
        };
        let history = history::play(&plan, &admin, || {
            let setup = workerd.take().unwrap().kill();
            workerd.insert(setup.start()).admin()
        });
        let figures = history.check().unwrap_or_else(|it| panic!("{it}"));
        all += Figures { kills: plan.kills, ..figures };
    }
    tell(&format!("workerd: {all}"));
}
