//! Servers that are killed under their clients and started again on the same data, on each
//! host with a [`Killable`] server: no acknowledged write is lost ([`Kills`]), and one order
//! explains what concurrent clients saw ([`linearizable`]).
//!
//! `SHARED_CONTEXT_KILL_ROUNDS` and `SHARED_CONTEXT_HISTORIES` set how long they run.

use std::{env, path::Path, sync::mpsc, time::Instant};

use crate::{
    Client, Server,
    history::{self, Plan},
    tell,
    writers::{self, Account, Writer},
};

/// The keys that the writers of a session share.
const KEYS: usize = 5;
/// The writes of a writer in a round: few enough that a session's audit trail still has the
/// whole round when it is checked.
const WRITES_MAX: usize = 100;

/// A host's server.
pub trait Killable {
    /// Returns a client with the admin key.
    fn admin(&self) -> Client;

    /// Kills it (`SIGKILL`) and waits for its end.
    fn kill(self);
}

impl Killable for Server {
    fn admin(&self) -> Client {
        self.admin()
    }

    fn kill(self) {
        self.kill();
    }
}

/// Writers whose server is killed in the middle, round after round on the same data. Every
/// acknowledged write must be stored, once, in order, and nothing that was not sent.
#[derive(Debug, Clone, Copy)]
pub struct Kills {
    /// The name of the host, for people.
    pub host: &'static str,
    /// The number of writers.
    pub writers: usize,
    /// The number of sessions that they are spread over.
    pub sessions: usize,
    /// The number of rounds in a short run.
    pub rounds: usize,
    /// The number of acknowledged writes before the first kill.
    pub first: usize,
}

impl Kills {
    /// Plays all rounds on servers that `start` starts.
    #[track_caller]
    pub fn check<S: Killable>(self, mut start: impl FnMut() -> S) {
        let began = Instant::now();
        let Self { host, writers: count, sessions, first, .. } = self;
        let rounds = rounds(self.rounds);
        let names: Vec<_> = (0..sessions).map(|nth| format!("session-{nth}")).collect();
        let mut server = start();
        let writers = Writer::spread(&server.admin(), &names, count, KEYS);
        let mut account = Account::default();
        for round in 0..rounds {
            let (told, acknowledged) = mpsc::channel();
            let url = server.admin().url().to_owned();
            // Each round is killed at another point, and some before the first answer.
            let until = if round % 5 == 4 { 0 } else { first + round * 97 % (first * 7 / 2) };
            let kill = || {
                assert_eq!(acknowledged.iter().take(until).count(), until);
                server.kill();
            };
            let (mut writes, ()) = writers::run(&url, &writers, round, WRITES_MAX, told, kill);
            server = start();
            if round % 2 == 0 {
                account.send_again(&server.admin(), &writers, &mut writes);
            }
            account.check(&server.admin(), &names, &writes);
        }
        let figures = account.figures();
        assert!(figures.acknowledged >= rounds * first * 3 / 4, "{figures:?}");
        let seconds = began.elapsed().as_secs();
        tell(&format!(
            "kill -9 of {host}, {count} writers over {sessions} sessions, {rounds} rounds: \
             {figures}; {seconds} s"
        ));
    }
}

/// Returns the number of rounds: that of the environment, or `short`.
pub fn rounds(short: usize) -> usize {
    let set = env::var("SHARED_CONTEXT_KILL_ROUNDS").ok();
    set.and_then(|it| it.parse().ok()).unwrap_or(short)
}

/// Plays `count` histories, or as many as the environment sets. Each follows its `plan`, on
/// separate data with servers that `start` starts. Then checks that one order of all requests
/// explains what the clients observed.
#[track_caller]
pub fn linearizable<S: Killable>(
    count: u64,
    plan: impl Fn(u64) -> Plan,
    start: impl Fn(&Path) -> S,
) -> history::Figures {
    let mut all = history::Figures::default();
    for seed in history::seeds(count) {
        let folder = tempfile::tempdir().unwrap();
        let start = || start(folder.path());
        let mut server = Some(start());
        let plan = plan(seed);
        let admin = server.as_ref().unwrap().admin();
        let history = history::play(&plan, &admin, || {
            server.take().unwrap().kill();
            server.insert(start()).admin()
        });
        let figures = history.check().unwrap_or_else(|it| panic!("{it}"));
        all += history::Figures { kills: plan.kills, ..figures };
    }
    all
}
