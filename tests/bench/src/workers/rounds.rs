//! Alternating measurements: short rounds of one Worker after the other, so that disturbances of
//! the machine and disk affect all of them alike.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::{
    results::Results,
    worker::{RunningWorker, Session, WorkerKind},
};
use crate::client::Client;

/// Rounds per operation, with one client.
const ROUNDS: u32 = 20;
/// Requests per round.
const REQUESTS: u32 = 20;
/// Unmeasured requests before a round, to warm caches that another Worker used.
const WARMING: u32 = 2;
/// Duration of a measurement with many clients.
const PERIOD: Duration = Duration::from_millis(500);
/// Number of new sessions.
const NEW: u32 = 16;
/// Goal for our Worker, as a multiple of *plain*.
const GOAL: f64 = 1.3;

/// Number of concurrent clients, and of sessions.
pub(super) const CLIENTS: usize = 16;
/// Entries per session.
pub(super) const ENTRIES: usize = 20;

/// The measured operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Read,
    Write,
}

impl Operation {
    /// Returns the request body for entry `entry`. Written values always differ, because some
    /// storage skips equal values.
    fn body(self, entry: usize, round: u32) -> String {
        match self {
            Self::Read => format!(r#"{{"action":"read","key":"finding_{entry}"}}"#),
            Self::Write => {
                let value = "Reduced connection pool from 200 to 20. ".repeat(35);
                format!(
                    r#"{{"action":"write","key":"finding_{entry}","value":"{round:08} {value}"}}"#
                )
            }
        }
    }
}

/// A running Worker and its prepared sessions.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) worker: RunningWorker,
    sessions: Vec<Session>,
}

impl Subject {
    /// Creates and fills the sessions of `worker`.
    pub(super) async fn new(worker: RunningWorker) -> Result<Self> {
        let mut client = Client::connect(worker.address).await?;
        let mut sessions = Vec::new();
        for number in 0..CLIENTS {
            let session = worker.create(&mut client, &format!("bench-{number}")).await?;
            for entry in 0..ENTRIES {
                client.ask(&session.request(&Operation::Write.body(entry, 0))).await?;
            }
            sessions.push(session);
        }
        Ok(Self { worker, sessions })
    }

    /// Restarts the Worker.
    pub(super) fn restart(self, results: &mut Results) -> Result<Self> {
        let Self { worker, sessions } = self;
        let (worker, start) = worker.restart()?;
        results.spent("workerd started, µs", None, worker.kind, start);
        Ok(Self { worker, sessions })
    }

    /// Measures the first read of each session after a start.
    pub(super) async fn first_reads(&self, results: &mut Results) -> Result<()> {
        let mut client = Client::connect(self.worker.address).await?;
        for (number, session) in self.sessions.iter().enumerate() {
            let read = session.request(&Operation::Read.body(7, 0));
            let start = Instant::now();
            client.ask(&read).await?;
            let what = if number == 0 {
                "first read after that, µs"
            } else {
                "first read of another session, µs"
            };
            results.spent(what, None, self.worker.kind, start.elapsed());
        }
        Ok(())
    }
}

/// Measures all `subjects` in turn. `on` names the file system of their data, which affects only
/// writes.
pub(super) async fn series(results: &mut Results, subjects: &[Subject], on: &str) -> Result<()> {
    // Measures many clients first, because thousands of requests let the engine compile hot code.
    for operation in [Operation::Read, Operation::Write] {
        for (sessions, are_many) in [("one session", false), ("a session each", true)] {
            let what = match operation {
                Operation::Read => format!("reads a second, {CLIENTS} clients, {sessions}"),
                Operation::Write => format!("writes a second, {CLIENTS} clients, {sessions}, {on}"),
            };
            for subject in subjects {
                let rate = many_clients(subject, operation, are_many).await?;
                results.rate(&what, subject.worker.kind, rate);
            }
        }
    }
    let write = format!("write, {on}, µs");
    for (what, operation) in [("read, µs", Operation::Read), (&*write, Operation::Write)] {
        one_client(subjects, operation, |kind, spent| results.spent(what, Some(GOAL), kind, spent))
            .await?;
    }
    Ok(())
}

/// Reports the time of each request, for one client on one session, to `spent`.
async fn one_client(
    subjects: &[Subject],
    operation: Operation,
    mut spent: impl FnMut(WorkerKind, Duration),
) -> Result<()> {
    let mut clients = Vec::new();
    for subject in subjects {
        let session = subject.sessions.first().context("no session")?;
        let client = Client::connect(subject.worker.address).await?;
        clients.push((subject.worker.kind, session, client));
    }
    for round in 0..ROUNDS {
        for (kind, session, client) in &mut clients {
            for number in 0..WARMING + REQUESTS {
                let request = session.request(&operation.body(7, round * 100 + number));
                let start = Instant::now();
                client.ask(&request).await?;
                let took = start.elapsed();
                if number >= WARMING {
                    spent(*kind, took);
                }
            }
        }
        // Changes the order, so that no Worker always follows the same one.
        clients.rotate_left(1);
    }
    Ok(())
}

/// Returns the requests per second of [`CLIENTS`] clients, on one session or one session each.
async fn many_clients(subject: &Subject, operation: Operation, are_many: bool) -> Result<f64> {
    let mut clients = Vec::new();
    for (number, own) in subject.sessions.iter().enumerate() {
        let first = subject.sessions.first().context("no session")?;
        let session = if are_many { own } else { first };
        let mut client = Client::connect(subject.worker.address).await?;
        // Each client alternates two values.
        let requests = [1, 2].map(|round| session.request(&operation.body(number, round)));
        for request in &requests {
            client.ask(request).await?;
        }
        clients.push((client, requests));
    }
    let start = Instant::now();
    let tasks = clients.into_iter().map(|(mut client, requests)| {
        tokio::spawn(async move {
            let mut count = 0_u32;
            for request in requests.iter().cycle() {
                if start.elapsed() >= PERIOD {
                    break;
                }
                client.ask(request).await?;
                count += 1;
            }
            anyhow::Ok(count)
        })
    });
    let mut count = 0;
    for task in tasks.collect::<Vec<_>>() {
        count += task.await.map_err(|err| anyhow!("a client failed: {err}"))??;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

/// Measures creating sessions. `series` makes their names unique.
pub(super) async fn new_sessions(
    results: &mut Results,
    subjects: &[Subject],
    on: &str,
    series: u32,
) -> Result<()> {
    let mut clients = Vec::new();
    for subject in subjects {
        clients.push(Client::connect(subject.worker.address).await?);
    }
    let [creation, write] = ["creating a session", "first write to a new session"];
    for number in 0..NEW {
        for (subject, client) in subjects.iter().zip(&mut clients) {
            let kind = subject.worker.kind;
            // Reads an existing session first, to warm caches.
            let other = subject.sessions.first().context("no session")?;
            client.ask(&other.request(&Operation::Read.body(7, 0))).await?;
            let start = Instant::now();
            let session = subject.worker.create(client, &format!("new-{series}-{number}")).await?;
            let created = start.elapsed();
            if kind.creates() {
                results.spent(&format!("{creation}, {on}, µs"), None, kind, created);
            }
            let request = session.request(&Operation::Write.body(0, 0));
            let start = Instant::now();
            client.ask(&request).await?;
            let took = start.elapsed();
            results.spent(&format!("{write}, {on}, µs"), None, kind, took);
            results.spent(&format!("both, {on}, µs"), None, kind, created + took);
        }
    }
    Ok(())
}
