//! Sockets that send changes: their messages, start, filters and end. The module
//! `sockets_resumed` tests sockets that are saved and resumed.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use serde_json::{Value, json};
use shared_context_codec::Failure;
use shared_context_wire::{
    Engine as _,
    http::{Body, Ending, Options, Socket},
};

use crate::{
    bench::{ADMIN_KEY, Bench, START_MS, ready},
    changes::{CHANGES, keys},
};

pub(crate) const UPGRADE: &[(&str, &str)] = &[("connection", "Upgrade"), ("upgrade", "websocket")];

pub(crate) fn bench() -> Bench {
    Bench::with(|options| Options { has_sockets: true, ..options })
}

impl Bench {
    /// Opens a socket on the changes of the session `s`. Returns the response headers and the
    /// socket.
    #[track_caller]
    pub(crate) fn socket(&self, token: &str, query: &str) -> (HeaderMap, Box<Socket>) {
        self.socket_session(token, "s", query)
    }

    #[track_caller]
    pub(crate) fn socket_session(
        &self,
        token: &str,
        session: &str,
        query: &str,
    ) -> (HeaderMap, Box<Socket>) {
        self.socket_path(token, &format!("/v1/sessions/{session}/changes{query}"))
    }

    #[track_caller]
    pub(crate) fn socket_path(&self, token: &str, path: &str) -> (HeaderMap, Box<Socket>) {
        let request = Request::get(path)
            .header("connection", "keep-alive, Upgrade")
            .header("upgrade", "websocket")
            .header("authorization", format!("Bearer {token}"))
            .body(Bytes::new())
            .unwrap();
        let response: Response<Body> = self.answer(request);
        let (head, body) = response.into_parts();
        let Body::Socket(socket) = body else { panic!("no socket: {} {body:?}", head.status) };
        assert_eq!(head.status, 101);
        (head.headers, socket)
    }

    /// Returns all messages that a socket has to send now.
    pub(crate) fn catch_up(&self, socket: &mut Socket) -> Vec<Value> {
        let mut messages = Vec::new();
        loop {
            let portion = ready(socket.catch_up(&self.engine));
            messages.extend(portion.iter().map(|it| serde_json::from_str(it).unwrap()));
            if !socket.has_more() {
                return messages;
            }
        }
    }
}

/// Returns the revisions of the change messages.
pub(crate) fn revisions(messages: &[Value]) -> Vec<u64> {
    let changes = messages.iter().filter(|it| it["event"] == "change");
    changes.map(|it| it["revision"].as_u64().unwrap()).collect()
}

/// Saves a socket, drops it and resumes it, as a host does that hibernates.
pub(crate) fn save_and_resume(bench: &Bench, socket: Box<Socket>) -> Box<Socket> {
    let saved = socket.kept();
    drop(socket);
    bench.http.resume(&saved, bench.engine.now()).unwrap()
}

#[test]
fn a_socket_sends_each_commit_once_and_at_once() {
    let bench = bench();
    bench.write("before");
    let (headers, mut socket) = bench.socket(&bench.agent, "");
    assert_eq!(headers["cache-control"], "no-store");
    assert!(headers.contains_key("x-request-id") && !headers.contains_key("content-type"));
    assert_eq!(bench.catch_up(&mut socket), [json!({"event": "open", "since": 2})]);
    assert_eq!(bench.catch_up(&mut socket), [] as [Value; 0]);
    for (revision, key) in [(3, "a"), (4, "b")] {
        bench.write(key);
        let messages = bench.catch_up(&mut socket);
        let [message] = &messages[..] else { panic!("{messages:?}") };
        assert_eq!(message["event"], "change");
        assert_eq!(message["revision"], revision);
        assert_eq!(keys(message), [key]);
        assert_eq!(message["changes"][0]["written_by"], "subagent:analysis");
        assert_eq!(message["changes"][0].get("value"), None);
    }
    assert_eq!(socket.close_code(), None);
    let batch =
        r#"{"action":"write_batch","writes":[{"key":"b","value":"x"},{"key":"a","value":"x"}]}"#;
    bench.engine.invoke_as("orchestrator", batch);
    bench.write("c");
    let messages = bench.catch_up(&mut socket);
    assert_eq!(revisions(&messages), [5, 6]);
    assert_eq!(keys(&messages[0]).len(), 2, "all changes of a commit are one message");
}

/// A client can parse both with the same code.
#[test]
fn a_message_has_the_content_of_a_stream_event() {
    let bench = bench();
    bench.write("a");
    let (_, mut watch) = bench.watch(&bench.agent, "?since=0", None);
    let text = bench.next(&mut watch).unwrap();
    let events = text.lines().filter_map(|it| it.strip_prefix("data: "));
    let events: Vec<Value> = events.map(|it| serde_json::from_str(it).unwrap()).collect();
    let (_, mut socket) = bench.socket(&bench.agent, "?since=0");
    let sent = ready(socket.catch_up(&bench.engine));
    assert_eq!(sent[0], r#"{"event":"open","since":0}"#);
    let messages = sent[1..].iter().zip(&events);
    assert_eq!((sent.len(), events.len()), (3, 2));
    for (message, event) in messages {
        assert!(message.starts_with(r#"{"event":"change","revision":"#), "{message}");
        let mut message: Value = serde_json::from_str(message).unwrap();
        message.as_object_mut().unwrap().remove("event");
        assert_eq!(message, *event);
    }
}

#[test]
fn a_socket_begins_where_the_client_left_off() {
    let bench = bench();
    for key in ["a", "b", "c"] {
        bench.write(key);
    }
    let opened = |query: &str| {
        let (_, mut socket) = bench.socket(&bench.agent, query);
        let messages = bench.catch_up(&mut socket);
        assert_eq!(messages[0]["event"], "open");
        (messages[0]["since"].as_u64().unwrap(), revisions(&messages))
    };
    assert_eq!(opened("?since=0"), (0, vec![1, 2, 3, 4]));
    assert_eq!(opened("?since=2"), (2, vec![3, 4]));
    assert_eq!(opened("?since=0&keys=b"), (0, vec![3]));
    assert_eq!(opened(""), (4, vec![]));
}

#[test]
fn an_invalid_request_is_rejected_before_the_upgrade() {
    let bench = bench();
    let check = |query: &str, headers: &[(&str, &str)], status: u16, expected: &str| {
        let headers = [UPGRADE, headers].concat();
        let target = format!("{CHANGES}{query}");
        bench.check_as(&bench.agent, &target, &headers, "", status, expected);
    };
    check("?since=99", &[], 410, "CHANGES_TRUNCATED");
    check("?since=x", &[], 400, "since must be a whole number");
    check("?limit=5", &[], 400, "limit is for requests that do not ask for a WebSocket: it sends");
    check("?wait=5", &[], 400, "wait is for requests that do not ask for a WebSocket");
    check("?keys=A", &[], 400, "MALFORMED_REQUEST");
    check("", &[("last-event-id", "x")], 400, "Last-Event-ID is no revision");
    bench.check_as("", CHANGES, UPGRADE, "", 401, "shows no credential");
    bench.check_as(&bench.agent, "GET /v1/sessions/t/changes", UPGRADE, "", 403, "for session s");
    bench.check_as(ADMIN_KEY, "GET /v1/sessions/t/changes", UPGRADE, "", 404, "SESSION_NOT_FOUND");
    open_streams(&bench, 0);
}

#[track_caller]
pub(crate) fn open_streams(bench: &Bench, count: usize) {
    let metrics = bench.check_as("", "GET /metrics", &[], "", 200, "").body;
    assert!(metrics.contains(&format!("shared_context_open_streams {count}\n")), "{metrics}");
}

/// Returns the kind of the response to this request: `page`, `stream` or `socket`.
pub(crate) fn response_kind(bench: &Bench, method: &str, headers: &[(&str, &str)]) -> &'static str {
    let mut request = Request::builder().method(method).uri("/v1/sessions/s/changes?since=0");
    request = request.header("authorization", format!("Bearer {}", bench.agent));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Bytes::new()).unwrap();
    match bench.answer(request).into_body() {
        Body::Whole(_) => "page",
        Body::Live(_) => "stream",
        Body::Socket(_) => "socket",
    }
}

#[test]
fn an_upgrade_request_gets_a_socket() {
    let bench = bench();
    let check = |headers: &[(&str, &str)], answer: &str| {
        assert_eq!(response_kind(&bench, "GET", headers), answer, "{headers:?}");
        assert_eq!(response_kind(&bench, "HEAD", headers), "page", "{headers:?}");
    };
    check(UPGRADE, "socket");
    check(&[("upgrade", "WebSocket")], "socket");
    check(&[("upgrade", "h2c, websocket"), ("connection", "keep-alive, upgrade")], "socket");
    check(&[UPGRADE, &[("accept", "text/event-stream")]].concat(), "socket");
    check(&[("upgrade", "websocket"), ("connection", "keep-alive")], "page");
    check(&[("upgrade", "websockets"), ("connection", "upgrade")], "page");
    check(&[("connection", "upgrade")], "page");
    check(&[("upgrade", "h2c"), ("accept", "text/event-stream")], "stream");
    open_streams(&bench, 0);
    let elsewhere = bench.check_as(&bench.agent, "GET /v1/sessions/s", UPGRADE, "", 200, "");
    assert_eq!(elsewhere.json()["session_id"], "s");
}

#[test]
fn a_host_without_sockets_ignores_the_upgrade() {
    let bench = Bench::new();
    assert_eq!(response_kind(&bench, "GET", UPGRADE), "page");
    let events = [UPGRADE, &[("accept", "text/event-stream")]].concat();
    assert_eq!(response_kind(&bench, "GET", &events), "stream");
    bench.check_as(&bench.agent, &format!("{CHANGES}?limit=1"), UPGRADE, "", 200, "next_since");
}

#[test]
fn a_long_history_is_sent_completely_in_portions() {
    let bench = bench();
    for _ in 0..350 {
        bench.write("a");
    }
    let (_, mut socket) = bench.socket(&bench.agent, "?since=0");
    let mut seen = Vec::new();
    loop {
        let portion = ready(socket.catch_up(&bench.engine));
        assert!((1..=33).contains(&portion.len()), "{}", portion.len());
        let messages = portion.iter().map(|it| serde_json::from_str(it).unwrap());
        seen.extend(revisions(&messages.collect::<Vec<_>>()));
        if !socket.has_more() {
            break;
        }
        socket = save_and_resume(&bench, socket);
    }
    assert_eq!(seen, (1..=351).collect::<Vec<_>>());
    assert_eq!(bench.catch_up(&mut socket), [] as [Value; 0]);
}

/// Others write entries that the client filters out. After a reconnect it must not read them
/// again, nor ask for changes that are no longer stored.
#[test]
fn a_filtering_socket_advances_past_other_changes() {
    let bench = bench();
    let (_, mut socket) = bench.socket(&bench.agent, "?keys=findings_*");
    bench.catch_up(&mut socket);
    for _ in 0..63 {
        bench.write("other");
        assert_eq!(bench.catch_up(&mut socket), [] as [Value; 0]);
        socket = save_and_resume(&bench, socket);
    }
    bench.write("other");
    assert_eq!(bench.catch_up(&mut socket), [json!({"event": "moved", "since": 65})]);
    assert_eq!(bench.catch_up(&mut socket), [] as [Value; 0]);
    bench.write("findings_1");
    for _ in 0..200 {
        bench.write("other");
    }
    let messages = bench.catch_up(&mut socket);
    assert_eq!(revisions(&messages), [66]);
    assert_eq!(messages[1..], [json!({"event": "moved", "since": 266})]);
}

/// Checks that the socket sends an error with this code and closes.
#[track_caller]
fn check_end(bench: &Bench, socket: &mut Socket, code: &str, close_code: u16) {
    assert_eq!(socket.close_code(), None);
    let messages = bench.catch_up(socket);
    let [message] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!((&message["event"], &message["error"]["code"]), (&json!("end"), &json!(code)));
    assert!(message["error"]["message"].is_string());
    assert_eq!(socket.close_code(), Some(close_code));
    assert_eq!(bench.catch_up(socket), [] as [Value; 0]);
    assert!(!socket.has_more());
}

#[test]
fn a_socket_ends_when_its_credential_expires() {
    let bench = bench();
    let body = r#"{"participant":"subagent:brief","ttl_seconds":60}"#;
    let minted =
        bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/credentials", &[], body, 201, "").json();
    let (_, mut socket) = bench.socket(minted["credential"].as_str().unwrap(), "");
    bench.catch_up(&mut socket);
    // One minute, and 30 s of leeway for clock skew.
    bench.engine.now_ms.store(START_MS + 90_000, Ordering::SeqCst);
    bench.write("a");
    assert_eq!(revisions(&bench.catch_up(&mut socket)), [2]);
    let saved = socket.kept();
    bench.engine.now_ms.store(START_MS + 90_001, Ordering::SeqCst);
    bench.write("a");
    let failure = bench.http.resume(&saved, bench.engine.now()).unwrap_err();
    assert_eq!(failure.code, "UNAUTHENTICATED");
    let Ending { message, close_code } = Ending::of(&failure);
    check_end(&bench, &mut socket, "UNAUTHENTICATED", 1008);
    assert!(message.starts_with(r#"{"event":"end","error":{"code":"UNAUTHENTICATED","#));
    assert_eq!(close_code, 1008);
}

#[test]
fn a_socket_leaves_out_own_changes_also_when_it_is_resumed() {
    let bench = bench();
    bench.write("a");
    bench.engine.invoke_as("orchestrator", r#"{"action":"write","key":"b","value":"x"}"#);
    let (_, socket) = bench.socket(&bench.agent, "?since=1&except_own=true");
    assert_eq!(revisions(&bench.catch_up(&mut save_and_resume(&bench, socket))), [3]);
}

#[test]
fn a_socket_ends_when_its_credential_is_revoked() {
    let bench = bench();
    let (_, mut agents) = bench.socket(&bench.agent, "");
    let (_, mut resumed) = bench.socket(&bench.agent, "");
    let (_, mut admins) = bench.socket(ADMIN_KEY, "");
    for socket in [&mut agents, &mut resumed, &mut admins] {
        bench.catch_up(socket);
    }
    bench.engine.invoke_as("admin", r#"{"action":"revoke_credentials"}"#);
    check_end(&bench, &mut agents, "UNAUTHENTICATED", 1008);
    check_end(&bench, &mut save_and_resume(&bench, resumed), "UNAUTHENTICATED", 1008);
    assert_eq!(revisions(&bench.catch_up(&mut save_and_resume(&bench, admins))), [2]);
}

#[test]
fn revocation_before_the_first_message_hides_all_changes() {
    let bench = bench();
    let (_, mut socket) = bench.socket(&bench.agent, "?since=0");
    bench.engine.invoke_as("admin", r#"{"action":"revoke_credentials"}"#);
    let messages = bench.catch_up(&mut socket);
    assert_eq!(messages[0], json!({"event": "open", "since": 0}));
    assert_eq!(messages[1]["error"]["code"], "UNAUTHENTICATED");
    assert_eq!((messages.len(), socket.close_code()), (2, Some(1008)));
}

#[test]
fn a_socket_that_fell_behind_ends_with_its_next_cursor() {
    let bench = bench();
    let body = r#"{"session_id":"t","config":{"changes_max":256}}"#;
    bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], body, 201, "");
    let writer = bench.mint("t", "subagent:writer");
    let (_, mut socket) = bench.socket_session(&writer, "t", "");
    bench.catch_up(&mut socket);
    for _ in 0..300 {
        let write = r#"{"action":"write","key":"a","value":"x"}"#;
        bench.check_as(&writer, "POST /v1/sessions/t/shared_context", &[], write, 200, "");
    }
    let saved = socket.kept();
    let messages = bench.catch_up(&mut socket);
    let error = &messages[0]["error"];
    assert_eq!((&error["oldest"], &error["revision"]), (&json!(45), &json!(301)));
    let mut again = bench.http.resume(&saved, bench.engine.now()).unwrap();
    check_end(&bench, &mut again, "CHANGES_TRUNCATED", 1008);
    let (_, mut socket) = bench.socket_session(&writer, "t", "?since=45");
    assert_eq!(revisions(&bench.catch_up(&mut socket))[..2], [46, 47]);
}

#[test]
fn deletion_ends_a_socket_but_archiving_does_not() {
    let bench = bench();
    let (_, mut socket) = bench.socket(&bench.agent, "");
    bench.catch_up(&mut socket);
    bench.engine.invoke_as("admin", r#"{"action":"archive_session"}"#);
    let messages = bench.catch_up(&mut socket);
    assert_eq!(messages[0]["changes"][0]["action"], "archive_session");
    bench.engine.invoke_as("admin", r#"{"action":"delete_session"}"#);
    let saved = socket.kept();
    check_end(&bench, &mut socket, "SESSION_NOT_FOUND", 1008);
    bench.engine.invoke_as("admin", r#"{"action":"create_session"}"#);
    let mut socket = bench.http.resume(&saved, bench.engine.now()).unwrap();
    check_end(&bench, &mut socket, "UNAUTHENTICATED", 1008);
}

#[test]
fn a_storage_failure_ends_a_socket_and_it_can_reconnect() {
    let bench = bench();
    let (_, mut socket) = bench.socket(&bench.agent, "");
    bench.catch_up(&mut socket);
    bench.write("a");
    let failure = Failure::new("STORAGE_UNAVAILABLE", "the disk is away");
    *bench.engine.next_failure.lock().unwrap() = Some(failure);
    check_end(&bench, &mut socket, "STORAGE_UNAVAILABLE", 1011);
    let (_, mut socket) = bench.socket(&bench.agent, "?since=1");
    assert_eq!(revisions(&bench.catch_up(&mut socket)), [2]);
}
