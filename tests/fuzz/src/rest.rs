//! Requests of HTTP: each gets an answer that `openapi.json` announces; a refusal is
//! a whole problem document and changes nothing; `HEAD` says what `GET` says; what is
//! hidden from someone is in no answer to them, and no secret in any.

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
    documented::{self, Known},
    place::{HIDDEN_VALUE, OTHER_VALUE, Place, ready},
    script::{Sent, requests},
};

pub(crate) const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
pub(crate) const ADMIN_KEY: &str = "admin-key-admin-key-admin-key-admin";

/// Credentials by the names that scripts have for them.
static CREDENTIALS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let desk = Desk::without_credentials();
    let mint = |session: &str, participant: &str, keys: &[&str]| {
        let keys = if keys.is_empty() { Value::Null } else { json!(keys) };
        let body = json!({"participant": participant, "keys": keys});
        let request = Request::post(format!("/v1/sessions/{session}/credentials"));
        let request = request.header("authorization", format!("Bearer {ADMIN_KEY}"));
        let request = request.header("content-type", "application/json");
        let seen = desk.answer(request.body(body.to_string().into()).expect("a request"));
        let told: Value = serde_json::from_slice(&seen.body).expect("an answer");
        told["credential"].as_str().expect("a credential").to_owned()
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

/// Returns the name of the credential that `who` shows, and the credential. Scripts of the
/// conformance suite name participants; those that nobody knows show nothing.
fn credential(who: &str) -> Option<(&'static str, &'static str)> {
    let found = CREDENTIALS.iter().find(|(name, _)| who.starts_with(name));
    found.map(|(name, credential)| (*name, credential.as_str()))
}

/// A server without sockets, and what was done there so far.
#[derive(Debug)]
pub struct Desk {
    pub(crate) place: Place,
    http: Http,
    /// Whether someone who may have done something by which hidden things are known
    /// to others now.
    has_revealed: bool,
}

/// A response, taken apart.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) is_live: bool,
}

/// Makes the requests of `input`.
pub fn run(input: &[u8]) {
    let mut desk = Desk::new();
    for sent in requests(input).filter_map(Sent::read) {
        desk.send(sent);
    }
}

impl Desk {
    /// Creates a new one over an inhabited place.
    pub fn new() -> Self {
        // Minted at another desk, which is made first.
        LazyLock::force(&CREDENTIALS);
        Self::without_credentials()
    }

    fn without_credentials() -> Self {
        let keys = Keys::new(SECRET, ADMIN_KEY).expect("the keys are strong");
        let options = Options { rate_limit: None, ..Options::new(keys) };
        Self { place: Place::inhabited(), http: Http::new(options), has_revealed: false }
    }

    pub(crate) fn answer(&self, mut request: Request<Bytes>) -> Seen {
        request.headers_mut().entry("host").or_insert(HeaderValue::from_static("localhost"));
        let (head, body) = ready(self.http.handle(&self.place, request)).into_parts();
        let (body, is_live) = match body {
            Body::Whole(body) => (body, false),
            Body::Live(mut watch) => (ready(watch.next(&self.place)).unwrap_or_default(), true),
            Body::Socket(_) => panic!("nobody has sockets here"),
        };
        Seen { status: head.status, headers: head.headers, body, is_live }
    }

    /// Sends `sent`, and checks what is true of every answer.
    pub(crate) fn send(&mut self, sent: Sent) -> Seen {
        self.place.pass(sent.passes);
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
        let before = self.place.revisions();
        let asked = request.clone();
        let seen = self.answer(request);
        let is_changed = self.place.revisions() != before;
        let is_safe = is_get || matches!(*asked.method(), Method::HEAD | Method::OPTIONS);
        assert!(!is_changed || (!is_safe && seen.status.is_success()), "it changed: {seen:?}");
        check_status(&asked, &seen);
        check_problem(asked.method(), &seen);
        if let Some(head) = head {
            check_head(&asked, &head, &seen);
        }
        self.check_secrets(shown.map(|(name, _)| name), &asked, &seen);
        self.has_revealed |= is_changed && !matches!(shown, Some(("subagent" | "limited", _)));
        seen
    }

    fn check_secrets(&self, who: Option<&str>, asked: &Request<Bytes>, seen: &Seen) {
        let told = format!("{:?} {}", seen.headers, String::from_utf8_lossy(&seen.body));
        let sent = format!("{asked:?} {}", String::from_utf8_lossy(asked.body()));
        let is_told = |secret: &str| told.contains(secret) && !sent.contains(secret);
        for secret in [str::from_utf8(SECRET).expect("ASCII"), ADMIN_KEY] {
            assert!(!told.contains(secret), "a secret is told: {seen:?}");
        }
        if seen.status != StatusCode::CREATED {
            for (_, credential) in CREDENTIALS.iter() {
                assert!(!told.contains(credential), "a credential is told: {seen:?}");
            }
        }
        // A credential in a header of the script's own may be anybody's.
        let is_plain = asked.headers().get_all(header::AUTHORIZATION).iter().count()
            == usize::from(who.is_some());
        if self.has_revealed || !is_plain {
            return;
        }
        if !matches!(who, Some("orchestrator" | "admin")) {
            assert!(!is_told(HIDDEN_VALUE), "{who:?} is told what is hidden: {seen:?}");
        }
        if !matches!(who, Some("elsewhere" | "admin")) {
            assert!(!is_told(OTHER_VALUE), "{who:?} is told of another session: {seen:?}");
        }
    }
}

impl Default for Desk {
    fn default() -> Self {
        Self::new()
    }
}

/// Checks that `asked` may be answered so, as the document has it.
fn check_status(asked: &Request<Bytes>, seen: &Seen) {
    let status = seen.status.as_u16();
    let found = documented::look_up(asked.method(), asked.uri().path());
    match found {
        Known::Nothing => assert_eq!(status, 404, "an unknown path: {asked:?} {seen:?}"),
        Known::Path if asked.method() == Method::OPTIONS => assert_eq!(status, 204, "{seen:?}"),
        Known::Path => assert_eq!(status, 405, "another method: {asked:?} {seen:?}"),
        Known::Operation(_) if asked.method() == Method::HEAD && status == 405 => {
            assert_eq!(asked.uri().path(), "/mcp");
        }
        Known::Operation(operation) => {
            assert_ne!(status, 500, "{asked:?} {seen:?}");
            let types = operation.types(status);
            let types = types.unwrap_or_else(|| panic!("not documented: {asked:?} {seen:?}"));
            let told = seen.headers.get(header::CONTENT_TYPE).map(|it| it.to_str().unwrap_or(""));
            let essence = |it: &str| it.split(';').next().unwrap_or_default().trim().to_owned();
            let is_known = told.map_or_else(
                || seen.body.is_empty(),
                |told| types.iter().any(|it| essence(it) == essence(told)),
            );
            assert!(is_known, "{told:?} is not documented: {asked:?} {seen:?}");
            let has_shown = asked.headers().contains_key(header::AUTHORIZATION);
            if operation.is_guarded && !has_shown {
                assert!([401, 400, 403].contains(&status), "without a credential: {seen:?}");
            }
        }
    }
    let allows = seen.headers.contains_key(header::ALLOW);
    assert_eq!(allows, status == 405 || (status == 204 && asked.method() == Method::OPTIONS));
    let challenges = seen.headers.contains_key(header::WWW_AUTHENTICATE);
    assert_eq!(challenges, status == 401, "{seen:?}");
    let is_later = seen.headers.contains_key(header::RETRY_AFTER);
    assert!(is_later || status != 429, "{seen:?}");
    assert!(seen.headers.contains_key("x-request-id"), "{seen:?}");
}

/// Checks that a refusal is a whole problem document.
fn check_problem(method: &Method, seen: &Seen) {
    let is_refusal = seen.status.is_client_error() || seen.status.is_server_error();
    let kind = seen.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_problem = kind == Some(b"application/problem+json");
    if method != Method::HEAD && (is_problem || kind == Some(b"application/json")) {
        let _: Value = serde_json::from_slice(&seen.body).expect("what is called JSON is JSON");
    }
    // What MCP refuses has a form of its own.
    if !is_refusal || seen.body.starts_with(br#"{"jsonrpc""#) || seen.body.is_empty() {
        return;
    }
    assert!(is_problem, "{seen:?}");
    let problem: Value = serde_json::from_slice(&seen.body).expect("a problem is JSON");
    assert_eq!(problem["status"], seen.status.as_u16());
    assert_eq!(problem["detail"], problem["error"]["message"]);
    let code = problem["error"]["code"].as_str().expect("a code");
    assert_eq!(problem["type"], format!("urn:shared-context:error:{code}"));
    assert_eq!(problem["instance"].as_str().map(str::as_bytes), request_id(seen));
}

fn request_id(seen: &Seen) -> Option<&[u8]> {
    seen.headers.get("x-request-id").map(HeaderValue::as_bytes)
}

/// Checks that `HEAD` was answered as `GET` is, but for the body (RFC 9110 §9.3.2).
fn check_head(asked: &Request<Bytes>, head: &Seen, get: &Seen) {
    assert!(head.is_live || head.body.is_empty(), "HEAD has a body: {head:?}");
    // Where it would end a stream that is listened to.
    if asked.uri().path() == "/mcp" {
        return;
    }
    assert_eq!(head.status, get.status, "HEAD and GET of {}", asked.uri());
    for name in [header::CONTENT_TYPE, header::ETAG, header::CACHE_CONTROL, header::VARY] {
        assert_eq!(head.headers.get(&name), get.headers.get(&name), "{name}");
    }
    let is_steady = asked.uri().path() != "/metrics"
        && !get.is_live
        && !get.status.is_client_error()
        && !get.body.is_empty();
    if is_steady {
        let length = head.headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok());
        assert_eq!(length, Some(get.body.len().to_string().as_str()), "{}", asked.uri());
    }
}

/// Returns the requests of the conformance suite.
pub fn seeds() -> Vec<Vec<u8>> {
    cases::scripts(|step| {
        cases::http_request(step).or_else(|| {
            // The tool over HTTP.
            let request = cases::tool_request(step)?;
            let who = cases::asked_by(step);
            let who = if who.contains(" only ") { "limited" } else { who.split(' ').next()? };
            let head = format!(
                "POST /v1/sessions/main/shared_context\nas: {who}\ncontent-type: application/json\n\n"
            );
            Some([head.as_bytes(), &request].concat())
        })
    })
}
