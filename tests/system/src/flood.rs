//! Measures the effect of a flood on a server and its well-behaved clients: memory, and the times
//! of answers, on a quiet server and under the flood, in one run.
//!
//! Invariant: a flood has its full strength during the measurement, and ends with it.

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::Write as _,
    net::TcpStream,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{Client, Server};

/// The interval between two measurements of memory.
const LOOK: Duration = Duration::from_millis(20);
/// The number of well-behaved clients.
const CALM: usize = 4;
/// The most retries of a well-behaved client after a rejection.
const TRIES_MAX: usize = 20;

/// A running flood. Its clients check here if they must end.
#[derive(Debug, Default)]
pub struct Flood {
    stands: AtomicBool,
    is_over: AtomicBool,
    statuses: Mutex<BTreeMap<u16, usize>>,
}

impl Flood {
    /// Says that it has its full strength.
    pub fn stands(&self) {
        self.stands.store(true, Ordering::SeqCst);
    }

    /// Returns whether it is to end.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Counts a flooding request that was answered with `status`.
    pub fn answered(&self, status: u16) {
        *self.statuses.lock().unwrap().entry(status).or_default() += 1;
    }
}

/// The results of a measurement.
#[derive(Debug)]
pub struct Measured {
    /// The name of the flood.
    pub name: String,
    /// The times of well-behaved clients on the quiet server.
    pub quiet: Times,
    /// The times of well-behaved clients under the flood.
    pub flooded: Times,
    /// The times of the operator under the flood, each over a new connection.
    pub operator: Times,
    /// The number of the flood's answers by status, as far as it read them.
    pub statuses: BTreeMap<u16, usize>,
    /// Resident memory before, at most, and after, in MB.
    pub memory: [u64; 3],
}

/// The times of answers.
#[derive(Debug, Clone)]
pub struct Times {
    sorted: Vec<Duration>,
    /// The number of retries after a rejection or a lost connection.
    pub again: usize,
}

impl Times {
    /// Returns that which `percent` of all are not above.
    pub fn at(&self, percent: usize) -> Duration {
        self.sorted[(self.sorted.len() - 1) * percent / 100]
    }
}

/// Lets `requests` be made by each of some who behave, who rest for `pause` after each,
/// first on the quiet `server` and then while `attack` goes on, which is also when the
/// operator asks.
pub fn measure(
    name: &str,
    server: &Server,
    (requests, pause): (usize, Duration),
    attack: impl FnOnce(&Flood) + Send,
) -> Measured {
    let session = format!("calm-{}", name.replace(' ', "-"));
    let orchestrator = server.admin().create_session(&session, &json!({}));
    let calm: Vec<_> =
        (0..CALM).map(|nth| orchestrator.mint(&session, &format!("subagent:{nth}"))).collect();
    let quiet = times(&calm, &session, (requests, pause));
    let before = memory_mb(server);
    let flood = Flood::default();
    let is_measured = AtomicBool::new(false);
    let (flooded, operator, peak) = thread::scope(|scope| {
        let peak = scope.spawn(|| {
            let mut peak = 0;
            while !is_measured.load(Ordering::SeqCst) {
                peak = peak.max(memory_mb(server));
                thread::sleep(LOOK);
            }
            peak
        });
        let attacking = scope.spawn(|| attack(&flood));
        while !flood.stands.load(Ordering::SeqCst) {
            assert!(!attacking.is_finished(), "{name}: the flood ended before it stood");
            thread::sleep(LOOK);
        }
        let operator = scope.spawn(|| operators_times(server, (requests / 4 + 1, pause)));
        let flooded = times(&calm, &session, (requests, pause));
        let operator = operator.join().unwrap();
        flood.is_over.store(true, Ordering::SeqCst);
        attacking.join().unwrap();
        is_measured.store(true, Ordering::SeqCst);
        (flooded, operator, peak.join().unwrap())
    });
    server.assert_alive();
    let memory = [before, peak, memory_mb(server)];
    let statuses = flood.statuses.into_inner().unwrap();
    Measured { name: name.to_owned(), quiet, flooded, operator, statuses, memory }
}

/// Returns what each of `clients` waits for its answers, all at once.
fn times(clients: &[Client], session: &str, (requests, pause): (usize, Duration)) -> Times {
    let all = thread::scope(|scope| {
        let threads: Vec<_> = clients
            .iter()
            .enumerate()
            .map(|(nth, client)| {
                scope.spawn(move || {
                    let key = format!("key_{nth}");
                    let write = json!({"action": "write", "key": key, "value": "calm"});
                    let read = json!({"action": "read", "key": key});
                    let turns = (0..requests).map(|it| if it % 4 == 0 { &write } else { &read });
                    turns
                        .map(|it| {
                            thread::sleep(pause);
                            answered(|| client.try_tool(session, it).ok().map(|it| it.status))
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    sorted(all)
}

/// Returns what the operator waits, who connects anew each time.
fn operators_times(server: &Server, (requests, pause): (usize, Duration)) -> Times {
    let ask = |_| {
        thread::sleep(pause);
        let path = "/v1/sessions?limit=1";
        answered(|| server.admin().try_send("GET", path, &[], None).ok().map(|it| it.status))
    };
    sorted((0..requests).map(ask).collect())
}

/// Returns how long it takes until `ask` is answered, and how often it had to be asked again.
fn answered(ask: impl Fn() -> Option<u16>) -> (Duration, usize) {
    let began = Instant::now();
    for again in 0..TRIES_MAX {
        match ask() {
            Some(200) => return (began.elapsed(), again),
            // Its connection gave way to another, or there was no room: as a client
            // does that knows what it does, it tries again.
            None | Some(503) => {}
            Some(status) => panic!("refused with {status}"),
        }
    }
    panic!("tried {TRIES_MAX} times, for {:?}", began.elapsed());
}

fn sorted(all: Vec<(Duration, usize)>) -> Times {
    let again = all.iter().map(|it| it.1).sum();
    let mut sorted: Vec<_> = all.into_iter().map(|it| it.0).collect();
    sorted.sort_unstable();
    Times { sorted, again }
}

/// Returns the resident memory of `server`, in MB.
pub fn memory_mb(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).unwrap();
    line.trim().split(' ').next().unwrap().parse::<u64>().unwrap() / 1024
}

/// Opens `count` connections to `server`, as far as it takes them, and sends each
/// `first`.
pub fn connect(server: &Server, count: usize, first: &[u8]) -> Vec<TcpStream> {
    let open = |_| {
        let mut stream = TcpStream::connect(server.address()).ok()?;
        stream.write_all(first).ok()?;
        stream.set_nonblocking(true).ok()?;
        Some(stream)
    };
    (0..count).filter_map(open).collect()
}

/// Sends one byte more over each of `streams`; those that were closed are opened anew
/// and begin with `first`.
pub fn drip(server: &Server, streams: &mut [TcpStream], first: &[u8]) {
    for stream in streams {
        if stream.write_all(b"a").is_err()
            && let Some(new) = connect(server, 1, first).pop()
        {
            *stream = new;
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1?} / {:.1?}", self.at(50), self.at(99))?;
        if self.again > 0 { write!(f, " ({} again)", self.again) } else { Ok(()) }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, quiet, flooded, operator, statuses, memory } = self;
        let [before, peak, after] = memory;
        write!(
            f,
            "{name}: {before} → {peak} → {after} MB; p50 / p99 quiet {quiet}, flooded {flooded}; \
             operator, new connections {operator}; statuses of the flood {statuses:?}"
        )
    }
}
