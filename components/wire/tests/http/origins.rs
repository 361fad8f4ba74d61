//! Whose page asks: what is no page's to read is not sent to one of another origin.
//!
//! The same for `/mcp` is told in `mcp`, and in `http/origin.rs` name by name.

use shared_context_wire::http::{Options, parse_public_url};

use crate::{
    bench::Bench,
    changes::CHANGES,
    sockets::{UPGRADE, answered, open_streams},
};

/// A browser lets any page open a socket and read what comes over it; only `Origin` tells
/// whose page it is. It was looked at for `/mcp` alone.
#[test]
fn no_page_of_another_origin_opens_a_socket() {
    let check = |options: fn(Options) -> Options, from: &[(&str, &str)], status: u16| {
        let bench = Bench::with(|it| options(Options { has_sockets: true, ..it }));
        let headers = [UPGRADE, from].concat();
        if status == 101 {
            assert_eq!(answered(&bench, "GET", &headers), "socket", "{from:?}");
        } else {
            let (told, token) = ("FORBIDDEN", &bench.agent);
            bench.check_as(token, CHANGES, &headers, "", status, told);
            // Whoever is refused is not asked who it is.
            bench.check_as("", CHANGES, &headers, "", status, told);
            open_streams(&bench, 0);
        }
        // Its page can ask for changes otherwise, and is not let read them.
        assert_eq!(answered(&bench, "GET", from), "page", "{from:?}");
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
