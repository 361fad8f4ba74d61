//! Malformed requests, byte by byte: each gets a clear status or a closed connection, nothing is
//! half-applied, and the server keeps serving.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{fmt::Write as _, thread};

use serde_json::{Value, json};
use shared_context_system::{
    Client, Server,
    raw::{Connection, RawAnswer, exchange, request},
};
use tempfile::TempDir;

/// A server with the session `a`, in which nothing was ever written but `kept`.
struct Place {
    server: Server,
    orchestrator: Client,
    _folder: TempDir,
}

const TOOL: &str = "POST /v1/sessions/a/shared_context HTTP/1.1";

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path());
        let orchestrator = server.admin().create_session("a", &json!({}));
        orchestrator.write("a", "kept", "as it was").expect(200);
        Self { server, orchestrator, _folder: folder }
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.orchestrator.credential())
    }

    /// Returns a request of the JSON tool with this body.
    fn tool(&self, body: impl AsRef<[u8]>) -> Vec<u8> {
        let headers = [("Authorization", &*self.bearer()), ("Content-Type", "application/json")];
        request(TOOL, &headers, body)
    }

    /// Returns the head of such a request, with these headers and without its end.
    fn head(&self, headers: &str) -> String {
        let bearer = self.bearer();
        format!(
            "{TOOL}\r\nHost: localhost\r\nAuthorization: {bearer}\r\n\
             Content-Type: application/json\r\n{headers}"
        )
    }

    /// Sends `bytes`, which must be answered with one of `statuses`, or not at
    /// all when 0 is among them.
    #[track_caller]
    fn check(&self, what: &str, bytes: impl AsRef<[u8]>, statuses: &[u16]) -> Option<RawAnswer> {
        let answer = exchange(&self.server, bytes);
        let status = answer.as_ref().map_or(0, |it| it.status);
        assert!(statuses.contains(&status), "{what}: {answer:?}");
        answer
    }

    /// Checks that all is as it was in the beginning.
    #[track_caller]
    fn assert_untouched(&self) {
        self.server.assert_alive();
        let listing = self.orchestrator.tool("a", &json!({"action": "list_keys"})).expect(200);
        assert_eq!(listing["revision"], 2, "{listing}");
        assert_eq!(self.orchestrator.read("a", "kept").expect(200)["value"], "as it was");
        let log = self.server.log();
        assert!(!log.contains("panicked"), "{log}");
    }
}

#[test]
fn what_is_no_http_is_refused() {
    let place = Place::new();
    for (what, bytes) in [
        ("noise", &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03noise\r\n\r\n"[..]),
        ("no method", b" / HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("no version", b"GET /\r\nHost: a\r\n\r\n"),
        ("a version of the future", b"GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n"),
        ("a header without a name", b"GET /healthz HTTP/1.1\r\n: a\r\n\r\n"),
        ("a header without a colon", b"GET /healthz HTTP/1.1\r\nHost a\r\n\r\n"),
        ("NUL in a header", b"GET /healthz HTTP/1.1\r\nHost: a\0b\r\n\r\n"),
        ("a space in the path", b"GET /health z HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("NUL in the path", b"GET /health\0z HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("two lengths", b"POST /v1/sessions HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
        ("a length that is none", b"POST /v1/sessions HTTP/1.1\r\nContent-Length: two\r\n\r\n{}"),
        ("a negative length", b"POST /v1/sessions HTTP/1.1\r\nContent-Length: -2\r\n\r\n{}"),
        ("an unknown coding", b"POST /v1/sessions HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n{}"),
        ("chunks of no size", b"POST /v1/sessions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
        ("a huge chunk", b"POST /v1/sessions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"),
        ("HTTP/2 from the start", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ] {
        place.check(what, bytes, &[0, 400, 401, 404, 505]);
    }
    place.assert_untouched();
}

/// Two readings of where a request ends are how requests are smuggled past a
/// proxy.
#[test]
fn a_length_and_chunks_at_once_are_one_request_or_none() {
    let place = Place::new();
    let write = r#"{"action":"write","key":"smuggled","value":"x"}"#;
    let inner = String::from_utf8(place.tool(write)).unwrap();
    let head = place.head("Transfer-Encoding: chunked\r\n");
    let bytes = format!("{head}Content-Length: {}\r\n\r\n0\r\n\r\n{inner}", inner.len() + 5);
    let mut connection = Connection::open(&place.server);
    connection.send(bytes);
    let first = connection.answer();
    assert!(first.is_none_or(|it| it.status == 400));
    assert!(connection.is_closed(), "the rest was read as a request of its own");
    place.assert_untouched();
}

#[test]
fn headers_without_end_are_refused() {
    let place = Place::new();
    let long = "x".repeat(1 << 20);
    let bytes = format!("GET /healthz HTTP/1.1\r\nHost: a\r\nX-Long: {long}\r\n\r\n");
    place.check("a header of 1 MiB", bytes, &[0, 400, 431]);
    place.check("a path of 1 MiB", format!("GET /{long} HTTP/1.1\r\n\r\n"), &[0, 400, 414, 431]);
    let mut many = String::from("GET /healthz HTTP/1.1\r\nHost: a\r\n");
    for nth in 0..10_000 {
        let _ = write!(many, "X-{nth}: {nth}\r\n");
    }
    place.check("10,000 headers", many + "\r\n", &[0, 400, 431]);
    let token = "x".repeat(60_000);
    let bytes = request("GET /v1/sessions/a HTTP/1.1", &[("Authorization", &token)], "");
    place.check("a credential of 60 kB", bytes, &[401]);
    place.assert_untouched();
}

/// A client that dies in the middle of a request, or sends it one byte a packet.
#[test]
fn half_a_request_does_nothing_and_slow_ones_are_waited_for() {
    let place = Place::new();
    let whole = place.tool(r#"{"action":"write","key":"half","value":"x"}"#);
    let head_end = whole.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
    for end in [1, 20, head_end - 1, head_end, head_end + 1, whole.len() - 1] {
        let mut connection = Connection::open(&place.server);
        connection.send(&whole[..end]);
        connection.finish();
        let answer = connection.answer();
        assert!(answer.as_ref().is_none_or(|it| it.status == 400), "{end}: {answer:?}");
        // And one that vanishes without a word.
        Connection::open(&place.server).send(&whole[..end]);
    }
    place.assert_untouched();
    let mut connection = Connection::open(&place.server);
    for byte in &place.tool(r#"{"action":"read","key":"kept"}"#) {
        connection.send([*byte]);
    }
    let answer = connection.answer().unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn a_body_of_10_mb_is_refused_with_a_word() {
    let place = Place::new();
    let value = "x".repeat(10 << 20);
    let bytes = place.tool(json!({"action": "write", "key": "big", "value": value}).to_string());
    let answer = place.check("10 MiB", bytes, &[413]).unwrap();
    assert_eq!(answer.code().as_deref(), Some("REQUEST_TOO_LARGE"));
    assert!(answer.body.contains("262144"), "it does not tell the limit: {}", answer.body);
    // As a usual client sends it.
    place.orchestrator.write("a", "big", &value).refused(413, "REQUEST_TOO_LARGE");
    place.assert_untouched();
}

#[test]
fn a_body_in_chunks_is_held_to_the_same_limit() {
    let place = Place::new();
    let mut connection = Connection::open(&place.server);
    connection.send(place.head("Transfer-Encoding: chunked\r\n\r\n"));
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for _ in 0..160 {
        if !connection.send(&chunk) {
            break;
        }
    }
    connection.send("0\r\n\r\n");
    let answer = connection.answer().unwrap();
    assert_eq!(answer.code().as_deref(), Some("REQUEST_TOO_LARGE"), "{answer:?}");
    // Endless, and never asking for an answer: it is cut off.
    let mut endless = Connection::open(&place.server);
    endless.send(place.head("Transfer-Encoding: chunked\r\n\r\n"));
    let sent = (0..16_384).take_while(|_| endless.send(&chunk)).count();
    assert!(sent < 16_384, "it took 1 GiB");
    place.assert_untouched();
    let mut connection = Connection::open(&place.server);
    connection.send(place.head("Transfer-Encoding: chunked\r\n\r\n"));
    for byte in r#"{"action":"read","key":"kept"}"#.chars() {
        connection.send(format!("1\r\n{byte}\r\n"));
    }
    connection.send("0\r\n\r\n");
    assert_eq!(connection.answer().unwrap().status, 200);
}

#[test]
fn a_client_that_asks_before_it_sends_is_answered() {
    let place = Place::new();
    let body = r#"{"action":"read","key":"kept"}"#;
    let expects = format!("Expect: 100-continue\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut connection = Connection::open(&place.server);
    connection.send(place.head(&expects));
    assert_eq!(connection.answer().unwrap().status, 100);
    connection.send(body);
    assert_eq!(connection.answer().unwrap().status, 200);
    place.assert_untouched();
}

#[test]
fn requests_in_one_packet_are_answered_in_their_order() {
    let place = Place::new();
    let mut bytes = Vec::new();
    for nth in 0..50 {
        let write = json!({"action": "write", "key": "pipelined", "value": nth.to_string()});
        bytes.extend(place.tool(write.to_string()));
        bytes.extend(place.tool(r#"{"action":"read","key":"pipelined"}"#));
    }
    bytes.extend(place.tool("no JSON"));
    let mut connection = Connection::open(&place.server);
    connection.send(bytes);
    for nth in 0..50 {
        let written: Value = serde_json::from_str(&connection.answer().unwrap().body).unwrap();
        assert_eq!(written["version"], nth + 1);
        let read: Value = serde_json::from_str(&connection.answer().unwrap().body).unwrap();
        assert_eq!(read["value"], nth.to_string());
    }
    assert_eq!(connection.answer().unwrap().status, 400);
    place.server.assert_alive();
}

#[test]
fn old_clients_are_served_and_let_go() {
    let place = Place::new();
    let mut connection = Connection::open(&place.server);
    connection.send("GET /healthz HTTP/1.0\r\n\r\n");
    assert_eq!(connection.answer().unwrap().status, 200);
    assert!(connection.is_closed());
    let mut connection = Connection::open(&place.server);
    connection.send(request("GET /healthz HTTP/1.1", &[("Connection", "close")], ""));
    assert_eq!(connection.answer().unwrap().status, 200);
    assert!(connection.is_closed());
    place.assert_untouched();
}

#[test]
fn bodies_that_are_no_request_are_refused() {
    let place = Place::new();
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let objects = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    let inside = |depth: usize| format!(r#"{{"action":"read","key":{}}}"#, nested(depth));
    for (what, body) in [
        ("nothing", Vec::new()),
        ("no JSON", b"action=read".to_vec()),
        ("half a document", br#"{"action":"read","#.to_vec()),
        ("two documents", br#"{"action":"list_keys"}{"action":"list_keys"}"#.to_vec()),
        ("100 levels", nested(100).into()),
        ("100 levels of objects", objects(100).into()),
        ("100 levels inside", inside(100).into()),
        ("100,000 levels", nested(100_000).into()),
        ("40,000 levels inside", inside(40_000).into()),
        ("an unknown action", br#"{"action":"drop"}"#.to_vec()),
        ("an unknown field", br#"{"action":"read","key":"kept","value":"x"}"#.to_vec()),
        (
            "someone else's name",
            br#"{"action":"write","key":"k","value":"v","written_by":"admin"}"#.to_vec(),
        ),
        ("a field twice", br#"{"action":"write","key":"k","value":"v","value":"w"}"#.to_vec()),
        ("wrong types", br#"{"action":"write","key":7,"value":{}}"#.to_vec()),
        ("a surrogate alone", br#"{"action":"write","key":"k","value":"\ud800"}"#.to_vec()),
        (
            "a surrogate alone at the end",
            br#"{"action":"write","key":"k","value":"x\udfff"}"#.to_vec(),
        ),
        ("no UTF-8", b"{\"action\":\"write\",\"key\":\"k\",\"value\":\"\xff\xfe\"}".to_vec()),
        ("overlong UTF-8", b"{\"action\":\"write\",\"key\":\"k\",\"value\":\"\xc0\x80\"}".to_vec()),
        ("UTF-16", b"\xff\xfe{\0}\0".to_vec()),
        ("a byte order mark", b"\xef\xbb\xbf{\"action\":\"list_keys\"}".to_vec()),
        (
            "a control character",
            b"{\"action\":\"write\",\"key\":\"k\",\"value\":\"a\x01b\"}".to_vec(),
        ),
        ("a huge number", br#"{"action":"audit","after":1e999}"#.to_vec()),
    ] {
        let answer = place.check(what, place.tool(body), &[400]).unwrap();
        assert_eq!(answer.code().as_deref(), Some("MALFORMED_REQUEST"), "{what}: {answer:?}");
    }
    place.assert_untouched();
}

#[test]
fn any_text_comes_back_as_it_was_sent() {
    let place = Place::new();
    let astral: String = ('\u{1f600}'..='\u{1f64f}').collect();
    for value in [
        "NUL \0 inside, \u{1} and \u{7f}",
        "👩‍🚀 🏳️‍🌈 a\u{301} \u{202e}rtl",
        &astral,
        "\u{feff}a mark at its start, \u{ffff} and \u{10ffff}",
        "\r\n\t \"quotes\" \\ \\u0041 </script> %00 {{session}}",
        "",
    ] {
        place.orchestrator.write("a", "text", value).expect(200);
        assert_eq!(place.orchestrator.read("a", "text").expect(200)["value"], value);
        let path = "/v1/sessions/a/entries/text";
        let headers = [("content-type", "text/plain; charset=utf-8")];
        let sent = place.orchestrator.try_send("PUT", path, &headers, Some(value.as_bytes()));
        assert_eq!(sent.unwrap().status, 200);
        assert_eq!(place.orchestrator.get(path).expect(200)["value"], value);
    }
    let escaped = r#"{"action":"write","key":"text","value":"\ud83d\ude00\u0000"}"#;
    place.check("a surrogate pair", place.tool(escaped), &[200]);
    assert_eq!(place.orchestrator.read("a", "text").expect(200)["value"], "😀\0");
}

/// A path has one form; other spellings do not lead around its checks.
#[test]
fn paths_that_try_to_lead_elsewhere_are_refused() {
    let place = Place::new();
    let bearer = place.bearer();
    let check = |target: &str, statuses: &[u16]| {
        let line = format!("GET {target} HTTP/1.1");
        let bytes = request(&line, &[("Authorization", &bearer)], "");
        place.check(target, bytes, statuses)
    };
    for target in [
        "/v1/sessions/../x",
        "/v1/sessions/../sessions/a",
        "/v1/sessions/a/../b",
        "//",
        "//healthz",
        "/v1//sessions/a",
        "/v1/sessions//entries",
        "/v1/sessions/a/",
        "/v1/sessions/a//entries",
        "/v1/sessions/%2e%2e/entries",
        "/v1/sessions/a%2fb/entries",
        "/v1/sessions/a%00/entries",
        "/v1/sessions/%00",
        "/v1/sessions/a/entries/..",
        "/v1/sessions/a/entries/%00",
        "/v1/sessions/a/entries/kept%00",
        "/v1/sessions/a/entries/..%2f..%2fb%2fentries%2fkept",
        "/v1/sessions/a/entries/%ff%fe",
        "/v1/sessions/%ff",
        "/v1/sessions/a%0d%0ab/entries",
        "/V1/sessions/a",
        "/v1/sessions/a;x=1/entries",
        "/v1/sessions/A/entries",
        "/v1/sessions/a%252fentries",
        "/etc/passwd",
        "/..%2f..%2fetc/passwd",
        "*",
    ] {
        check(target, &[400, 401, 403, 404]);
    }
    // RFC 9112 §3.2.2: a server takes the whole address, as a proxy is sent it.
    let answer = check("http://example.com/v1/sessions/a/entries/kept", &[200]).unwrap();
    assert!(answer.body.contains("as it was"));
    check("http://example.com/v1/sessions/../x", &[400, 401, 404]);
    place.check(
        "a tunnel",
        b"CONNECT example.com:80 HTTP/1.1\r\nHost: a\r\n\r\n",
        &[0, 400, 404, 405],
    );
    place.check("all of the server", b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", &[204, 400, 404]);
    place.assert_untouched();
}

/// Everything at once, from many connections.
#[test]
fn a_crowd_of_broken_clients_does_not_disturb_a_good_one() {
    let place = Place::new();
    let whole = place.tool(r#"{"action":"write","key":"kept","value":"changed"}"#);
    thread::scope(|scope| {
        for nth in 0..8 {
            let (place, whole) = (&place, &whole);
            scope.spawn(move || {
                for round in 0..50 {
                    let mut broken = Connection::open(&place.server);
                    match (nth + round) % 4 {
                        0 => drop(broken.send(&whole[..whole.len() - 1])),
                        1 => drop(broken.send([round; 100])),
                        2 => drop(broken.send(place.head("Content-Length: 999999999\r\n\r\n{"))),
                        _ => drop(broken.send("\r\n\r\n\r\n")),
                    }
                }
            });
        }
        for _ in 0..100 {
            let read = place.orchestrator.read("a", "kept").expect(200);
            assert_eq!(read["value"], "as it was");
        }
    });
    place.assert_untouched();
}
