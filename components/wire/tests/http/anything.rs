//! Random requests: every one gets a valid response.

use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use proptest::prelude::*;

use crate::bench::{ADMIN_KEY, Bench};

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
const HEADERS: [&str; 9] = [
    "accept",
    "content-type",
    "content-encoding",
    "if-match",
    "if-none-match",
    "idempotency-key",
    "x-request-id",
    "traceparent",
    "authorization",
];
const SEGMENTS: [&str; 17] = [
    "entries",
    "memory",
    "shared_context",
    "prompt",
    "audit",
    "archive",
    "snapshots",
    "history",
    "access",
    "redact",
    "diff",
    "restore",
    "inspect",
    "export",
    "import",
    "changes",
    "revoke",
];
const BODY: &str = "[{\\[]?(\"(action|key|value|read|write|list_keys|scope|session_id|participant|label|reason|command|path|file_text)\"[:,]){0,4}\"(read|write|scope|subagent:a|view|create|delete|/memories|/memories/a/)\"[}\\]]?";

static BENCH: LazyLock<Bench> = LazyLock::new(Bench::new);

pub(crate) fn method() -> impl Strategy<Value = Method> {
    prop_oneof![
        9 => prop::sample::select(&METHODS[..]).prop_map(|it| it.parse().unwrap()),
        1 => "[A-Z]{1,12}".prop_map(|it| it.parse().unwrap()),
    ]
}

pub(crate) fn target() -> impl Strategy<Value = Uri> {
    let segment = prop_oneof![
        Just("s".to_owned()),
        Just("t".to_owned()),
        prop::sample::select(&SEGMENTS[..]).prop_map(str::to_owned),
        "[ -~]{0,8}",
        "(%[0-9a-fA-F]{2}){1,4}",
    ];
    let query = prop_oneof![Just(String::new()), "\\?[ -~]{0,20}", "\\?limit=[0-9]{0,25}"];
    (prop::collection::vec(segment, 0..6), query).prop_filter_map("no URI", |(path, query)| {
        format!("/v1/sessions/{}{query}", path.join("/")).parse().ok()
    })
}

pub(crate) fn headers() -> impl Strategy<Value = Vec<(HeaderName, HeaderValue)>> {
    let name = prop::sample::select(&HEADERS[..]).prop_map(HeaderName::from_static);
    let value = prop_oneof![
        prop::sample::select(&["*", "\"1\"", "text/plain", "application/json", "Bearer x"][..])
            .prop_map(|it| it.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    let value = value.prop_filter_map("no value", |it| HeaderValue::from_bytes(&it).ok());
    prop::collection::vec((name, value), 0..4)
}

pub(crate) fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(any::<u8>(), 0..60),
        BODY.prop_map(String::into_bytes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// `Bench::handle` checks the invariants of every response.
    #[test]
    fn every_request_gets_one_valid_response(
        method in method(), target in target(), headers in headers(), body in body(),
        caller in 0..3_u8,
    ) {
        let token = match caller {
            0 => ADMIN_KEY,
            1 => &BENCH.orchestrator,
            _ => &BENCH.agent,
        };
        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = target;
        let bearer = HeaderValue::try_from(format!("Bearer {token}")).unwrap();
        request.headers_mut().insert("authorization", bearer);
        for (name, value) in headers {
            request.headers_mut().append(name, value);
        }
        let seen = BENCH.handle(request);
        prop_assert_ne!(seen.status, 500, "{:?}", seen);
    }
}
