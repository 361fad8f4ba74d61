//! The header `Host`: an HTTP/1.1 request has exactly one (RFC 9112 §3.2).

use bytes::Bytes;
use http::{Request, Version};

use crate::bench::{Bench, ready};

#[track_caller]
fn check(version: Version, uri: &str, hosts: &[&str], status: u16) {
    let bench = Bench::new();
    let mut request = Request::get(uri).version(version);
    for host in hosts {
        request = request.header("host", *host);
    }
    let request = request.body(Bytes::new()).unwrap();
    let response = ready(bench.http.handle(&bench.engine, request));
    assert_eq!(response.status(), status, "{version:?} {uri} {hosts:?}");
}

/// Only `/mcp` rejected a request with no `Host` or two; an unknown path got 404 first. If a
/// proxy and the server each read another of two hosts, an attacker can exploit that.
#[test]
fn every_route_requires_exactly_one_host() {
    for uri in ["/", "/healthz", "/v1/sessions", "/v1/sessions/s/entries/a", "/mcp", "/nowhere"] {
        check(Version::HTTP_11, uri, &[], 400);
        check(Version::HTTP_11, uri, &["a", "b"], 400);
        check(Version::HTTP_11, uri, &["a", "a"], 400);
        for wrong in ["", "a b", "a, b", "http://a", "a/b", "u@a", "a:port"] {
            check(Version::HTTP_11, uri, &[wrong], 400);
        }
    }
    check(Version::HTTP_11, "http://localhost/healthz", &[], 400);
}

#[test]
fn http_1_0_and_http_2_need_no_host() {
    for host in ["localhost", "127.0.0.1:8787", "[::1]:8787", "memory.example.com"] {
        check(Version::HTTP_11, "/healthz", &[host], 200);
    }
    check(Version::HTTP_10, "/healthz", &[], 200);
    check(Version::HTTP_10, "/healthz", &["a", "b"], 400);
    check(Version::HTTP_2, "https://localhost/healthz", &[], 200);
}
