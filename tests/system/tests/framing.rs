//! Requests whose end, host or origin can be read in two ways: a request that a proxy read as one
//! must not be two for the server, and no page may read an answer.
//!
//! Broken bytes, endless headers and paths are in `bad_input`.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use serde_json::{Value, json};
use shared_context_system::{
    Client, Server,
    raw::{Connection, exchange, request},
};
use tempfile::{TempDir, tempdir};

struct Place {
    server: Server,
    orchestrator: Client,
    _folder: TempDir,
}

impl Place {
    /// Creates a server with the session `a`, in which nothing was written.
    fn new() -> Self {
        let folder = tempdir().unwrap();
        let server = Server::start(folder.path());
        let orchestrator = server.admin().create_session("a", &json!({}));
        Self { server, orchestrator, _folder: folder }
    }

    /// Returns a whole request that writes, and would be seen if anyone read it as one.
    fn write(&self) -> String {
        let authorization = format!("Bearer {}", self.orchestrator.credential());
        let headers = [("Authorization", &*authorization), ("Content-Type", "application/json")];
        let body = r#"{"action":"write","key":"smuggled","value":"x"}"#;
        let line = "POST /v1/sessions/a/shared_context HTTP/1.1";
        String::from_utf8(request(line, &headers, body)).unwrap()
    }

    #[track_caller]
    fn assert_untouched(&self, what: &str) {
        let listing = self.orchestrator.tool("a", &json!({"action": "list_keys"})).expect(200);
        assert_eq!(listing["revision"], 1, "{what}: {listing}");
    }
}

/// In each, one reader sees a request without a body and a second one behind it,
/// another sees one request. Whichever is right, the second is never carried out.
#[test]
fn ambiguous_framing_is_read_as_one_request_or_none() {
    let place = Place::new();
    let write = place.write();
    let length = write.len() + 5;
    for headers in [
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}"),
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked"),
        format!("Transfer-Encoding: chunked, identity\r\nContent-Length: {length}"),
        format!("Transfer-Encoding: identity, chunked\r\nContent-Length: {length}"),
        "Transfer-Encoding: chunked, identity".to_owned(),
        "Transfer-Encoding: xchunked".to_owned(),
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity".to_owned(),
        "Transfer-Encoding: identity".to_owned(),
        "Transfer-Encoding:\u{b}chunked".to_owned(),
        "Transfer-Encoding : chunked".to_owned(),
        "Transfer-Encoding:\r\n chunked".to_owned(),
        "X: y\r\n Transfer-Encoding: chunked".to_owned(),
        format!("Content-Length: {length}\r\nContent-Length: 0"),
        format!("Content-Length: 0, {length}"),
        format!("Content-Length: +{length}"),
        format!("Content-Length: 0x{length:x}"),
        format!("Content-Length: {length} "),
        "Content-Length: 18446744073709551617".to_owned(),
    ] {
        let head = format!("POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n\r\n");
        let mut connection = Connection::open(&place.server);
        connection.send(format!("{head}0\r\n\r\n{write}"));
        connection.finish();
        let first = connection.answer();
        assert!(first.as_ref().is_none_or(|it| (400..500).contains(&it.status)), "{headers}");
        while let Some(next) = connection.answer() {
            assert!(next.status >= 400, "{headers}: {next:?}");
        }
        place.assert_untouched(&headers);
    }
}

#[test]
fn chunks_with_extensions_and_trailers_are_their_bytes_alone() {
    let place = Place::new();
    let authorization = format!("Bearer {}", place.orchestrator.credential());
    let head = format!(
        "POST /v1/sessions/a/shared_context HTTP/1.1\r\nHost: localhost\r\n\
         Authorization: {authorization}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    );
    let body = r#"{"action":"list_keys"}"#;
    let chunk = format!("{:x};name=\"value\"\r\n{body}\r\n", body.len());
    let trailers = "0\r\nAuthorization: Bearer other\r\nContent-Length: 9\r\n\r\n";
    let answer = exchange(&place.server, format!("{head}{chunk}{trailers}")).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    let endless = format!("{head}1;{}", "x".repeat(1 << 20));
    assert!(exchange(&place.server, endless).is_none_or(|it| it.status >= 400));
    place.assert_untouched("extensions");
    place.server.assert_alive();
}

#[test]
fn what_is_asked_of_the_connection_changes_no_answer() {
    let place = Place::new();
    for (headers, status) in [
        (
            "Host: localhost\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
            200,
        ),
        (
            "Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            200,
        ),
        ("Host: localhost\r\nConnection: Authorization, Host", 200),
        ("Host: localhost\r\nRange: bytes=0-1", 200),
        ("Host: localhost\r\nExpect: 200-maybe", 200),
        ("Host: localhost\r\nX-HTTP-Method-Override: DELETE\r\nX-Original-URL: /v1/sessions", 200),
        ("Host: localhost\r\nX-Forwarded-For: 127.0.0.1\r\nForwarded: for=127.0.0.1", 200),
        ("Host: a\r\nHost: b", 200),
        ("Accept: */*", 200),
    ] {
        let answer = exchange(&place.server, format!("GET /healthz HTTP/1.1\r\n{headers}\r\n\r\n"));
        let seen = answer.as_ref().map(|it| it.status);
        assert!(seen == Some(status) || seen == Some(400), "{headers}: {answer:?}");
        let bytes = format!("GET /v1/sessions/a HTTP/1.1\r\n{headers}\r\n\r\n");
        let refused = exchange(&place.server, bytes).unwrap();
        assert!([400, 401].contains(&refused.status), "{headers}: {refused:?}");
    }
    // HTTP/0.9 and lines that end early.
    for bytes in ["GET /v1/sessions\n\n", "GET /v1/sessions\r\n\r\n", "GET / HTTP/0.9\r\n\r\n"] {
        assert!(exchange(&place.server, bytes).is_none_or(|it| it.status >= 400), "{bytes}");
    }
    place.server.assert_alive();
}

/// No answer lets a page of another origin read it, with or without a credential, and
/// no question beforehand is granted.
#[test]
fn no_page_of_another_origin_is_let_read_an_answer() {
    let place = Place::new();
    let bearer = format!("Bearer {}", place.orchestrator.credential());
    let own = place.server.url().to_owned();
    for origin in ["http://evil.example", "null", "file://", "http://localhost.evil.example", &own]
    {
        for target in ["/healthz", "/openapi.json", "/v1/sessions/a", "/v1/sessions", "/mcp", "/x"]
        {
            for (method, more) in [
                ("GET", ("Accept", "*/*")),
                ("OPTIONS", ("Access-Control-Request-Method", "POST")),
                ("OPTIONS", ("Access-Control-Request-Headers", "authorization")),
            ] {
                for authorization in ["", &bearer] {
                    let line = format!("{method} {target} HTTP/1.1");
                    let headers = [("Origin", origin), more, ("Authorization", authorization)];
                    let headers: Vec<_> =
                        headers.into_iter().filter(|it| !it.1.is_empty()).collect();
                    let answer = exchange(&place.server, request(&line, &headers, "")).unwrap();
                    let head = answer.head.to_ascii_lowercase();
                    assert!(!head.contains("access-control-"), "{line} {origin}: {head}");
                    assert!(method != "OPTIONS" || answer.status >= 204, "{line}: {head}");
                    assert!(!head.contains("set-cookie"), "{line}: {head}");
                }
            }
        }
    }
}

/// A name that leads to this machine today is not this server's: a page could have
/// had it changed.
#[test]
fn a_name_that_is_not_this_machines_is_not_answered_at_mcp() {
    let place = Place::new();
    let address = place.server.address().to_owned();
    let port = address.split(':').nth(1).unwrap();
    let bearer = format!("Bearer {}", place.orchestrator.credential());
    let ask = |host: &str, origin: &str| {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#;
        let origin =
            if origin.is_empty() { String::new() } else { format!("Origin: {origin}\r\n") };
        let bytes = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\n{origin}Authorization: {bearer}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        exchange(&place.server, bytes).unwrap().status
    };
    assert_ne!(ask(&address, ""), 403);
    assert_ne!(ask(&format!("localhost:{port}"), ""), 403);
    assert_ne!(ask(&address, place.server.url()), 403);
    for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example"] {
        assert_eq!(ask(&format!("{host}:{port}"), ""), 403, "{host}");
    }
    for origin in ["http://evil.example", "null", "https://localhost.evil.example", "file://"] {
        assert_eq!(ask(&address, origin), 403, "{origin}");
    }
}

/// A request without `Host`, or with two of them, was answered as any other, and one for an
/// unknown path was 404 first. What stands before the server may have read the other host.
#[test]
fn a_request_names_its_server_once() {
    let place = Place::new();
    for target in ["/healthz", "/nowhere", "/v1/sessions", "http://localhost/healthz"] {
        for headers in ["", "Host: a\r\nHost: b\r\n", "Host: \r\n", "Host: a b\r\n"] {
            let asked = format!("GET {target} HTTP/1.1\r\n{headers}\r\n");
            let answer = exchange(&place.server, asked).unwrap();
            assert_eq!(answer.status, 400, "{target} {headers:?}: {answer:?}");
            assert_eq!(answer.code().as_deref(), Some("MALFORMED_REQUEST"));
        }
    }
    let older = exchange(&place.server, "GET /healthz HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(older.status, 200, "{older:?}");
}

/// Input that was rejected before it was parsed as a request had no `X-Request-Id`, so it could not
/// be found in a log. And browsers were left to guess the type of an answer.
#[test]
fn whatever_is_answered_has_an_id_and_a_type_that_is_meant() {
    let place = Place::new();
    let long = "x".repeat(70_000);
    for (asked, status) in [
        ("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 200),
        ("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 404),
        ("no request\r\n\r\n".to_owned(), 400),
        (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), 414),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"), 431),
    ] {
        let answer = exchange(&place.server, asked).unwrap();
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer:?}");
        let id = answer.header("x-request-id").unwrap_or_default();
        assert!(!id.is_empty(), "{answer:?}");
        if status >= 400 {
            let problem: Value = serde_json::from_str(&answer.body).unwrap();
            assert_eq!(problem["instance"], id, "{answer:?}");
        }
    }
}
