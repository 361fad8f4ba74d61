//! Measuring in turn: short rounds, of one contestant after the other, so that whatever
//! the machine and the disk do meets all of them alike.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::{
    contestant::{Contestant, Session, Who},
    sheet::Sheet,
};
use crate::client::Client;

/// Rounds of one client, of each operation.
const ROUNDS: u32 = 20;
/// Requests in a round.
const REQUESTS: u32 = 20;
/// Requests before them, which find caches cold since another was measured.
const WARMING: u32 = 2;
/// How long many clients ask.
const PERIOD: Duration = Duration::from_millis(500);
/// New sessions.
const NEW: u32 = 16;
/// What ours may take, in times of plain.
const GOAL: f64 = 1.3;

/// How many sessions are asked at once, or how many ask one.
pub(super) const CLIENTS: usize = 16;
/// How many entries each session has.
pub(super) const ENTRIES: usize = 20;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Read,
    Write,
}

impl Operation {
    /// Returns the body of its request, about entry `entry`. What is written is always another
    /// value: some storage does nothing for the same.
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

/// A contestant and the sessions that are there to be asked.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) contestant: Contestant,
    sessions: Vec<Session>,
}

impl Place {
    /// Makes the sessions of `contestant`, and fills them.
    pub(super) async fn new(contestant: Contestant) -> Result<Self> {
        let mut client = Client::connect(contestant.address).await?;
        let mut sessions = Vec::new();
        for number in 0..CLIENTS {
            let session = contestant.create(&mut client, &format!("bench-{number}")).await?;
            for entry in 0..ENTRIES {
                client.ask(&session.request(&Operation::Write.body(entry, 0))).await?;
            }
            sessions.push(session);
        }
        Ok(Self { contestant, sessions })
    }

    /// Stops the contestant and starts it anew.
    pub(super) fn restart(self, sheet: &mut Sheet) -> Result<Self> {
        let Self { contestant, sessions } = self;
        let (contestant, start) = contestant.restart()?;
        sheet.spent("workerd started, µs", None, contestant.who, start);
        Ok(Self { contestant, sessions })
    }

    /// The first reads after a start, each of a session.
    pub(super) async fn first_reads(&self, sheet: &mut Sheet) -> Result<()> {
        let mut client = Client::connect(self.contestant.address).await?;
        for (number, session) in self.sessions.iter().enumerate() {
            let read = session.request(&Operation::Read.body(7, 0));
            let start = Instant::now();
            client.ask(&read).await?;
            let what = if number == 0 {
                "first read after that, µs"
            } else {
                "first read of another session, µs"
            };
            sheet.spent(what, None, self.contestant.who, start.elapsed());
        }
        Ok(())
    }
}

/// Measures all `places`, which keep their data on a file system called `on`, in turn.
/// Reads do not depend on it.
pub(super) async fn series(sheet: &mut Sheet, places: &[Place], on: &str) -> Result<()> {
    // Many first: thousands of requests, by which what is run often has been compiled well.
    for operation in [Operation::Read, Operation::Write] {
        for (sessions, are_many) in [("one session", false), ("a session each", true)] {
            let what = match operation {
                Operation::Read => format!("reads a second, {CLIENTS} clients, {sessions}"),
                Operation::Write => format!("writes a second, {CLIENTS} clients, {sessions}, {on}"),
            };
            for place in places {
                let rate = many_clients(place, operation, are_many).await?;
                sheet.rate(&what, place.contestant.who, rate);
            }
        }
    }
    let write = format!("write, {on}, µs");
    for (what, operation) in [("read, µs", Operation::Read), (&*write, Operation::Write)] {
        one_client(places, operation, |who, spent| sheet.spent(what, Some(GOAL), who, spent))
            .await?;
    }
    Ok(())
}

/// Tells how long each request took, one client on one session.
async fn one_client(
    places: &[Place],
    operation: Operation,
    mut spent: impl FnMut(Who, Duration),
) -> Result<()> {
    let mut clients = Vec::new();
    for place in places {
        let session = place.sessions.first().context("no session")?;
        let client = Client::connect(place.contestant.address).await?;
        clients.push((place.contestant.who, session, client));
    }
    for round in 0..ROUNDS {
        for (who, session, client) in &mut clients {
            for number in 0..WARMING + REQUESTS {
                let request = session.request(&operation.body(7, round * 100 + number));
                let start = Instant::now();
                client.ask(&request).await?;
                let took = start.elapsed();
                if number >= WARMING {
                    spent(*who, took);
                }
            }
        }
        // Who comes after whom differs.
        clients.rotate_left(1);
    }
    Ok(())
}

/// Requests a second by [`CLIENTS`] clients, on one session or on as many.
async fn many_clients(place: &Place, operation: Operation, are_many: bool) -> Result<f64> {
    let mut clients = Vec::new();
    for (number, own) in place.sessions.iter().enumerate() {
        let first = place.sessions.first().context("no session")?;
        let session = if are_many { own } else { first };
        let mut client = Client::connect(place.contestant.address).await?;
        // Each writes two values by turns.
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

/// Measures what a session costs that was not there. `series` makes names new.
pub(super) async fn new_sessions(
    sheet: &mut Sheet,
    places: &[Place],
    on: &str,
    series: u32,
) -> Result<()> {
    let mut clients = Vec::new();
    for place in places {
        clients.push(Client::connect(place.contestant.address).await?);
    }
    let [creation, write] = ["creating a session", "first write to a new session"];
    for number in 0..NEW {
        for (place, client) in places.iter().zip(&mut clients) {
            let who = place.contestant.who;
            // One that is there already: what comes next finds caches warm.
            let other = place.sessions.first().context("no session")?;
            client.ask(&other.request(&Operation::Read.body(7, 0))).await?;
            let start = Instant::now();
            let session =
                place.contestant.create(client, &format!("new-{series}-{number}")).await?;
            let created = start.elapsed();
            if who.creates() {
                sheet.spent(&format!("{creation}, {on}, µs"), None, who, created);
            }
            let request = session.request(&Operation::Write.body(0, 0));
            let start = Instant::now();
            client.ask(&request).await?;
            let took = start.elapsed();
            sheet.spent(&format!("{write}, {on}, µs"), None, who, took);
            sheet.spent(&format!("both, {on}, µs"), None, who, created + took);
        }
    }
    Ok(())
}
