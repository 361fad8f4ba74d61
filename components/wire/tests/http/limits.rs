//! Limits of body length and request rate.

use std::{num::NonZeroU32, sync::atomic::Ordering};

use http::Request;
use serde_json::{Value, json};
use shared_context_wire::http::{BODY_BYTES_MAX, DOCUMENT_BYTES_MAX, Options, RateLimit};

use crate::bench::{ADMIN_KEY, Bench};

#[test]
fn a_body_over_the_length_limit_is_rejected() {
    let bench = Bench::new();
    let tool = "POST /v1/sessions/s/shared_context";
    let padded = |length: usize| {
        let request = r#"{"action":"list_keys"}"#;
        format!("{request}{}", " ".repeat(length - request.len()))
    };
    bench.check(tool, &padded(BODY_BYTES_MAX), 200, "keys");
    bench.check(tool, &padded(BODY_BYTES_MAX + 1), 413, "REQUEST_TOO_LARGE");
    bench.check(tool, &padded(10_000_000), 413, "store the conclusion, not the material");
    bench.check("GET /healthz", &padded(10_000_000), 413, "REQUEST_TOO_LARGE");
    bench.check("GET /healthz", "", 200, "ok");
}

/// The error contained only the limit, not the size of the body. It advised the sender of a batch
/// to shorten an entry.
#[test]
fn a_body_that_is_too_long_is_answered_with_its_size() {
    let bench = Bench::new();
    let check = |target: &str, length: &str, expected: &str, actual: Value| {
        let headers = [("content-length", length)];
        let long = " ".repeat(BODY_BYTES_MAX + 1);
        let seen = bench.check_as(&bench.orchestrator, target, &headers, &long, 413, expected);
        let error = &seen.json()["error"];
        assert_eq!((&error["limit"], &error["actual"]), (&json!(262_144), &actual), "{target}");
    };
    let entry = "PUT /v1/sessions/s/entries/a";
    let expected = "has 300000 bytes, at most 262144 are accepted; an entry is far smaller";
    check(entry, "300000", expected, json!(300_000));
    let expected = "has 300000 bytes, at most 262144 are accepted; send fewer items in one request";
    check("POST /v1/sessions/s/batch", "300000", expected, json!(300_000));
    check("POST /v1/sessions/s/rounds/deltas", "300000", expected, json!(300_000));
    // It named the route of an assembly, whatever the action was.
    let expected = "an action that has a route below …/context/ takes up to 2 MiB there";
    check("POST /v1/sessions/s/shared_context", "300000", expected, json!(300_000));
    // Of a body in chunks nobody knows the length, and a wrong one is not repeated.
    for unknown in ["", "x", "-1", "12", "262144", "99999999999999999999999"] {
        check(entry, unknown, "is longer than 262144 bytes; an entry is far smaller", Value::Null);
    }
}

#[test]
fn only_the_operator_may_send_a_long_document() {
    let bench = Bench::new();
    let import = "POST /v1/sessions/import";
    let read = |authorization: &[&str], target: &str| {
        let (method, uri) = target.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(uri);
        for it in authorization {
            request = request.header("authorization", *it);
        }
        bench.http.body_bytes_max(&request.body(()).unwrap().into_parts().0)
    };
    let admin = format!("Bearer {ADMIN_KEY}");
    assert_eq!(read(&[&admin], import), DOCUMENT_BYTES_MAX);
    assert_eq!(read(&[&admin], "POST /v1/sessions/import?session_id=x"), DOCUMENT_BYTES_MAX);
    let agent = format!("Bearer {}", bench.agent);
    for others in [&[][..], &[agent.as_str()], &["Bearer x"], &[ADMIN_KEY], &[&admin, &admin]] {
        assert_eq!(read(others, import), BODY_BYTES_MAX, "{others:?}");
    }
    for target in ["GET /v1/sessions/import", "POST /v1/sessions", "POST /nowhere", "PUT /x"] {
        assert_eq!(read(&[&admin], target), BODY_BYTES_MAX, "{target}");
    }
    let long = " ".repeat(BODY_BYTES_MAX + 1);
    bench.check_as("", import, &[], &long, 401, "UNAUTHENTICATED");
    bench.check_as(&bench.orchestrator, import, &[], &long, 403, "FORBIDDEN");
    bench.check_as(ADMIN_KEY, import, &[], &long, 400, "the body is empty");
    let longest = " ".repeat(DOCUMENT_BYTES_MAX);
    bench.check_as(ADMIN_KEY, import, &[], &longest, 400, "the body is empty");
    let expected = "longer than 16777216 bytes; delete snapshots";
    bench.check_as(ADMIN_KEY, import, &[], &format!("{longest} "), 413, expected);
}

#[test]
fn the_rate_limit_is_per_participant() {
    let bench = Bench::with(|options| {
        let number = |it| NonZeroU32::new(it).unwrap();
        let limit = RateLimit { per_second: number(2), burst: number(3), ..RateLimit::default() };
        Options { rate_limit: Some(limit), ..options }
    });
    let list = "GET /v1/sessions/s/entries";
    for left in ["2", "1", "0"] {
        let seen = bench.check(list, "", 200, "");
        assert_eq!(seen.header("ratelimit"), format!("\"participant\";r={left}"));
        assert_eq!(
            seen.header("ratelimit-policy"),
            "\"participant\";q=3;w=2, \"session\";q=24;w=2"
        );
    }
    let seen = bench.check(list, "", 429, "RATE_LIMITED");
    assert_eq!(seen.header("retry-after"), "1");
    assert_eq!(seen.header("ratelimit"), "\"participant\";r=0;t=1");
    assert_eq!(seen.header("ratelimit-policy"), "\"participant\";q=3;w=2, \"session\";q=24;w=2");
    // The limit does not affect public routes, unauthenticated callers or other participants.
    // The operator has used two of three requests: for the session and this credential.
    bench.check("GET /healthz", "", 200, "ok");
    bench.check_as("", list, &[], "", 401, "");
    bench.check_as(&bench.orchestrator, list, &[], "", 200, "");
    bench.check_as(ADMIN_KEY, list, &[], "", 200, "");
    let seen = bench.check_as(ADMIN_KEY, list, &[], "", 429, "RATE_LIMITED");
    assert_eq!(seen.header("cache-control"), "no-store");
    bench.engine.micros.fetch_add(500_000, Ordering::SeqCst);
    bench.check(list, "", 200, "keys");
    bench.check(list, "", 429, "RATE_LIMITED");
    let metrics = bench.check_as("", "GET /metrics", &[], "", 200, "").body;
    assert!(metrics.contains(r#"rejections_total{code="RATE_LIMITED"} 3"#), "{metrics}");
}

#[test]
fn a_new_credential_does_not_reset_the_rate_limit() {
    let bench = Bench::with(|options| {
        let one = NonZeroU32::MIN;
        let limit =
            RateLimit { per_second: one, burst: one.saturating_add(2), ..RateLimit::default() };
        Options { rate_limit: Some(limit), ..options }
    });
    let mint = "POST /v1/sessions/s/credentials";
    let body = r#"{"participant":"subagent:analysis"}"#;
    let minted = bench.check_as(&bench.orchestrator, mint, &[], body, 201, "").json();
    let list = "GET /v1/sessions/s/entries";
    for _ in 0..3 {
        bench.check(list, "", 200, "");
    }
    let second = minted["credential"].as_str().unwrap();
    bench.check_as(second, list, &[], "", 429, "RATE_LIMITED");
}

/// A long poll holds a connection as a stream does, but no limit counted it: up to a minute
/// each, 200 times a second.
#[test]
fn a_long_poll_counts_as_a_stream() {
    let bench = Bench::with(|options| {
        let streams = NonZeroU32::MIN;
        Options { rate_limit: Some(RateLimit { streams, ..RateLimit::default() }), ..options }
    });
    let (_, stream) = bench.watch(&bench.agent, "", None);
    let changes = "GET /v1/sessions/s/changes?since=1";
    bench.check(changes, "", 200, "");
    bench.check(&format!("{changes}&wait=5"), "", 429, "RATE_LIMITED");
    drop(stream);
    bench.check(&format!("{changes}&wait=5"), "", 200, "");
    bench.check(&format!("{changes}&wait=5"), "", 200, "");
}
