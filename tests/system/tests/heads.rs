//! The corners of HTTP over a connection (RFC 9110, RFC 9112): heads that are too long, bodies with
//! another coding or without a length, unsupported methods and media types. Every error is a
//! problem document with the next step.
//!
//! Requests that two readers split differently are in `framing`.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Value, json};
use shared_context_system::{
    Client, Server,
    raw::{Connection, RawAnswer, exchange, request},
};
use tempfile::{TempDir, tempdir};

struct Place {
    server: Server,
    orchestrator: Client,
    bearer: String,
    _folder: TempDir,
}

impl Place {
    /// Creates a server with the session `a`, in which `key` was written.
    fn new() -> Self {
        let folder = tempdir().unwrap();
        let server = Server::start(folder.path());
        let orchestrator = server.admin().create_session("a", &json!({}));
        orchestrator.write("a", "key", "as it was").expect(200);
        let bearer = format!("Bearer {}", orchestrator.credential());
        Self { server, orchestrator, bearer, _folder: folder }
    }

    /// Returns a request of the orchestrator without a body, with these headers.
    fn ask(&self, line: &str, headers: &[(&str, &str)]) -> RawAnswer {
        let headers = [&[("Authorization", &*self.bearer)], headers].concat();
        exchange(&self.server, request(&format!("{line} HTTP/1.1"), &headers, "")).unwrap()
    }

    /// Sends `bytes`, which must be rejected with `status` and a problem that contains `told`.
    #[track_caller]
    fn refused(&self, bytes: impl AsRef<[u8]>, status: u16, told: &str) -> RawAnswer {
        let mut connection = Connection::open(&self.server);
        connection.send(bytes);
        let answer = connection.answer().unwrap();
        problem(&answer, status, told);
        answer
    }

    #[track_caller]
    fn assert_untouched(&self) {
        let listing = self.orchestrator.tool("a", &json!({"action": "list_keys"})).expect(200);
        assert_eq!(listing["revision"], 2, "{listing}");
    }
}

#[track_caller]
fn problem(answer: &RawAnswer, status: u16, told: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer:?}");
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(body["status"], status, "{answer:?}");
    assert!(body["error"]["message"].as_str().unwrap().contains(told), "{answer:?}");
}

/// Each was answered with a bare status, a long target with that of long headers; and who
/// sent all of it before reading was often cut off without an answer.
#[test]
fn a_head_that_is_too_long_is_refused_with_a_word() {
    let place = Place::new();
    for bytes in [64 << 10, 70_000, 1 << 20] {
        let long = "x".repeat(bytes);
        let target = format!("GET /v1/sessions/{long} HTTP/1.1\r\nHost: a\r\n\r\n");
        let answer = place.refused(target, 414, "64 KiB, and most of it is the target");
        assert_eq!(answer.header("connection"), Some("close"), "{answer:?}");
        assert!(answer.header("date").is_some(), "{answer:?}");
        let header = format!("GET /healthz HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n");
        place.refused(header, 431, "longer than 64 KiB, or has more than 100 headers");
    }
    let mut many = String::from("GET /healthz HTTP/1.1\r\nHost: a\r\n");
    for nth in 0..100 {
        let _ = write!(many, "X-{nth}: {nth}\r\n");
    }
    place.refused(many + "\r\n", 431, "more than 100 headers");
    place.assert_untouched();
}

#[test]
fn what_is_no_http_is_refused_with_a_word() {
    let place = Place::new();
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03noise\r\n\r\n"[..],
        b"GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n",
        b"GET /health z HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Length: two\r\n\r\n{}",
        b"POST /v1/sessions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n{}",
    ] {
        place.refused(bytes, 400, "this is no request of HTTP/1.1");
    }
    place.assert_untouched();
}

/// Bad input behind good requests is rejected in the same way, and no answer to those is
/// taken for an error.
#[test]
fn a_refusal_stands_behind_good_answers() {
    let place = Place::new();
    let value = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    place.orchestrator.write("a", "key", value).expect(200);
    let check = |answer: RawAnswer| {
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((answer.status, &body["value"]), (200, &json!(value)));
    };
    let headers = [("Authorization", &*place.bearer)];
    let read = request("GET /v1/sessions/a/entries/key HTTP/1.1", &headers, "");
    let mut connection = Connection::open(&place.server);
    for _ in 0..3 {
        connection.send(&read);
        check(connection.answer().unwrap());
    }
    connection.send("GET / HTTP/1.1\r\nHost a\r\n\r\n");
    problem(&connection.answer().unwrap(), 400, "no request of HTTP/1.1");
    assert!(connection.is_closed());
    // In one packet.
    let mut connection = Connection::open(&place.server);
    connection.send([&read[..], &read, b"GET / HTTP/1.1\r\nHost a\r\n\r\n"].concat());
    check(connection.answer().unwrap());
    check(connection.answer().unwrap());
    assert!(connection.answer().is_none_or(|it| it.status == 400));
    assert!(connection.is_closed());
}

#[test]
fn a_body_is_as_long_as_it_says_and_coded_in_chunks_at_most() {
    let place = Place::new();
    let head = format!(
        "POST /v1/sessions/a/shared_context HTTP/1.1\r\nHost: a\r\nAuthorization: {}\r\n\
         Content-Type: application/json\r\n",
        place.bearer
    );
    let body = r#"{"action":"write","key":"key","value":"x"}"#;
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    for coding in ["gzip, chunked", "identity, chunked", "chunked, chunked"] {
        let bytes = format!("{head}Transfer-Encoding: {coding}\r\n\r\n{chunks}");
        place.refused(bytes, 400, "send the body as it is, with its Content-Length or in chunks");
    }
    // Without a length there is no body (RFC 9112 §6.3).
    place.refused(format!("{head}\r\n"), 400, "the body is empty");
    place.assert_untouched();
}

#[test]
fn a_method_that_cannot_be_used_is_answered_with_those_that_can() {
    let place = Place::new();
    for (target, methods) in [
        ("/healthz", "GET, HEAD, OPTIONS"),
        ("/v1/sessions", "GET, HEAD, POST, OPTIONS"),
        ("/v1/sessions/a", "GET, HEAD, PATCH, DELETE, OPTIONS"),
        ("/v1/sessions/a/shared_context", "POST, OPTIONS"),
        ("/v1/sessions/a/entries/key", "GET, HEAD, PUT, DELETE, OPTIONS"),
        ("/mcp", "POST, GET, DELETE, OPTIONS"),
    ] {
        for method in ["PROPFIND", "TRACE", "BREW", "get"] {
            let answer = place.ask(&format!("{method} {target}"), &[]);
            problem(&answer, 405, &format!("{method} cannot be used here; use one of {methods}"));
            assert_eq!(answer.header("allow"), Some(methods), "{answer:?}");
        }
        let answer = place.ask(&format!("OPTIONS {target}"), &[]);
        assert_eq!((answer.status, answer.header("allow")), (204, Some(methods)), "{answer:?}");
    }
    place.assert_untouched();
}

/// An unwanted form was once sent all the same, and clients took it for what they had asked for.
#[test]
fn a_form_that_is_not_to_be_had_is_refused() {
    let place = Place::new();
    for (accept, is_acceptable) in [
        ("image/png", false),
        ("text/html;q=1, application/json;q=0", false),
        ("nonsense", false),
        ("", true),
        ("image/png, */*;q=0.1", true),
    ] {
        for (target, status, form) in [
            ("/v1/sessions/a/entries/key", 200, "application/json"),
            ("/v1/sessions/a/changes", 200, "application/json"),
            ("/v1/sessions/a/entries/none", 404, "application/problem+json"),
        ] {
            let answer = place.ask(&format!("GET {target}"), &[("Accept", accept)]);
            let seen = (answer.status, answer.header("content-type"));
            let (status, form) =
                if is_acceptable { (status, form) } else { (406, "application/problem+json") };
            assert_eq!(seen, (status, Some(form)), "{accept}: {answer:?}");
        }
    }
    place.assert_untouched();
}

#[test]
fn head_is_answered_as_get_is_without_the_body() {
    let place = Place::new();
    for target in [
        "/",
        "/healthz",
        "/openapi.json",
        "/v1/tools",
        "/v1/sessions",
        "/v1/sessions/a",
        "/v1/sessions/a/entries",
        "/v1/sessions/a/entries/key",
        "/v1/sessions/a/entries/none",
        "/v1/sessions/a/changes",
        // Rejected, and without its body much like a bare error.
        "/v1/sessions/a/changes?since=x",
        "/v1/sessions/a/prompt",
        "/nowhere",
    ] {
        // What is of this one request is left out.
        let headers = |method: &str| {
            let line = format!("{method} {target} HTTP/1.1");
            let headers = [("Authorization", &*place.bearer), ("X-Request-Id", "one")];
            let mut connection = Connection::open(&place.server);
            connection.send(request(&line, &headers, ""));
            let head = connection.head().unwrap();
            let of_one = ["date: ", "ratelimit: "];
            let of_both = |it: &&str| !of_one.iter().any(|name| it.starts_with(name));
            head.lines().filter(of_both).map(str::to_owned).collect::<BTreeSet<_>>()
        };
        assert_eq!(headers("HEAD"), headers("GET"), "{target}");
    }
    let mut connection = Connection::open(&place.server);
    let headers = [("Authorization", &*place.bearer), ("Connection", "close")];
    connection.send(request("HEAD /v1/sessions/a/entries/key HTTP/1.1", &headers, ""));
    connection.head().unwrap();
    assert!(connection.is_closed(), "a body came");
}
