//! The header `Origin` on sockets: pages of other origins must not read changes.
//!
//! The tests of `/mcp` cover it there. The unit tests of `http/origin.rs` cover each host name.

use shared_context_wire::http::{Options, parse_public_url};

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
