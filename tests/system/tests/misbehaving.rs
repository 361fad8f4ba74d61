//! One session that does all it can to make the server unavailable to others: streams by the
//! thousand, large answers that are not read, and requests that take long to compute, all at once
//! and all within the limits of each participant. The effect on the others is small, memory stays
//! bounded, and nothing fails.
//!
//! A table of the full size, on a quiet machine with `ulimit -n 20000`:
//! `SHARED_CONTEXT_FLOOD=full cargo test --release -p shared-context-system --test \
//! misbehaving -- --nocapture`. Only then are the figures compared with limits.

use std::{
    env,
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    thread,
    time::Duration,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use shared_context_system::{
    Client, Server,
    flood::{self, Flood, Measured},
    tell,
};

/// The session that misbehaves.
const WILD: &str = "wild";
/// The number of streams of each participant, within the default limits.
const STREAMS: usize = 64;
/// The pause of well-behaved clients between requests: they keep to their rate.
const PAUSE: Duration = Duration::from_millis(10);
/// The pause of a rejected client before it sends again: less than it should be. Without a pause
/// the figures would only show how fast this machine rejects.
const REFUSED: Duration = Duration::from_secs(2);
/// The time in which memory must be released.
const SETTLE: Duration = Duration::from_secs(5);

fn is_full() -> bool {
    env::var("SHARED_CONTEXT_FLOOD").is_ok_and(|it| it == "full")
}

/// `full`, or a tenth of it.
fn size(full: usize) -> usize {
    if is_full() { full } else { full / 10 }
}

/// An orchestrator with 66 subagents held all 4,096 connections. 500 answers that were not read
/// took 1.9 GB. 16 requests that computed for long made all of them fail, and requests of other
/// sessions waited for seconds.
#[test]
fn one_session_does_all_it_can_and_the_others_notice_little() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let agents = prepare(&server);
    let attack = |flood: &Flood| {
        thread::scope(|scope| {
            let streams = agents.iter().map(|it| scope.spawn(|| hold_streams(it, flood)));
            let streams: Vec<_> = streams.collect();
            for it in agents.iter().take(8) {
                scope.spawn(|| leave_unread(it, size(500) / 8 + 1, flood));
            }
            for it in agents.iter().cycle().take(16) {
                scope.spawn(|| compute(it, flood));
            }
            // Its full strength is reached when all have what they can get.
            thread::sleep(Duration::from_secs(if is_full() { 10 } else { 2 }));
            flood.stands();
            drop(streams);
        });
    };
    let name = "one session misbehaves";
    let measured = flood::measure(name, &server, (size(1_000), PAUSE), attack);
    thread::sleep(SETTLE);
    let settled = flood::memory_mb(&server);
    tell(&table(&measured, settled));
    assert_eq!(measured.statuses.get(&500), None, "{measured}");
    assert!(!server.log().contains("INTERNAL"), "{}", server.log());
    if is_full() {
        let [quiet, flooded] = [&measured.quiet, &measured.flooded].map(|it| it.at(99));
        assert!(flooded <= quiet * 3, "{measured}");
        assert!(measured.memory[1] < 256, "{measured}");
    }
}

/// Returns the participants of the session, in which there is much to read and to compute.
fn prepare(server: &Server) -> Vec<Client> {
    let keys = size(5_500);
    let limits = json!({"keys_max": keys, "namespace": {"keys": []}});
    let orchestrator = server.admin().create_session(WILD, &limits);
    for batch in 0..keys / 100 {
        let key = |nth| format!("a_key_with_a_name_as_long_as_it_may_be_{batch:03}_{nth:02}");
        let writes: Vec<_> = (0..100).map(|nth| json!({"key": key(nth), "value": "x"})).collect();
        let request = json!({"action": "write_batch", "writes": writes});
        orchestrator.tool(WILD, &request).expect(200);
    }
    orchestrator.tool(WILD, &json!({"action": "snapshot", "label": "before"})).expect(200);
    (0..size(66)).map(|nth| orchestrator.mint(WILD, &format!("subagent:{nth}"))).collect()
}

/// Opens as many streams as the agent may have, reads none, and opens those anew that
/// end.
fn hold_streams(agent: &Client, flood: &Flood) {
    let head = head(agent, "changes", "text/event-stream");
    let mut streams: Vec<Option<TcpStream>> = (0..STREAMS).map(|_| None).collect();
    while !flood.is_over() {
        for stream in &mut streams {
            if stream.as_mut().is_none_or(is_closed) {
                *stream = open(agent, &head, flood);
            }
        }
        thread::sleep(REFUSED);
    }
}

/// Asks for large answers, about 30 times a second with the others, and leaves `count` of
/// them unread.
fn leave_unread(agent: &Client, count: usize, flood: &Flood) {
    let head = head(agent, "entries", "application/json");
    let mut unread = Vec::new();
    while !flood.is_over() {
        unread.extend(open(agent, &head, flood));
        if unread.len() > count {
            unread.remove(0);
        }
        thread::sleep(Duration::from_millis(250));
    }
}

/// Has something computed that takes long and has a short request, again and again.
fn compute(agent: &Client, flood: &Flood) {
    let request = json!({"action": "diff_snapshots", "from": "before"});
    while !flood.is_over() {
        match agent.try_tool(WILD, &request) {
            Ok(answer) if answer.status == 200 => flood.answered(200),
            Ok(answer) => {
                flood.answered(answer.status);
                thread::sleep(REFUSED / 10);
            }
            // Its connection gave way.
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Returns a request of `agent` for a part of its session.
fn head(agent: &Client, part: &str, accept: &str) -> Vec<u8> {
    let credential = agent.credential();
    format!(
        "GET /v1/sessions/{WILD}/{part} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\
         Authorization: Bearer {credential}\r\n\r\n"
    )
    .into_bytes()
}

/// Opens a connection, sends `head` and reads the status, and no more. `None` when it is
/// not 200.
fn open(agent: &Client, head: &[u8], flood: &Flood) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(agent.address()).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    stream.write_all(head).ok()?;
    let mut line = [0; 12];
    stream.read_exact(&mut line).ok()?;
    let status = str::from_utf8(line.get(9..)?).ok()?.parse().ok()?;
    flood.answered(status);
    stream.set_nonblocking(true).ok()?;
    (status == 200).then_some(stream)
}

/// Returns whether the server ended the stream. What it sent so far is read, as little as can be.
fn is_closed(stream: &mut TcpStream) -> bool {
    let mut few = [0; 64];
    match stream.read(&mut few) {
        Ok(count) => count == 0 || few.windows(5).any(|it| it == b"0\r\n\r\n"),
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

fn table(measured: &Measured, settled: u64) -> String {
    let Measured { quiet, flooded, operator, statuses, memory: [before, peak, after], .. } =
        measured;
    let ratio = flooded.at(99).as_secs_f64() / quiet.at(99).as_secs_f64();
    format!(
        "                 p50 / p99 of others     of the operator\n\
         quiet            {quiet}\n\
         under attack     {flooded}         {operator}\n\
         p99 ratio        {ratio:.1}\n\
         RSS              {before} MB before, {peak} MB at most, {after} MB after, \
         {settled} MB after {} s\n\
         statuses         {statuses:?}",
        SETTLE.as_secs()
    )
}
