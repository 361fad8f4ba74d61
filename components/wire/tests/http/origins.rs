//! The header `Origin`: pages of other origins must not read changes, unless they are listed.
//!
//! The tests of `/mcp` cover it there. The unit tests of `http/origin.rs` cover each host name.

use shared_context_wire::http::{CorsOrigins, Options, parse_public_url};

use crate::{
    bench::Bench,
    changes::CHANGES,
    sockets::{UPGRADE, open_streams, response_kind},
};

/// A browser lets any page open a socket and read its messages. Only `Origin` identifies the
/// page, and the server checked it for `/mcp` alone.
#[test]
fn a_page_of_another_origin_cannot_open_a_socket() {
    let check = |options: fn(Options) -> Options, from: &[(&str, &str)], status: u16| {
        let bench = Bench::with(|it| options(Options { has_sockets: true, ..it }));
        let headers = [UPGRADE, from].concat();
        if status == 101 {
            assert_eq!(response_kind(&bench, "GET", &headers), "socket", "{from:?}");
        } else {
            let (expected, token) = ("FORBIDDEN", &bench.agent);
            bench.check_as(token, CHANGES, &headers, "", status, expected);
            // The origin is checked before the credential.
            bench.check_as("", CHANGES, &headers, "", status, expected);
            open_streams(&bench, 0);
        }
        // The page can send a plain request, but the browser does not let it read the reply.
        assert_eq!(response_kind(&bench, "GET", from), "page", "{from:?}");
    };
    let world = |it| Options { is_local: false, ..it };
    let local = |it| Options { is_local: true, ..it };
    let named = |it| {
        let public_url = parse_public_url("https://memory.example.com").ok();
        Options { public_url, is_local: false, ..it }
    };
    let host = ("host", "memory.example.com");
    for origin in ["https://evil.example", "null", "http://localhost", "https://memory.example.co"]
    {
        for options in [world as fn(Options) -> Options, named] {
            check(options, &[host, ("origin", origin)], 403);
        }
    }
    check(world, &[host, ("origin", "https://memory.example.com")], 101);
    check(named, &[("host", "10.0.0.1"), ("origin", "https://memory.example.com")], 101);
    check(world, &[host], 101);
    check(local, &[("host", "localhost:1"), ("origin", "http://localhost:3000")], 101);
    check(local, &[("host", "localhost:1"), ("origin", "https://evil.example")], 403);
    check(local, &[("host", "evil.example")], 403);
}

/// Returns the headers of the response that CORS is about.
fn cors(bench: &Bench, line: &str, from: &[(&str, &str)]) -> Vec<(String, String)> {
    let response = bench.send(&bench.agent, line, from, "");
    let is_asked = |name: &str| name.starts_with("access-control-") || name == "vary";
    let headers = response.headers.iter().filter(|(name, _)| is_asked(name.as_str()));
    headers.map(|(name, it)| (name.to_string(), it.to_str().unwrap().to_owned())).collect()
}

/// A page in a browser could not use the server at all: no preflight request was ever answered.
#[test]
fn pages_of_listed_origins_may_use_the_server() {
    let page = ("origin", "https://app.example.com");
    let preflight = [page, ("access-control-request-method", "PUT")];
    let entry = "OPTIONS /v1/sessions/s/entries/scope";
    let with = |origins: &str| {
        let cors_origins = CorsOrigins::parse(origins).unwrap();
        Bench::with(|it| Options { cors_origins, ..it })
    };
    assert_eq!(cors(&with(""), entry, &preflight), [], "off by default");

    let listed = with("https://app.example.com,http://localhost:3000");
    let seen = cors(&listed, entry, &preflight);
    let value = |name: &str| seen.iter().find(|(it, _)| it == name).map(|(_, it)| it.as_str());
    assert_eq!(value("access-control-allow-origin"), Some("https://app.example.com"));
    assert_eq!(value("access-control-allow-methods"), Some("GET, HEAD, PUT, DELETE, OPTIONS"));
    assert_eq!(value("access-control-max-age"), Some("7200"));
    assert_eq!(value("access-control-allow-credentials"), None);
    assert_eq!(value("vary"), Some("origin"));
    let allowed = value("access-control-allow-headers").unwrap();
    for name in ["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "Mcp-Method"] {
        assert!(allowed.contains(name), "{name}");
    }
    // Also errors are readable.
    for line in ["GET /v1/sessions/s/entries", "GET /nowhere", "GET /v1/sessions/none"] {
        let seen = cors(&listed, line, &[page]);
        let has = |name: &str, part: &str| {
            seen.iter().any(|(it, value)| it == name && value.contains(part))
        };
        assert!(has("access-control-allow-origin", "https://app.example.com"), "{line}: {seen:?}");
        assert!(has("access-control-expose-headers", "ETag"), "{line}: {seen:?}");
    }
    for other in ["https://evil.example", "null", "http://app.example.com", ""] {
        let seen = cors(&listed, entry, &[("origin", other), preflight[1]]);
        assert_eq!(seen, [("vary".to_owned(), "origin".to_owned())], "{other}");
    }
    let any = cors(&with("*"), entry, &preflight);
    assert!(any.contains(&("access-control-allow-origin".to_owned(), "*".to_owned())), "{any:?}");
}
