//! Properties of all routes: methods, request ids, lengths, and futures that are `Send`.

use bytes::Bytes;
use http::{Method, Request};

use shared_context_wire::http::Body;

use crate::bench::{ADMIN_KEY, Bench, LocalEngine, ready};

#[test]
fn futures_are_send_if_those_of_the_engine_are() {
    fn is_send<T: Send>(_: &T) {}
    let bench = Bench::new();
    is_send(&bench.http.handle::<LocalEngine>(&bench.engine, Request::default()));
    let (_, mut watch) = bench.watch(&bench.agent, "", None);
    is_send(&watch.next::<LocalEngine>(&bench.engine));
}

#[test]
fn head_returns_the_response_of_get_without_its_body() {
    let bench = Bench::new();
    bench.check("PUT /v1/sessions/s/entries/a", "x", 201, "");
    for path in [
        "/",
        "/healthz",
        "/openapi.json",
        "/v1/tools",
        "/v1/sessions/s",
        "/v1/sessions/s/entries",
        "/v1/sessions/s/entries/a",
        "/v1/sessions/s/entries/a/history",
        "/v1/sessions/s/snapshots",
        "/v1/sessions/s/prompt",
        "/v1/sessions/s/entries/none",
        "/nowhere",
    ] {
        let get = bench.send(&bench.agent, &format!("GET {path}"), &[("x-request-id", "1")], "");
        let head = bench.send(&bench.agent, &format!("HEAD {path}"), &[("x-request-id", "1")], "");
        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(head.body, "", "{path}");
        assert_eq!(head.header("content-length"), get.body.len().to_string(), "{path}");
        assert_eq!(head.header("etag"), get.header("etag"), "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
    }
    bench.check("HEAD /v1/sessions/s/shared_context", "", 405, "");
}

/// RFC 9110 §9.3.7: the asterisk is the server as a whole. It once was 404.
#[test]
fn options_of_the_server_returns_all_methods() {
    let bench = Bench::new();
    let seen = bench.check("OPTIONS *", "", 204, "");
    assert_eq!(seen.header("allow"), "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    bench.check("GET *", "", 404, "NOT_FOUND");
}

/// A 415 once did not say in a header what is taken (RFC 9110 §15.5.16, RFC 5789 §2.2).
#[test]
fn an_unsupported_media_type_gets_415_with_what_is_taken() {
    let bench = Bench::new();
    let check = |target: &str, header: (&str, &str), name: &str, value: &str| {
        let seen = bench.send(ADMIN_KEY, target, &[header], "{}");
        assert_eq!((seen.status.as_u16(), seen.header(name)), (415, value), "{target}");
    };
    let tool = "POST /v1/sessions/s/shared_context";
    let xml = ("content-type", "application/xml");
    check(tool, xml, "accept", "application/json");
    check(tool, ("content-type", "application/json; charset=utf-16"), "accept", "application/json");
    check(tool, ("content-encoding", "gzip"), "accept-encoding", "identity");
    check("PUT /v1/sessions/s/entries/a", xml, "accept", "application/json, text/plain");
    check("PATCH /v1/sessions/s", xml, "accept-patch", "application/merge-patch+json");
    let seen = bench.check("OPTIONS /v1/sessions/s", "", 204, "");
    assert_eq!(seen.header("accept-patch"), "application/merge-patch+json");
}

#[test]
fn an_unsupported_method_gets_405_with_allow() {
    let bench = Bench::new();
    let check = |target: &str, status: u16, allow: &str| {
        let seen = bench.check(target, "", status, "");
        assert_eq!(seen.header("allow"), allow, "{target}");
    };
    let entry = "/v1/sessions/s/entries/a";
    check(&format!("PATCH {entry}"), 405, "GET, HEAD, PUT, DELETE, OPTIONS");
    check(&format!("POST {entry}"), 405, "GET, HEAD, PUT, DELETE, OPTIONS");
    check(&format!("OPTIONS {entry}"), 204, "GET, HEAD, PUT, DELETE, OPTIONS");
    check("GET /v1/sessions/s/shared_context", 405, "POST, OPTIONS");
    check("TRACE /healthz", 405, "GET, HEAD, OPTIONS");
    check("BREW /", 405, "GET, HEAD, OPTIONS");
    check("DELETE /v1/sessions", 405, "GET, HEAD, POST, OPTIONS");
    check("PUT /v1/sessions/import", 405, "POST, GET, HEAD, PATCH, DELETE, OPTIONS");
    check("PUT /v1/sessions/s/snapshots/a", 405, "GET, HEAD, DELETE, OPTIONS");
    check("GET /v1/sessions/s/snapshots/a/restore", 405, "POST, OPTIONS");
    check("OPTIONS /nowhere", 404, "");
    bench.check("GET /v1/sessions/s/archive", "", 405, "use one of POST, OPTIONS");
}

#[test]
fn every_response_has_the_id_of_its_request() {
    let bench = Bench::with(|options| shared_context_wire::http::Options {
        request_id_seed: 0x5eed,
        ..options
    });
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for target in ["GET /healthz", "GET /nowhere", "GET /v1/sessions/s", "GET /v1/sessions"] {
        let headers = [("x-request-id", "job-7"), ("traceparent", parent)];
        let seen = bench.send(&bench.agent, target, &headers, "");
        assert_eq!(seen.header("x-request-id"), "job-7", "{target}");
        assert_eq!(seen.header("traceparent"), parent, "{target}");
        let own = bench.send(&bench.agent, target, &[("x-request-id", "<script>")], "");
        assert!(own.header("x-request-id").starts_with("5eed-"), "{own:?}");
        assert_eq!(own.header("traceparent"), "");
    }
}

#[test]
fn a_host_can_reject_a_request_before_its_body() {
    let bench = Bench::new();
    let request = Request::builder()
        .method(Method::PUT)
        .uri("/v1/sessions/s/entries/a")
        .header("host", "localhost")
        .header("x-request-id", "big-1")
        .header("authorization", format!("Bearer {}", bench.agent))
        .body(())
        .unwrap();
    let (mut head, ()) = request.into_parts();
    assert_eq!(bench.http.body_bytes_max(&head), 262_144);
    let response = ready(bench.http.too_large(&bench.engine, &head));
    assert_eq!(response.status(), 413);
    assert_eq!(response.headers()["x-request-id"], "big-1");
    let Body::Whole(body) = response.body() else { panic!("a stream") };
    let body: serde_json::Value = serde_json::from_slice(body).unwrap();
    assert_eq!(body["error"]["code"], "REQUEST_TOO_LARGE");
    assert_eq!(body["error"]["limit"], 262_144);
    let stopping =
        shared_context_codec::Failure::new("STORAGE_UNAVAILABLE", "the server is stopping");
    assert_eq!(bench.http.refuse(&head, stopping).status(), 503);
    let metrics = bench.send("", "GET /metrics", &[], Bytes::new()).body;
    let counted = r#"route="/v1/sessions/{session}/entries/{key}",method="PUT",status="413"} 1"#;
    assert!(metrics.contains(counted), "{metrics}");
    // The credential is checked before the length.
    head.headers.remove("authorization");
    assert_eq!(ready(bench.http.too_large(&bench.engine, &head)).status(), 401);
}

/// Once `/healthz` and `/metrics` could be cached, so a proxy could report a server that was gone.
#[test]
fn responses_are_not_cached() {
    let bench = Bench::new();
    let of_session =
        ["GET /v1/sessions/s", "GET /v1/sessions/s/entries", "GET /v1/sessions/s/prompt"];
    let open = ["GET /healthz", "GET /metrics", "GET /openapi.json", "GET /"];
    for target in of_session.into_iter().chain(open) {
        assert_eq!(bench.check(target, "", 200, "").header("cache-control"), "no-store");
    }
    let list = bench.check_as(ADMIN_KEY, "GET /v1/sessions", &[], "", 200, "");
    assert_eq!(list.header("cache-control"), "no-store");
}
