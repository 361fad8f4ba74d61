//! Tests large inputs: sessions of the maximum size, bodies that are too long, and bodies
//! that do not arrive.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: an unexpected result fails it"
)]

use std::{
    collections::BTreeSet,
    io::{Read as _, Write as _},
    net::TcpStream,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_context_spin_tests::{
    Over,
    suite::{self, Test, TestHost},
};
use shared_context_system::{Client, raw, raw::Connection, tell};

/// The maximum length of a session's document in bytes.
const DOCUMENT_BYTES_MAX: usize = 16 << 20;
/// The number of keys: small enough to leave room for a snapshot.
const KEYS: usize = 3_000;
/// The time after which an idle client must have been given up: 30 seconds and a margin.
const GIVEN_UP: Duration = Duration::from_secs(35);

fn main() -> ExitCode {
    suite::main(&[
        Test::anywhere("the_largest_session_is_exported_and_imported", over_sqlite),
        Test::anywhere("the_same_works_over_the_key_value_store", over_key_value),
        Test::anywhere("a_too_long_body_is_rejected_and_the_next_request_works", too_long),
        Test::anywhere("expect_100_continue_is_answered_with_100", expect_continue),
        Test::anywhere("a_thousand_sessions_are_listed", many_sessions),
        Test::anywhere("an_incomplete_body_changes_nothing", cut_off),
        Test::anywhere("a_client_that_stops_sending_is_given_up", stalled),
    ])
}

/// Returns a key of the maximum length.
fn long_key(nth: usize) -> String {
    format!("k{nth:05}_{}", "x".repeat(57))
}

fn over_sqlite(host: &TestHost) {
    check(host, Over::Sqlite);
}

fn over_key_value(host: &TestHost) {
    check(host, Over::KeyValue);
}

fn check(host: &TestHost, over: Over) {
    let folder = tempfile::tempdir().unwrap();
    let app = host.start(&host.setup(over, &folder));
    let admin = app.admin();
    let config = json!({
        "keys_max": KEYS, "store_tokens_max": 1_000_000, "namespace": {"keys": []},
        "history_bytes_max": 1 << 24,
    });
    let orchestrator = admin.create_session("a", &config);
    let writer = orchestrator.mint("a", &format!("subagent:{}", "w".repeat(50)));
    // Each character has 4 bytes, and 4 characters are a token. No two values are equal.
    let value = |nth: usize| format!("{nth:05}{}", "🦀".repeat(270));
    let began = Instant::now();
    for batch in 0..KEYS / 100 {
        let write = |nth| json!({"key": long_key(nth), "value": value(nth)});
        let writes: Vec<_> = (batch * 100..batch * 100 + 100).map(write).collect();
        writer.tool("a", &json!({"action": "write_batch", "writes": writes})).expect(200);
    }
    let mut durations = vec![format!("100 batches {:.1?}", began.elapsed())];
    let timed_in = |session: &str, what: &str, client: &Client, request: Value| {
        let began = Instant::now();
        client.tool(session, &request).expect(200);
        format!("{what} {:.1?}", began.elapsed())
    };
    let timed = |what, client, request| timed_in("a", what, client, request);
    durations.push(timed("list_keys", &orchestrator, json!({"action": "list_keys"})));
    let read = json!({"action": "read", "key": long_key(77)});
    durations.push(timed("read", &orchestrator, read));
    let write = json!({"action": "write", "key": long_key(77), "value": value(77)});
    durations.push(timed("overwrite", &writer, write));

    let began = Instant::now();
    let exported = admin.get("/v1/sessions/a/export");
    assert_eq!(exported.status, 200, "{}", exported.text);
    let document = exported.text;
    durations.push(format!("export {:.1?}", began.elapsed()));
    let is_large = (4_500_000..DOCUMENT_BYTES_MAX).contains(&document.len());
    assert!(is_large, "a document of {} bytes", document.len());
    let began = Instant::now();
    let headers = [("content-type", "application/json")];
    let import = "/v1/sessions/import?session_id=b";
    let imported = admin.try_send("POST", import, &headers, Some(document.as_bytes())).unwrap();
    let imported = imported.expect(201);
    durations.push(format!("import {:.1?}", began.elapsed()));
    let of_b = admin.with_credential(imported["credential"].as_str().unwrap());
    assert_eq!(of_b.read("b", &long_key(77)).expect(200)["value"], value(77));
    let listed = of_b.tool("b", &json!({"action": "list_keys"})).expect(200);
    assert_eq!(listed["key_count"], KEYS);
    // Only the names differ.
    let again = admin.get("/v1/sessions/b/export").json();
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(again["entries"].as_array().unwrap().len(), KEYS);
    assert_eq!(again["entries"], document["entries"]);
    let of_copy = |what, request| timed_in("b", what, &of_b, request);
    durations.push(of_copy("snapshot", json!({"action": "snapshot", "label": "full"})));
    let deletes: Vec<_> = (0..100).map(|nth| json!({"key": long_key(nth)})).collect();
    let request = json!({"action": "write_batch", "writes": [], "deletes": deletes});
    durations.push(of_copy("100 deleted", request));
    durations.push(of_copy("diff", json!({"action": "diff_snapshots", "from": "full"})));
    let restore = json!({"action": "restore_snapshot", "label": "full"});
    durations.push(of_copy("restore", restore));
    assert_eq!(of_b.read("b", &long_key(77)).expect(200)["value"], value(77));
    let began = Instant::now();
    admin.send("DELETE", "/v1/sessions/b", None).expect(200);
    durations.push(format!("delete {:.1?}", began.elapsed()));
    let size = f64::from(u32::try_from(document.to_string().len()).unwrap()) / 1e6;
    tell(&format!("{over:?}: {KEYS} keys, a document of {size:.1} MB: {}", durations.join(", ")));
}

fn too_long(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let admin = app.admin();
    let orchestrator = admin.create_session("a", &json!({}));
    let json = [("content-type", "application/json")];
    let check_rejected = |client: &Client, path: &str, bytes: usize, limit: usize| {
        let answer = client.try_send("POST", path, &json, Some(&vec![b' '; bytes])).unwrap();
        answer.refused(413, "REQUEST_TOO_LARGE");
        assert_eq!(answer.json()["error"]["limit"], limit, "{}", answer.text);
    };
    let limit = 256 << 10;
    for bytes in [limit + 1, 1 << 20, 20 << 20] {
        check_rejected(&orchestrator, "/v1/sessions/a/shared_context", bytes, limit);
        orchestrator.write("a", "scope", "x").expect(200);
    }
    let import = "/v1/sessions/import?session_id=b";
    for bytes in [DOCUMENT_BYTES_MAX + 1, 2 * DOCUMENT_BYTES_MAX] {
        check_rejected(&admin, import, bytes, DOCUMENT_BYTES_MAX);
        orchestrator.write("a", "scope", "x").expect(200);
    }
    // The body of a client without a credential is not read to the end either.
    let stranger = app.stranger();
    let answer = stranger.try_send("POST", import, &json, Some(&vec![b' '; 20 << 20])).unwrap();
    assert!([401, 413].contains(&answer.status), "{}", answer.text);
}

fn expect_continue(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let orchestrator = app.admin().create_session("a", &json!({}));
    let body = r#"{"action":"write","key":"scope","value":"x"}"#;
    let mut connection = Connection::to(app.address());
    connection.send(format!(
        "POST /v1/sessions/a/shared_context HTTP/1.1\r\nHost: localhost\r\n\
         Authorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        orchestrator.credential(),
        body.len()
    ));
    assert_eq!(connection.answer().unwrap().status, 100);
    connection.send(body);
    assert_eq!(connection.answer().unwrap().status, 200);
}

fn many_sessions(host: &TestHost) {
    const SESSIONS: usize = 1_100;
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let admin = app.admin();
    let began = Instant::now();
    thread::scope(|scope| {
        for part in 0..4 {
            let admin = admin.with_credential(admin.credential());
            scope.spawn(move || {
                for nth in (part..SESSIONS).step_by(4) {
                    let body = json!({"session_id": format!("ticket-{nth:04}")});
                    admin.post("/v1/sessions", &body).expect(201);
                }
            });
        }
    });
    let created = began.elapsed();
    let mut listed = BTreeSet::new();
    let (mut after, mut slowest) = (String::new(), Duration::ZERO);
    loop {
        let asked = Instant::now();
        let page = admin.get(&format!("/v1/sessions?limit=1000{after}")).expect(200);
        slowest = slowest.max(asked.elapsed());
        let ids = page["sessions"].as_array().unwrap().iter();
        listed.extend(ids.map(|it| it["session_id"].as_str().unwrap().to_owned()));
        match page["next_after"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(listed.len(), SESSIONS);
    let page = admin.get("/v1/sessions?prefix=ticket-10").expect(200);
    assert_eq!(page["sessions"].as_array().unwrap().len(), 100);
    tell(&format!(
        "{SESSIONS} sessions created in {created:.1?}, the slowest page listed in {slowest:.1?}"
    ));
}

fn cut_off(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let orchestrator = app.admin().create_session("a", &json!({}));
    let head = format!(
        "POST /v1/sessions/a/shared_context HTTP/1.1\r\nHost: localhost\r\n\
         Authorization: Bearer {}\r\nContent-Type: application/json\r\n",
        orchestrator.credential()
    );
    let write = r#"{"action":"write","key":"scope","value":"x"}"#;
    for rest in [
        format!("Content-Length: {}\r\n\r\n{write}", write.len() + 1),
        format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{write}\r\n", write.len()),
        "Content-Length: 100\r\n\r\n".to_owned(),
    ] {
        for finishes in [true, false] {
            let mut connection = Connection::to(app.address());
            connection.send(format!("{head}{rest}"));
            if finishes {
                connection.finish();
                // If a client closes its end in the middle of a request, a runtime may close
                // the connection.
                if let Some(answer) = connection.answer() {
                    assert_eq!(answer.status, 400, "{rest:?}: {}", answer.body);
                    assert_eq!(answer.code().as_deref(), Some("MALFORMED_REQUEST"));
                    assert!(answer.body.contains("did not arrive whole"), "{}", answer.body);
                }
            }
        }
    }
    let shown = orchestrator.tool("a", &json!({"action": "list_keys"})).expect(200);
    assert_eq!((&shown["key_count"], &shown["revision"]), (&json!(0), &json!(1)));
}

/// A client that stopped sending in the middle of a request once kept its instance forever.
/// A few hundred such clients occupied all instances.
fn stalled(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let orchestrator = app.admin().create_session("a", &json!({}));
    let began = Instant::now();
    let mut stream = TcpStream::connect(app.address()).unwrap();
    stream.set_read_timeout(Some(GIVEN_UP * 2)).unwrap();
    let credential = format!("Bearer {}", orchestrator.credential());
    let headers = [
        ("authorization", &*credential),
        ("content-type", "application/json"),
        ("content-length", "100"),
    ];
    let line = "POST /v1/sessions/a/shared_context HTTP/1.1";
    stream.write_all(&raw::request(line, &headers, "")).unwrap();
    let mut piece = [0; 4_096];
    let count = stream.read(&mut piece).unwrap();
    let answer = String::from_utf8_lossy(&piece[..count]).into_owned();
    let took = began.elapsed();
    assert!(answer.contains(" 400 ") && answer.contains("MALFORMED_REQUEST"), "{answer}");
    assert!(took < GIVEN_UP, "{took:?}");
    tell(&format!("a client that sends nothing is given up after {took:.1?}"));
}
