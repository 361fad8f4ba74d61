//! Clients of one session, all at once, and somebody who kills the server meanwhile.

use std::{
    env,
    ops::Range,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::json;

use super::{
    History, Instant, Operation,
    model::{Key, Request},
    player::{Asked, Player},
    workload::{Chooser, Workload},
};
use crate::Client;

/// How long a client waits for a killed server to be back.
const PATIENCE: Duration = Duration::from_mins(1);
/// The session.
pub(super) const SESSION: &str = "history";

/// What is played.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What the history is called.
    pub name: String,
    /// What the clients do.
    pub workload: Workload,
    /// How many clients there are.
    pub clients: usize,
    /// How many operations each of them does, those not counted that it sends again.
    pub operations: usize,
    /// How many keys they share.
    pub keys: usize,
    /// Chooses what they do; when it happens is up to the machine.
    pub seed: u64,
    /// How often the server is killed.
    pub kills: usize,
}

/// Returns the seeds of so many histories as `SHARED_CONTEXT_HISTORIES` says, or `default`; from
/// `SHARED_CONTEXT_HISTORY_SEED` on, or from one that is new each time.
pub fn seeds(default: u64) -> Range<u64> {
    let number = |name: &str| env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let first = number("SHARED_CONTEXT_HISTORY_SEED").unwrap_or(now.as_secs() % 1_000_000 * 1_000);
    first..first + number("SHARED_CONTEXT_HISTORIES").unwrap_or(default)
}

/// Plays `plan` on a new session, which `admin` creates. `kill` kills the server, starts
/// it anew on the same data, and returns its operator.
pub fn play(plan: &Plan, admin: &Client, mut kill: impl FnMut() -> Client) -> History {
    let orchestrator = admin.create_session(SESSION, &json!({"namespace": {"keys": []}}));
    let player = |nth: usize| {
        let minted = orchestrator.mint(SESSION, &plan.workload.participant(nth));
        let chooser = Chooser::new(plan.workload, nth, plan.keys, plan.seed);
        Player::new(nth, minted.credential().to_owned(), chooser)
    };
    let mut last = player(plan.clients);
    let stage = Stage {
        began: std::time::Instant::now(),
        places: AtomicU64::new(0),
        wishes: AtomicU64::new(1),
        server: Mutex::new((0, admin.clone())),
        is_back: Condvar::new(),
    };
    let (told, counted) = mpsc::channel();
    let mut operations = thread::scope(|scope| {
        let players: Vec<_> = (0..plan.clients)
            .map(|nth| {
                let player = player(nth);
                let (stage, told) = (&stage, told.clone());
                scope.spawn(move || stage.run(player, plan.operations, &told))
            })
            .collect();
        drop(told);
        let each = (plan.clients * plan.operations / (plan.kills + 1)).max(1);
        for _ in 0..plan.kills {
            assert_eq!(counted.iter().take(each).count(), each, "the clients were done before");
            let admin = kill();
            let mut server = stage.server();
            *server = (server.0 + 1, admin);
            drop(server);
            stage.is_back.notify_all();
        }
        players.into_iter().flat_map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    // Somebody who comes when all have left, and sees what there is.
    let all: Vec<Key> = (0..plan.keys).collect();
    let mut is_unknown = true;
    while is_unknown {
        let asked = stage.ask(&mut last, &Request::ReadBatch(all.clone()));
        is_unknown = asked.as_ref().is_none_or(|it| it.1);
        operations.extend(asked.map(|it| it.0));
    }
    History { name: plan.name.clone(), operations }
}

/// What all clients share.
struct Stage {
    began: std::time::Instant,
    places: AtomicU64,
    wishes: AtomicU64,
    /// How often the server was started anew, and its operator.
    server: Mutex<(u64, Client)>,
    is_back: Condvar,
}

impl Stage {
    fn run(&self, mut player: Player, count: usize, told: &mpsc::Sender<()>) -> Vec<Operation> {
        let mut operations = Vec::new();
        for _ in 0..count {
            let mut request = player.next(|| self.wishes.fetch_add(1, Ordering::SeqCst));
            loop {
                let Some((operation, is_unknown)) = self.ask(&mut player, &request) else {
                    continue; // It never reached a server.
                };
                operations.push(operation);
                match player.again(&request).filter(|_| is_unknown) {
                    Some(again) => request = again,
                    None => break,
                }
            }
            // Nobody may be counting any more.
            let _ = told.send(());
        }
        operations
    }

    /// Lets `player` ask `request`; what came of it, and whether that is unknown. `None`
    /// when there was no server that could have heard it.
    fn ask(&self, player: &mut Player, request: &Request) -> Option<(Operation, bool)> {
        let (generation, at) = self.server().clone();
        let asked = self.now();
        let come = player.ask(&at, request);
        let answered = self.now();
        let operation =
            |told| Operation { client: player.nth(), request: request.clone(), asked, told };
        match come {
            Asked::Told(answer) => Some((operation(Some((answered, answer))), false)),
            Asked::Unknown => Some((operation(None), true)),
            Asked::Gone => {
                self.wait_for_another_than(generation);
                Some((operation(None), true))
            }
            Asked::NotHeard => {
                self.wait_for_another_than(generation);
                None
            }
        }
    }

    fn wait_for_another_than(&self, generation: u64) {
        let (server, timeout) = self
            .is_back
            .wait_timeout_while(self.server(), PATIENCE, |it| it.0 == generation)
            .unwrap_or_else(PoisonError::into_inner);
        drop(server);
        assert!(!timeout.timed_out(), "the server is gone, and nobody started it anew");
    }

    fn now(&self) -> Instant {
        let time = self.began.elapsed();
        Instant { place: self.places.fetch_add(1, Ordering::SeqCst), time }
    }

    fn server(&self) -> MutexGuard<'_, (u64, Client)> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
