//! A server whose every request has an interface of its own, which keeps nothing for
//! the next one.

use std::sync::LazyLock;

use http::{HeaderValue, Method, Request, Uri, header::HeaderName};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    anything,
    bench::{ADMIN_KEY, Bench, Seen},
    changes::{CHANGES, keys},
};

/// One that keeps everything and one that keeps nothing, asked the same.
static BOTH: LazyLock<[Bench; 2]> = LazyLock::new(|| [Bench::new(), Bench::forgetful()]);

#[test]
fn there_are_no_metrics_and_a_scraper_is_told_why() {
    let bench = Bench::forgetful();
    let seen = bench.check_as("", "GET /metrics", &[], "", 404, "NOT_FOUND");
    let message = seen.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("this server keeps nothing between requests"), "{message}");
    assert!(message.contains("the platform that runs it"), "{message}");
    for target in ["GET /metrics?x=1", "POST /metrics", "OPTIONS /metrics", "BREW /metrics"] {
        bench.check_as("", target, &[], "", 404, "no metrics");
    }
    let head = bench.check_as("", "HEAD /metrics", &[], "", 404, "");
    assert_eq!(head.body, "");
    assert!(!bench.check_as("", "GET /v1/tools", &[], "", 200, "").body.is_empty());
}

#[test]
fn nobodys_rate_is_limited_and_nothing_is_said_of_it() {
    let bench = Bench::forgetful();
    for _ in 0..1_000 {
        let seen = bench.check("GET /v1/sessions/s/entries", "", 200, "");
        assert!(!seen.headers.contains_key("ratelimit"), "{seen:?}");
        assert!(!seen.headers.contains_key("ratelimit-policy"), "{seen:?}");
    }
    let streams: Vec<_> = (0..100).map(|_| bench.watch(&bench.agent, "", None)).collect();
    for (headers, _) in &streams {
        assert!(!headers.contains_key("ratelimit"), "{headers:?}");
    }
}

#[test]
fn a_stream_and_a_wait_live_within_their_request() {
    let bench = Bench::forgetful();
    let (_, mut watch) = bench.watch(&bench.agent, "", None);
    assert!(bench.next(&mut watch).unwrap().contains("changes after revision 1"));
    bench.meanwhile_write("a");
    let text = bench.next(&mut watch).unwrap();
    assert!(text.starts_with("id: 2\nevent: change\n"), "{text}");
    assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
    // Another request goes on where that one was.
    let (_, mut watch) = bench.watch(&bench.agent, "", Some("1"));
    assert!(bench.next(&mut watch).unwrap().contains("id: 2\nevent: change\n"));
    bench.meanwhile_write("b");
    let page = bench.check(&format!("{CHANGES}?since=2&wait=30"), "", 200, "").json();
    assert_eq!((keys(&page), &page["next_since"]), (vec!["b"], &json!(3)));
}

#[test]
fn a_credential_is_looked_at_with_each_request() {
    let bench = Bench::forgetful();
    bench.check("GET /v1/sessions/s", "", 200, "");
    bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/revoke", &[], "", 200, "");
    bench.check("GET /v1/sessions/s", "", 401, "UNAUTHENTICATED");
    bench.check_as(
        "no.such.credential",
        "GET /v1/sessions/s",
        &[],
        "",
        401,
        "neither the admin key",
    );
}

/// Returns what is answered, but for what differs from request to request.
fn told(seen: &Seen) -> (u16, Value, Vec<(String, String)>) {
    let mut body = serde_json::from_str(&seen.body).unwrap_or_else(|_| json!(seen.body));
    if let Some(members) = body.as_object_mut() {
        members.remove("instance");
    }
    let own = ["x-request-id", "content-length"];
    let headers = seen.headers.iter().filter(|(name, _)| !own.contains(&name.as_str()));
    let headers = headers.map(|(name, value)| {
        (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    (seen.status.as_u16(), body, headers.collect())
}

fn ask(bench: &Bench, who: u8, request: &Request<bytes::Bytes>) -> Seen {
    let token = match who {
        0 => ADMIN_KEY,
        1 => &bench.orchestrator,
        _ => &bench.agent,
    };
    let mut request = request.clone();
    let bearer = HeaderValue::try_from(format!("Bearer {token}")).unwrap();
    request.headers_mut().insert("authorization", bearer);
    bench.handle(request)
}

#[track_caller]
fn check_same(
    who: u8,
    method: Method,
    target: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Vec<u8>,
) {
    let mut request = Request::new(bytes::Bytes::from(body));
    *request.method_mut() = method;
    *request.uri_mut() = target;
    request.headers_mut().extend(headers);
    let [kept, forgotten] = BOTH.each_ref().map(|it| told(&ask(it, who, &request)));
    assert_eq!(kept, forgotten, "{request:?}");
}

#[test]
fn what_needs_no_memory_is_answered_as_by_who_remembers() {
    for target in [
        "GET /",
        "GET /healthz",
        "HEAD /healthz",
        "POST /healthz",
        "OPTIONS /healthz",
        "GET /openapi.json",
        "GET /v1/tools?format=anthropic",
        "GET /.well-known/oauth-protected-resource/mcp",
        "GET /v1/sessions",
        "GET /v1/sessions/s",
        "OPTIONS /v1/sessions/s",
        "GET /v1/sessions/s/prompt",
        "GET /nowhere",
        "PUT /mcp/",
    ] {
        let (method, target) = target.split_once(' ').unwrap();
        for who in 0..3 {
            check_same(who, method.parse().unwrap(), target.parse().unwrap(), vec![], vec![]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_session_is_the_same_to_who_remembers_requests_and_to_who_does_not(
        method in anything::method(), target in anything::target(),
        headers in anything::headers(), body in anything::body(), who in 0..3_u8,
    ) {
        check_same(who, method, target, headers, body);
    }
}
