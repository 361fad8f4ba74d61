//! A stateless server: each request gets a new [`Http`](shared_context_wire::http::Http), and
//! nothing is stored for the next one.

use std::sync::LazyLock;

use http::{HeaderValue, Method, Request, Uri, header::HeaderName};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    anything,
    bench::{ADMIN_KEY, Bench, TestResponse},
    changes::{CHANGES, keys},
};

/// A stateful and a stateless server that get the same requests.
static BOTH: LazyLock<[Bench; 2]> = LazyLock::new(|| [Bench::new(), Bench::stateless()]);

#[test]
fn there_are_no_metrics_and_the_error_explains_why() {
    let bench = Bench::stateless();
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
fn there_is_no_rate_limit_and_no_rate_limit_header() {
    let bench = Bench::stateless();
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
fn streams_and_long_polls_work_within_one_request() {
    let bench = Bench::stateless();
    let (_, mut watch) = bench.watch(&bench.agent, "", None);
    assert!(bench.next(&mut watch).unwrap().contains("changes after revision 1"));
    bench.write_during_wait("a");
    let text = bench.next(&mut watch).unwrap();
    assert!(text.starts_with("id: 2\nevent: change\n"), "{text}");
    assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
    // A new request continues where the last one stopped.
    let (_, mut watch) = bench.watch(&bench.agent, "", Some("1"));
    assert!(bench.next(&mut watch).unwrap().contains("id: 2\nevent: change\n"));
    bench.write_during_wait("b");
    let page = bench.check(&format!("{CHANGES}?since=2&wait=30"), "", 200, "").json();
    assert_eq!((keys(&page), &page["next_since"]), (vec!["b"], &json!(3)));
}

#[test]
fn each_request_verifies_its_credential() {
    let bench = Bench::stateless();
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

/// Returns status, body and headers without the parts that differ in each response.
fn comparable(seen: &TestResponse) -> (u16, Value, Vec<(String, String)>) {
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

fn send(bench: &Bench, caller: u8, request: &Request<bytes::Bytes>) -> TestResponse {
    let token = match caller {
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
    caller: u8,
    method: Method,
    target: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Vec<u8>,
) {
    let mut request = Request::new(bytes::Bytes::from(body));
    *request.method_mut() = method;
    *request.uri_mut() = target;
    request.headers_mut().extend(headers);
    let [stateful, stateless] = BOTH.each_ref().map(|it| comparable(&send(it, caller, &request)));
    assert_eq!(stateful, stateless, "{request:?}");
}

#[test]
fn fixed_requests_get_the_same_response_when_stateless() {
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
        for caller in 0..3 {
            check_same(caller, method.parse().unwrap(), target.parse().unwrap(), vec![], vec![]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_requests_get_the_same_response_when_stateless(
        method in anything::method(), target in anything::target(),
        headers in anything::headers(), body in anything::body(), caller in 0..3_u8,
    ) {
        check_same(caller, method, target, headers, body);
    }
}
