//! Many clients read and change one session over HTTP, and the server is killed in the
//! middle (`kill -9`): there is an order of all that happened that explains each answer.
//! And so that this means something: a server that lies is found out.
//!
//! `SHARED_CONTEXT_HISTORIES=200 cargo test --workspace --test linearizable -- \
//! an_order --nocapture` is the long form; with `SHARED_CONTEXT_HISTORY_SEED=N` the
//! clients ask what they asked in the history N.

use shared_context_system::{
    Setup,
    history::{
        self, Figures, Plan,
        forge::{Forger, Lie},
    },
    tell,
};

/// How many histories are played in a short run.
const HISTORIES: u64 = 6;

fn plan(seed: u64) -> Plan {
    Plan {
        name: format!("history {seed}"),
        clients: 8,
        operations: 75,
        // On two keys nearly everything collides, on eight hardly anything.
        keys: 2 << (seed % 3),
        seed,
        kills: 3,
    }
}

#[test]
fn there_is_an_order_of_all_that_clients_of_a_killed_server_see() {
    let mut all = Figures::default();
    for seed in history::seeds(HISTORIES) {
        let folder = tempfile::tempdir().unwrap();
        let start = || Setup::new(folder.path()).without_rate_limit().start();
        let mut server = Some(start());
        let admin = server.as_ref().unwrap().admin();
        let plan = plan(seed);
        let history = history::play(&plan, &admin, || {
            server.take().unwrap().kill();
            server.insert(start()).admin()
        });
        let figures = history.check().unwrap_or_else(|it| panic!("{it}"));
        all += Figures { kills: plan.kills, ..figures };
    }
    tell(&format!("wasmtime: {all}"));
}

/// The checker is believed because it is seen to find lies.
#[test]
fn a_server_that_lies_is_found_out() {
    for lie in Lie::ALL {
        let folder = tempfile::tempdir().unwrap();
        let server = Setup::new(folder.path()).without_rate_limit().start();
        let forger = Forger::start(server.url(), lie);
        let plan = Plan { name: format!("{lie:?}"), keys: 3, kills: 0, ..plan(1) };
        let admin = forger.client(server.admin().credential());
        let history = history::play(&plan, &admin, || panic!("nobody is killed"));
        assert!(forger.lies() > 0, "{lie:?}: there was nothing to lie about");
        let Err(offence) = history.check() else {
            panic!("{lie:?}: told {} times, and nobody noticed", forger.lies());
        };
        tell(&format!("{} lies told: {offence}", forger.lies()));
    }
}
