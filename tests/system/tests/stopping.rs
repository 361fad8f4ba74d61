//! Stopping a server as an operator or a supervisor does: with `SIGTERM`, in the
//! middle of everything.

use std::{
    fs,
    sync::mpsc,
    time::{Duration, Instant},
};

use serde_json::json;
use shared_context_system::{
    Server, Setup,
    raw::{Connection, request},
    writers::{self, Account, Writer},
};

/// A deployment restarts the server while 64 agents write. What was acknowledged
/// is stored; and what was not acknowledged is not: no request is cut off
/// between its commit and its answer.
#[test]
fn stopping_during_64_writers_answers_every_committed_write() {
    let folder = tempfile::tempdir().unwrap();
    let sessions: Vec<_> = (0..16).map(|nth| format!("session-{nth}")).collect();
    let mut server = Server::start(folder.path());
    let admin = server.admin();
    let writers: Vec<_> = sessions
        .iter()
        .flat_map(|session| {
            let orchestrator = admin.create_session(session, &json!({}));
            (0..4).map(move |nth| Writer::new(&orchestrator, session, nth, 3))
        })
        .collect();
    let mut account = Account::default();
    for round in 0..3 {
        let (told, acknowledged) = mpsc::channel();
        let url = server.url().to_owned();
        let stop = || {
            assert_eq!(acknowledged.iter().take(500).count(), 500);
            let log = server.stop();
            assert!(log.contains("stop"), "it does not say that it stopped: {log}");
        };
        let (writes, ()) = writers::run(&url, &writers, round, 200, told, stop);
        assert!(!folder.path().join("server.json").exists(), "it says that it still answers");
        let log = folder.path().join("shared-context.db-wal");
        assert!(fs::metadata(log).is_err(), "the database was not closed");
        server = Server::start(folder.path());
        account.check(&server.admin(), &sessions, &writes);
    }
    let figures = account.figures();
    assert_eq!(figures.in_doubt_stored, 0, "{figures:?}");
    assert!(figures.acknowledged >= 1500, "{figures:?}");
}

/// Agents keep connections open, and some hang in the middle of a request. A
/// supervisor that waits for the server to end must not have to kill it.
#[test]
fn clients_that_hang_do_not_keep_a_server_from_stopping() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut idle = Connection::open(&server);
    idle.send(request("GET /healthz HTTP/1.1", &[], ""));
    assert_eq!(idle.answer().unwrap().status, 200);
    let mut half_head = Connection::open(&server);
    half_head.send("POST /v1/sessions HTTP/1.1\r\nHost: loc");
    let mut half_body = Connection::open(&server);
    half_body.send("POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
    let silent = Connection::open(&server);
    server.assert_alive();
    let asked = Instant::now();
    server.stop();
    assert!(asked.elapsed() < Duration::from_secs(15), "{:?}", asked.elapsed());
    assert!(idle.is_closed());
    drop((half_head, half_body, silent));
}

/// The terminal's way to stop, and a second request to stop while stopping.
#[test]
fn an_idle_server_stops_at_once_however_often_it_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    drop(server.admin().create_session("a", &json!({})));
    server.interrupt();
    server.ask_to_stop();
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    assert_eq!(Server::start(folder.path()).admin().get("/v1/sessions/a").status, 200);
}

/// `shared-context serve 2>&1 | head`: the reader of the log has seen enough and
/// goes. Agents must not notice, least of all by changes that are made and then
/// not answered.
#[test]
fn a_server_whose_log_nobody_reads_serves_on_and_stops_well() {
    let folder = tempfile::tempdir().unwrap();
    let server = Setup::new(folder.path()).unheard().start();
    let orchestrator = server.admin().create_session("a", &json!({}));
    for nth in 1..=10 {
        assert_eq!(orchestrator.write("a", "key", "x").expect(200)["version"], nth);
    }
    server.stop();
}
