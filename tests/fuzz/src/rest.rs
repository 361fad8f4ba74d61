//! HTTP requests: each answer is documented in `openapi.json`. An error is a complete
//! problem document and changes nothing. `HEAD` has the headers of `GET`. No answer
//! contains a value that is hidden from its client, or a secret.

use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use serde_json::{Value, json};
use shared_context_wire::{
    credential::Keys,
    http::{Body, Http, Options},
};

use crate::{
    cases,
    documented::{self, Lookup},
    host::{HIDDEN_VALUE, MemoryHost, OTHER_VALUE, ready},
    script::{HttpRequest, requests},
};

pub(crate) const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
pub(crate) const ADMIN_KEY: &str = "admin-key-admin-key-admin-key-admin";

/// Credentials by their names in scripts.
static CREDENTIALS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let server = Server::without_credentials();
    let mint = |session: &str, participant: &str, keys: &[&str]| {
        let keys = if keys.is_empty() { Value::Null } else { json!(keys) };
        let body = json!({"participant": participant, "keys": keys});
        let request = Request::post(format!("/v1/sessions/{session}/credentials"));
        let request = request.header("authorization", format!("Bearer {ADMIN_KEY}"));
        let request = request.header("content-type", "application/json");
        let answer = server.answer(request.body(body.to_string().into()).expect("a request"));
        let minted: Value = serde_json::from_slice(&answer.body).expect("an answer");
        minted["credential"].as_str().expect("a credential").to_owned()
    };
    vec![
        ("admin", ADMIN_KEY.to_owned()),
        ("orchestrator", mint("main", "orchestrator", &[])),
        ("limited", mint("main", "subagent:limited", &["scope", "inv_*"])),
        ("elsewhere", mint("other", "orchestrator", &[])),
        ("subagent", mint("main", "subagent:a", &[])),
        ("void", "no.such.credential".to_owned()),
    ]
});

/// Returns the name and the credential of `who`. Scripts from the conformance suite name
/// participants; unknown ones have no credential.
fn credential(who: &str) -> Option<(&'static str, &'static str)> {
    let found = CREDENTIALS.iter().find(|(name, _)| who.starts_with(name));
    found.map(|(name, credential)| (*name, credential.as_str()))
}

/// A server without sockets, and its state.
#[derive(Debug)]
pub struct Server {
    pub(crate) host: MemoryHost,
    http: Http,
    /// True if a privileged client has made a change that may have revealed hidden values
    /// to others.
    has_revealed: bool,
}

/// The parts of a response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) is_live: bool,
}

impl Answer {
    /// Returns true for the rejection that is stored: that a lost lease was reported.
    pub(crate) fn reports_a_lost_lease(&self) -> bool {
        String::from_utf8_lossy(&self.body).contains("LEASE_EXPIRED")
    }
}

/// Makes the requests of `input`.
pub fn run(input: &[u8]) {
    let mut server = Server::new();
    for sent in requests(input).filter_map(HttpRequest::read) {
        server.send(sent);
    }
}

impl Server {
    /// Creates a server over a populated host.
    pub fn new() -> Self {
        // The credentials are minted by another server, which must be created first.
        LazyLock::force(&CREDENTIALS);
        Self::without_credentials()
    }

    fn without_credentials() -> Self {
        let keys = Keys::new(SECRET, ADMIN_KEY).expect("the keys are strong");
        let options = Options { rate_limit: None, ..Options::new(keys) };
        Self { host: MemoryHost::populated(), http: Http::new(options), has_revealed: false }
    }

    pub(crate) fn answer(&self, mut request: Request<Bytes>) -> Answer {
        request.headers_mut().entry("host").or_insert(HeaderValue::from_static("localhost"));
        let (head, body) = ready(self.http.handle(&self.host, request)).into_parts();
        let (body, is_live) = match body {
            Body::Whole(body) => (body, false),
            Body::Live(mut watch) => (ready(watch.next(&self.host)).unwrap_or_default(), true),
            Body::Socket(_) => panic!("this server has no sockets"),
        };
        Answer { status: head.status, headers: head.headers, body, is_live }
    }

    /// Sends a request and checks the properties of every answer.
    pub(crate) fn send(&mut self, sent: HttpRequest) -> Answer {
        self.host.pass(sent.passes);
        let mut request = sent.request;
        let shown = credential(&sent.who);
        if let Some((_, credential)) = shown {
            let bearer = HeaderValue::try_from(format!("Bearer {credential}")).expect("ASCII");
            request.headers_mut().append(header::AUTHORIZATION, bearer);
        }
        let is_get = request.method() == Method::GET;
        let head = is_get.then(|| {
            let mut head = request.clone();
            *head.method_mut() = Method::HEAD;
            self.answer(head)
        });
        let before = self.host.revisions();
        let original = request.clone();
        let answer = self.answer(request);
        let is_changed = self.host.revisions() != before;
        let is_safe = is_get || matches!(*original.method(), Method::HEAD | Method::OPTIONS);
        let is_done = answer.status.is_success() || answer.reports_a_lost_lease();
        assert!(!is_changed || (!is_safe && is_done), "it changed: {answer:?}");
        check_status(&original, &answer);
        check_problem(original.method(), &answer);
        if let Some(head) = head {
            check_head(&original, &head, &answer);
        }
        self.check_secrets(shown.map(|(name, _)| name), &original, &answer);
        self.has_revealed |= is_changed && !matches!(shown, Some(("subagent" | "limited", _)));
        answer
    }

    fn check_secrets(&self, who: Option<&str>, request: &Request<Bytes>, answer: &Answer) {
        let text = format!("{:?} {}", answer.headers, String::from_utf8_lossy(&answer.body));
        let sent = format!("{request:?} {}", String::from_utf8_lossy(request.body()));
        let is_revealed = |secret: &str| text.contains(secret) && !sent.contains(secret);
        for secret in [str::from_utf8(SECRET).expect("ASCII"), ADMIN_KEY] {
            assert!(!text.contains(secret), "a secret is revealed: {answer:?}");
        }
        if answer.status != StatusCode::CREATED {
            for (_, credential) in CREDENTIALS.iter() {
                assert!(!text.contains(credential), "a credential is revealed: {answer:?}");
            }
        }
        // The script's own header may have the credential of any client.
        let is_plain = request.headers().get_all(header::AUTHORIZATION).iter().count()
            == usize::from(who.is_some());
        if self.has_revealed || !is_plain {
            return;
        }
        if !matches!(who, Some("orchestrator" | "admin")) {
            assert!(!is_revealed(HIDDEN_VALUE), "{who:?} gets a hidden value: {answer:?}");
        }
        if !matches!(who, Some("elsewhere" | "admin")) {
            assert!(!is_revealed(OTHER_VALUE), "{who:?} gets another session's value: {answer:?}");
        }
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

/// Checks that the answer to `request` is documented.
fn check_status(request: &Request<Bytes>, answer: &Answer) {
    let status = answer.status.as_u16();
    let found = documented::look_up(request.method(), request.uri().path());
    match found {
        Lookup::UnknownPath => assert_eq!(status, 404, "an unknown path: {request:?} {answer:?}"),
        Lookup::OtherMethods if request.method() == Method::OPTIONS => {
            assert_eq!(status, 204, "{answer:?}");
        }
        Lookup::OtherMethods => assert_eq!(status, 405, "another method: {request:?} {answer:?}"),
        Lookup::Operation(_) if request.method() == Method::HEAD && status == 405 => {
            assert_eq!(request.uri().path(), "/mcp");
        }
        Lookup::Operation(operation) => {
            assert_ne!(status, 500, "{request:?} {answer:?}");
            let types = operation.types(status);
            let types = types.unwrap_or_else(|| panic!("not documented: {request:?} {answer:?}"));
            let kind = answer.headers.get(header::CONTENT_TYPE).map(|it| it.to_str().unwrap_or(""));
            let essence = |it: &str| it.split(';').next().unwrap_or_default().trim().to_owned();
            let is_known = kind.map_or_else(
                || answer.body.is_empty(),
                |kind| types.iter().any(|it| essence(it) == essence(kind)),
            );
            assert!(is_known, "{kind:?} is not documented: {request:?} {answer:?}");
            let has_credential = request.headers().contains_key(header::AUTHORIZATION);
            if operation.is_guarded && !has_credential {
                assert!([401, 400, 403].contains(&status), "without a credential: {answer:?}");
            }
        }
    }
    let allows = answer.headers.contains_key(header::ALLOW);
    assert_eq!(allows, status == 405 || (status == 204 && request.method() == Method::OPTIONS));
    let challenges = answer.headers.contains_key(header::WWW_AUTHENTICATE);
    assert_eq!(challenges, status == 401, "{answer:?}");
    let is_later = answer.headers.contains_key(header::RETRY_AFTER);
    assert!(is_later || status != 429, "{answer:?}");
    assert!(answer.headers.contains_key("x-request-id"), "{answer:?}");
}

/// Checks that an error is a complete problem document.
fn check_problem(method: &Method, answer: &Answer) {
    let is_error = answer.status.is_client_error() || answer.status.is_server_error();
    let kind = answer.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_problem = kind == Some(b"application/problem+json");
    if method != Method::HEAD && (is_problem || kind == Some(b"application/json")) {
        let _: Value = serde_json::from_slice(&answer.body).expect("the body is JSON");
    }
    // Errors of MCP have their own form.
    if !is_error || answer.body.starts_with(br#"{"jsonrpc""#) || answer.body.is_empty() {
        return;
    }
    assert!(is_problem, "{answer:?}");
    let problem: Value = serde_json::from_slice(&answer.body).expect("a problem is JSON");
    assert_eq!(problem["status"], answer.status.as_u16());
    assert_eq!(problem["detail"], problem["error"]["message"]);
    let code = problem["error"]["code"].as_str().expect("a code");
    assert_eq!(problem["type"], format!("urn:shared-context:error:{code}"));
    assert_eq!(problem["instance"].as_str().map(str::as_bytes), request_id(answer));
}

fn request_id(answer: &Answer) -> Option<&[u8]> {
    answer.headers.get("x-request-id").map(HeaderValue::as_bytes)
}

/// Checks that `HEAD` was answered like `GET`, except for the body (RFC 9110 §9.3.2).
fn check_head(request: &Request<Bytes>, head: &Answer, get: &Answer) {
    assert!(head.is_live || head.body.is_empty(), "HEAD has a body: {head:?}");
    // `HEAD` is rejected here, because it would end an open stream.
    if request.uri().path() == "/mcp" {
        return;
    }
    assert_eq!(head.status, get.status, "HEAD and GET of {}", request.uri());
    for name in [header::CONTENT_TYPE, header::ETAG, header::CACHE_CONTROL, header::VARY] {
        assert_eq!(head.headers.get(&name), get.headers.get(&name), "{name}");
    }
    let is_steady = request.uri().path() != "/metrics"
        && !get.is_live
        && !get.status.is_client_error()
        && !get.body.is_empty();
    if is_steady {
        let length = head.headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok());
        assert_eq!(length, Some(get.body.len().to_string().as_str()), "{}", request.uri());
    }
}

/// Returns the requests of the conformance suite.
pub fn seeds() -> Vec<Vec<u8>> {
    cases::scripts(|step| {
        cases::http_request(step).or_else(|| {
            // A JSON tool request, sent over HTTP.
            let request = cases::tool_request(step)?;
            let who = cases::caller_line(step);
            let who = if who.contains(" only ") { "limited" } else { who.split(' ').next()? };
            let head = format!(
                "POST /v1/sessions/main/shared_context\nas: {who}\ncontent-type: application/json\n\n"
            );
            Some([head.as_bytes(), &request].concat())
        })
    })
}
