//! `Host`: every request of HTTP/1.1 names the server it is for, once (RFC 9112 §3.2).

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

/// A request without `Host`, or with two, was answered everywhere but at `/mcp`; a path
/// that is none was answered 404 first. Proxies that read another of two hosts than the
/// server does can be played off against it.
#[test]
fn a_request_names_its_server_once_wherever_it_goes() {
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
fn older_and_newer_versions_need_no_host() {
    for host in ["localhost", "127.0.0.1:8787", "[::1]:8787", "memory.example.com"] {
        check(Version::HTTP_11, "/healthz", &[host], 200);
    }
    check(Version::HTTP_10, "/healthz", &[], 200);
    check(Version::HTTP_10, "/healthz", &["a", "b"], 400);
    check(Version::HTTP_2, "https://localhost/healthz", &[], 200);
}
