//! Many requests that compute for long at once, across a pause of the whole process. The pause does
//! not count as their computing time, so none of them is stopped.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use shared_context_system::{Client, Server, Setup, tell};

/// The session that computes.
const BUSY: &str = "busy";
/// The number of participants that send requests at once.
const CLIENTS: usize = 16;
/// The number of entries that a comparison reads twice.
const KEYS: usize = 6_000;
/// The time that a paused server stays paused: longer than a request may compute.
const PAUSE: Duration = Duration::from_millis(1_500);
/// The time limit for an answer to the other session.
const ANSWER_MAX: Duration = Duration::from_secs(1);

/// Starts a server with a session whose snapshot takes long to compare.
fn prepare(folder: &Path) -> (Server, Vec<Client>) {
    let server = Setup::new(folder).without_rate_limit().start();
    let limits = json!({"keys_max": KEYS, "namespace": {"keys": []}});
    let orchestrator = server.admin().create_session(BUSY, &limits);
    for batch in 0..KEYS / 100 {
        let write = |nth| json!({"key": format!("key_{batch:03}_{nth:02}"), "value": "x"});
        let writes: Vec<_> = (0..100).map(write).collect();
        let request = json!({"action": "write_batch", "writes": writes});
        orchestrator.tool(BUSY, &request).expect(200);
    }
    orchestrator.tool(BUSY, &json!({"action": "snapshot", "label": "all"})).expect(200);
    let agent = |nth| orchestrator.mint(BUSY, &format!("subagent:{nth}"));
    (server, (0..CLIENTS).map(agent).collect())
}

/// Compares the snapshot with the store, and returns how long the answer took.
#[track_caller]
fn compare(agent: &Client) -> Duration {
    let began = Instant::now();
    agent.tool(BUSY, &json!({"action": "diff_snapshots", "from": "all"})).expect(200);
    began.elapsed()
}

/// 16 requests of 80 ms each all failed with 500 on two processors, because the time in
/// which they waited for each other counted as theirs. Another session waited for seconds.
#[test]
fn requests_that_wait_for_each_other_are_all_answered() {
    let folder = tempfile::tempdir().unwrap();
    let (server, agents) = prepare(folder.path());
    let other = server.admin().create_session("other", &json!({}));
    other.write("other", "key", "x").expect(200);
    let alone = compare(&agents[0]);
    let is_over = AtomicBool::new(false);
    let (mut busy, mut others) = thread::scope(|scope| {
        let busy: Vec<_> =
            agents.iter().map(|it| scope.spawn(|| [compare(it), compare(it)])).collect();
        let others = scope.spawn(|| {
            let mut all = Vec::new();
            while !is_over.load(Ordering::SeqCst) {
                let began = Instant::now();
                other.read("other", "key").expect(200);
                all.push(began.elapsed());
            }
            all
        });
        let busy: Vec<_> = busy.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::SeqCst);
        let busy: Vec<_> = busy.into_iter().flat_map(Result::unwrap).collect();
        (busy, others.join().unwrap())
    });
    busy.sort_unstable();
    others.sort_unstable();
    let [median, slowest] = [others.len() / 2, others.len() - 1].map(|it| others[it]);
    tell(&format!(
        "a comparison alone took {alone:.1?}, at most {:.1?} among {CLIENTS} clients; {} reads of \
         another session took {median:.1?} / {slowest:.1?} (p50 / max)",
        busy[busy.len() - 1],
        others.len(),
    ));
    assert!(slowest < ANSWER_MAX, "another session waited for {slowest:?}");
    assert!(!server.log().contains("INTERNAL"), "{}", server.log());
}

/// Whatever ran while the process was stopped for 1.2 s, by a signal or by a laptop that
/// slept, was answered 500: it had used up its second without computing.
#[test]
fn a_server_that_was_paused_answers_what_it_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (server, agents) = prepare(folder.path());
    let alone = compare(&agents[0]);
    thread::scope(|scope| {
        let busy: Vec<_> =
            agents.iter().map(|it| scope.spawn(|| [compare(it), compare(it)])).collect();
        thread::sleep(alone);
        let began = Instant::now();
        server.pause();
        thread::sleep(PAUSE);
        assert!(busy.iter().all(|it| !it.is_finished()), "the pause began too late");
        server.resume();
        assert!(began.elapsed() >= PAUSE);
        for it in busy {
            it.join().unwrap();
        }
    });
    server.assert_alive();
}
