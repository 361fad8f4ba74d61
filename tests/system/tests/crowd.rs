//! Many at once: on one session, and with connections that do nothing.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use shared_context_system::{
    Server, Setup,
    raw::{Connection, request},
    tell,
    writers::{self, Account, Writer},
};

/// Everyone wants to write to the same two keys of the same session. Optimistic
/// commits without turns would let a few win and the others retry until they
/// give up.
#[test]
fn of_256_writers_on_one_session_each_gets_its_turn() {
    const WRITERS: usize = 256;
    const WRITES: usize = 3;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let orchestrator = server.admin().create_session("crowd", &json!({}));
    let writers: Vec<_> =
        (0..WRITERS).map(|nth| Writer::new(&orchestrator, "crowd", nth, 2)).collect();
    let (told, _counted) = mpsc::channel();
    let started = Instant::now();
    let (writes, ()) = writers::run(server.url(), &writers, 0, WRITES, told, || {});
    let took = started.elapsed();
    assert_eq!(writes.len(), WRITERS * WRITES);
    let mut account = Account::default();
    account.check(&server.admin(), &["crowd".to_owned()], &writes);
    let figures = account.figures();
    // The third write depends on a version, and may have come too late.
    assert_eq!(figures.in_doubt, 0, "{figures:?}");
    assert_eq!(figures.acknowledged + figures.refused, WRITERS * WRITES, "{figures:?}");
    assert!(figures.acknowledged >= WRITERS * (WRITES - 1), "{figures:?}");
    let mut latencies: Vec<Duration> = writes.iter().map(writers::Write::took).collect();
    latencies.sort();
    let (median, max) = (latencies[latencies.len() / 2], latencies[latencies.len() - 1]);
    tell(&format!(
        "{WRITERS} writers on one session: {} acknowledged, {} refused for their version, \
         {took:.1?} in all, answers after {median:.0?} in the median and {max:.0?} at most",
        figures.acknowledged, figures.refused,
    ));
    // First come, first served: no writer waits much longer than for one write of each other.
    assert!(max < median * 10 + Duration::from_secs(1), "{median:?}, {max:?}");
    assert!(!server.log().contains("conflicts"), "{}", server.log());
}

/// An operator deletes a session and creates it anew while its agents write: what
/// was under way belongs to the old one, and must not turn up in the new.
#[test]
fn no_write_of_a_deleted_session_lands_in_the_next_of_its_id() {
    let folder = tempfile::tempdir().unwrap();
    let server = Setup::new(folder.path()).without_rate_limit().start();
    let admin = server.admin();
    let mut orchestrator = admin.create_session("a", &json!({}));
    let mut revision = 1;
    for _ in 0..20 {
        let (told, written) = mpsc::channel();
        let next = thread::scope(|scope| {
            for nth in 0..8 {
                let (told, agent) =
                    (told.clone(), orchestrator.mint("a", &format!("subagent:{nth}")));
                scope.spawn(move || {
                    let refused = loop {
                        let answer = agent.write("a", &format!("key_{nth}"), "old");
                        if answer.status != 200 {
                            break answer;
                        }
                        let _ = told.send(());
                    };
                    assert!(matches!(refused.status, 401 | 404), "{}", refused.text);
                });
            }
            drop(told);
            assert_eq!(written.iter().take(20).count(), 20);
            admin.send("DELETE", "/v1/sessions/a", None).expect(200);
            admin.create_session("a", &json!({}))
        });
        let session = admin.get("/v1/sessions/a").expect(200);
        assert_eq!(session["key_count"], 0, "{session}");
        assert_eq!(session["revision"], session["incarnation"], "{session}");
        let newer = session["revision"].as_u64().unwrap();
        assert!(newer >= revision + 22, "{newer} after {revision}");
        (orchestrator, revision) = (next, newer);
    }
}

/// Agents keep their connections while they think.
#[test]
fn a_thousand_idle_connections_do_not_stop_others() {
    const IDLE: usize = 1000;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let orchestrator = server.admin().create_session("a", &json!({}));
    let idle: Vec<_> = (0..IDLE)
        .map(|nth| {
            let mut connection = Connection::open(&server);
            // Some were used before, some never.
            if nth % 2 == 0 {
                connection.send(request("GET /healthz HTTP/1.1", &[], ""));
                assert_eq!(connection.answer().unwrap().status, 200, "connection {nth}");
            }
            connection
        })
        .collect();
    let started = Instant::now();
    for nth in 0..50 {
        // A new connection each time.
        let client = server.admin().with_credential(orchestrator.credential());
        client.write("a", "key", &nth.to_string()).expect(200);
        assert_eq!(client.read("a", "key").expect(200)["version"], nth + 1);
    }
    let took = started.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    server.assert_alive();
    drop(idle);
}

/// One agent in a loop is asked to slow down; the others notice nothing.
#[test]
fn an_agent_in_a_loop_is_held_back_and_the_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let server = Setup::new(folder.path()).arguments(&["--rate", "1"]).start();
    let orchestrator = server.admin().create_session("a", &json!({}));
    let (wild, calm) = (orchestrator.mint("a", "subagent:wild"), server.admin());
    wild.write("a", "key", "1").expect(200);
    let refused = (0..100).map(|_| wild.read("a", "key")).find(|it| it.status != 200).unwrap();
    refused.refused(429, "RATE_LIMITED");
    assert!(refused.headers.contains_key("retry-after"), "{:?}", refused.headers);
    // A new credential per request does not help either.
    assert_eq!(wild.write("a", "key", "2").status, 429);
    assert_eq!(calm.read("a", "key").expect(200)["value"], "1");
}

/// More clients connect than the system allows connections for a process. Connected clients are
/// served, and the others when a connection is free again.
#[test]
fn a_server_that_may_open_no_more_files_serves_whom_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let server = Setup::new(folder.path()).open_files_max(40).start();
    let orchestrator = server.admin().create_session("a", &json!({}));
    orchestrator.write("a", "key", "x").expect(200);
    let crowd: Vec<_> = (0..60).map(|_| Connection::open(&server)).collect();
    for nth in 2..=20 {
        assert_eq!(orchestrator.write("a", "key", "x").expect(200)["version"], nth);
        assert_eq!(orchestrator.read("a", "key").expect(200)["version"], nth);
    }
    drop(crowd);
    server.assert_alive();
    assert!(server.log().contains("open files"), "the operator is not told: {}", server.log());
}
