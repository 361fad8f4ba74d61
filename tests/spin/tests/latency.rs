//! Measures the latency of one client on a kept-alive connection.
//!
//! The figures are printed; only one thing is asserted: no stall of 40 ms. A body that is
//! sent separately from its head arrives so much later on such a connection (Nagle's
//! algorithm and delayed acknowledgements), on any machine. So the bound is generous.

#![expect(clippy::unwrap_used, reason = "a test: an unexpected result fails it")]

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::ExitCode,
    time::{Duration, Instant},
};

use serde_json::json;
use shared_context_spin_tests::{
    Times,
    suite::{self, Test, TestHost},
};
use shared_context_system::{Client, raw, tell};

/// Half of the stall that must not occur.
const MEDIAN_MAX: Duration = Duration::from_millis(20);
const REQUESTS: usize = 200;

fn main() -> ExitCode {
    suite::main(&[
        Test::anywhere("a_kept_connection_does_not_stall", kept_connection),
        Test::anywhere("head_and_body_arrive_in_one_piece", one_piece),
    ])
}

fn kept_connection(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let orchestrator = app.admin().create_session("a", &json!({}));
    orchestrator.write("a", "scope", "x").expect(200);
    let stranger = app.stranger();
    let timed = |what: &str, ask: &dyn Fn(usize)| {
        let time = |nth| {
            let start = Instant::now();
            ask(nth);
            start.elapsed()
        };
        let times: Times = (0..REQUESTS).map(time).collect();
        tell(&format!("{what}: {times}"));
        times.percentile(50)
    };
    let check_no_stall = |what: &str, ask: &dyn Fn(usize)| {
        let p50 = timed(what, ask);
        assert!(p50 < MEDIAN_MAX, "{what}: half of all take {p50:?}, as if a packet waited 40 ms");
    };
    check_no_stall("/healthz", &|_| drop(stranger.get("/healthz").expect(200)));
    check_no_stall("read", &|_| drop(orchestrator.read("a", "scope").expect(200)));
    check_no_stall("a rejection", &|_| {
        drop(stranger.read("a", "scope").refused(401, "UNAUTHENTICATED"));
    });
    // Writes take as long as the disk, so they have no bound.
    timed("write", &|nth| drop(orchestrator.write("a", "scope", &nth.to_string()).expect(200)));
    // This value does not fit into one packet.
    orchestrator.write("a", "scope", &"x".repeat(4_000)).expect(200);
    check_no_stall("read of 4 kB", &|_| drop(orchestrator.read("a", "scope").expect(200)));
}

/// Checks that short bodies arrive with the first bytes of the answer, on one connection.
fn one_piece(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let orchestrator = app.admin().create_session("a", &json!({}));
    orchestrator.write("a", "scope", "x").expect(200);
    let mut stream = TcpStream::connect(app.address()).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let body = r#"{"action":"read","key":"scope"}"#;
    let lines = [
        ("GET /healthz HTTP/1.1", ""),
        ("POST /v1/sessions/a/shared_context HTTP/1.1", body),
        ("GET /v1/sessions/a/entries HTTP/1.1", ""),
        ("GET /nowhere HTTP/1.1", ""),
        ("GET /openapi.json HTTP/1.1", ""),
    ];
    for (line, body) in lines.into_iter().cycle().take(20) {
        stream.write_all(&request(&orchestrator, line, body)).unwrap();
        let mut piece = vec![0; 64 << 10];
        let count = stream.read(&mut piece).unwrap();
        let piece = String::from_utf8_lossy(piece.get(..count).unwrap()).into_owned();
        let (head, body) = piece.split_once("\r\n\r\n").unwrap();
        let length = head.to_ascii_lowercase();
        let length = length.split_once("content-length: ").unwrap().1;
        let length: usize = length.lines().next().unwrap().parse().unwrap();
        // A body longer than a packet may arrive in several pieces.
        if length < 1_000 {
            assert_eq!(body.len(), length, "{line}: the body came later: {piece}");
        } else {
            assert!(!body.is_empty(), "{line}: the body came later: {piece}");
            let mut rest = vec![0; length - body.len()];
            stream.read_exact(&mut rest).unwrap();
        }
    }
}

fn request(client: &Client, line: &str, body: &str) -> Vec<u8> {
    let credential = format!("Bearer {}", client.credential());
    let headers = [("authorization", &*credential), ("content-type", "application/json")];
    raw::request(line, &headers, body)
}
