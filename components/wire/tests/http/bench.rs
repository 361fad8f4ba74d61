//! An in-process server without network: plays the host around [`Http`].

use std::{
    collections::VecDeque,
    future::Future,
    pin::pin,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use serde_json::Value;
use shared_context_codec::{Caller, Failure, Reply, invoke};
use shared_context_core::{
    ScopeKind,
    audit::AuditRecord,
    memory_kv::MemoryKv,
    port::{Bucket as _, Clock, Kv as _, Log, NoTokenizer, Ports},
    time::Timestamp,
};
use shared_context_wire::{
    Engine, Woken,
    credential::Keys,
    http::{Body, Http, Options, Watch},
};

/// 2026-02-20T14:30:00Z.
pub(crate) const START_MS: u64 = 1_771_597_800_000;
pub(crate) const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
pub(crate) const ADMIN_KEY: &str = "admin-key-admin-key-admin-key-admin";

/// An engine that runs the core in process, on rows in memory.
#[derive(Default)]
pub(crate) struct LocalEngine {
    pub(crate) kv: MemoryKv,
    pub(crate) now_ms: AtomicU64,
    pub(crate) micros: AtomicU64,
    /// The requests that reached the core.
    pub(crate) requests: Mutex<Vec<Vec<u8>>>,
    /// The failure that the next request returns without reaching the core.
    pub(crate) next_failure: Mutex<Option<Failure>>,
    /// Events that happen in order while a caller waits for a change. After the last one the
    /// wait runs until its timeout.
    pub(crate) wait_events: Mutex<VecDeque<WaitEvent>>,
    /// Hooks in order. Each runs once, right before a request that contains its text reaches
    /// the core.
    pub(crate) hooks: Mutex<VecDeque<(&'static str, Hook)>>,
}

/// Changes that other callers make between two requests of a test.
pub(crate) type Hook = Box<dyn FnOnce(&LocalEngine) + Send>;

/// An event during a wait for changes.
#[derive(Debug)]
pub(crate) enum WaitEvent {
    /// The participant makes the request on the session `s`.
    Request(&'static str, String),
    /// The participant makes the request on this bucket.
    RequestOn(&'static str, &'static str, String),
    /// This many milliseconds pass.
    TimePasses(u64),
    /// The server begins its shutdown.
    ServerStops,
}

impl Engine for LocalEngine {
    async fn invoke(&self, scope: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        self.requests.lock().unwrap().push(request.to_vec());
        let is_next = |it: &mut (&str, Hook)| {
            std::str::from_utf8(request).is_ok_and(|request| request.contains(it.0))
        };
        let next = self.hooks.lock().unwrap().pop_front_if(is_next);
        if let Some((_, hook)) = next {
            hook(self);
        }
        if let Some(failure) = self.next_failure.lock().unwrap().take() {
            return Err(failure);
        }
        invoke(&self.ports(), scope, caller, request)
    }

    async fn ids(
        &self,
        kind: ScopeKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, Failure> {
        let after = kind.bucket_name(after.unwrap_or_default());
        let names = self.kv.names(Some(&after), limit);
        Ok(names
            .iter()
            .filter_map(|it| it.strip_prefix(kind.prefix()))
            .map(str::to_owned)
            .collect())
    }

    async fn position(&self, scope: &str) -> u64 {
        self.kv.open(scope).unwrap().revision().0
    }

    /// Never blocks: plays the events that the test scheduled.
    async fn wait_for_change(&self, scope: &str, seen: u64, at_most: Duration) -> Woken {
        let mut left = u64::try_from(at_most.as_micros()).unwrap();
        loop {
            let stops = |it: &mut WaitEvent| matches!(it, WaitEvent::ServerStops);
            if self.wait_events.lock().unwrap().pop_front_if(stops).is_some() {
                return Woken::Stopping;
            }
            if self.position(scope).await > seen {
                return Woken::Changed;
            }
            let next = self.wait_events.lock().unwrap().pop_front();
            let passed = match next {
                Some(WaitEvent::Request(participant, request)) => {
                    self.invoke_as(participant, &request);
                    continue;
                }
                Some(WaitEvent::RequestOn(scope, participant, request)) => {
                    self.invoke_on(scope, participant, &request);
                    continue;
                }
                Some(WaitEvent::TimePasses(milliseconds)) => {
                    let more = (milliseconds * 1_000).saturating_sub(left);
                    if more > 0 {
                        let rest = WaitEvent::TimePasses(more / 1_000);
                        self.wait_events.lock().unwrap().push_front(rest);
                    }
                    (milliseconds * 1_000).min(left)
                }
                Some(WaitEvent::ServerStops) | None => left,
            };
            self.micros.fetch_add(passed, Ordering::SeqCst);
            self.now_ms.fetch_add(passed / 1_000, Ordering::SeqCst);
            left -= passed;
            if left == 0 {
                return Woken::TimeUp;
            }
        }
    }

    fn now(&self) -> Timestamp {
        Clock::now(self)
    }

    fn monotonic_micros(&self) -> u64 {
        self.micros.load(Ordering::SeqCst)
    }
}

impl LocalEngine {
    /// Invokes `request` as `participant` on the session `s`. It must succeed.
    pub(crate) fn invoke_as(&self, participant: &str, request: &str) {
        self.invoke_on("session/s", participant, request);
    }

    /// Invokes `request` as `participant` on the bucket `scope`. It must succeed.
    pub(crate) fn invoke_on(&self, scope: &str, participant: &str, request: &str) {
        let caller = Caller::trusted(participant);
        invoke(&self.ports(), scope, &caller, request.as_bytes()).unwrap();
    }

    fn ports(&self) -> Ports<'_, MemoryKv, Self, Self, NoTokenizer> {
        Ports { kv: &self.kv, clock: self, log: self, tokenizer: &NoTokenizer }
    }
}

impl Clock for LocalEngine {
    fn now(&self) -> Timestamp {
        Timestamp(self.now_ms.load(Ordering::SeqCst))
    }
}

impl Log for LocalEngine {
    fn record(&self, _: &AuditRecord) {}
}

/// An in-process server with the session `s`, and credentials for it.
pub(crate) struct Bench {
    pub(crate) http: Http,
    pub(crate) engine: LocalEngine,
    pub(crate) orchestrator: String,
    pub(crate) agent: String,
    /// Each request gets a new [`Http`], so nothing is stored between requests.
    is_stateless: bool,
}

/// A whole response with its body as text.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(|options| options)
    }

    pub(crate) fn with(options: impl FnOnce(Options) -> Options) -> Self {
        Self::configured(options, "{}")
    }

    pub(crate) fn configured(options: impl FnOnce(Options) -> Options, config: &str) -> Self {
        let keys = Keys::new(SECRET, ADMIN_KEY).unwrap();
        let http = Http::new(options(Options { rate_limit: None, ..Options::new(keys) }));
        let engine = LocalEngine::default();
        engine.now_ms.store(START_MS, Ordering::SeqCst);
        let (orchestrator, agent) = (String::new(), String::new());
        let mut bench = Self { http, engine, orchestrator, agent, is_stateless: false };
        bench.orchestrator = bench.create_with("s", config);
        bench.agent = bench.mint("s", "subagent:analysis");
        bench.engine.requests.lock().unwrap().clear();
        bench
    }

    /// Creates a server that handles each request with a new [`Http`].
    pub(crate) fn stateless() -> Self {
        Self { is_stateless: true, ..Self::new() }
    }

    /// Handles `request`, with `Host: localhost` unless it names a host.
    pub(crate) fn answer(&self, mut request: Request<Bytes>) -> Response<Body> {
        request.headers_mut().entry("host").or_insert(HeaderValue::from_static("localhost"));
        if !self.is_stateless {
            return ready(self.http.handle(&self.engine, request));
        }
        let keys = Keys::new(SECRET, ADMIN_KEY).unwrap();
        // A stateless server cannot enforce the default rate limits.
        let http = Http::new(Options { is_kept: false, ..Options::new(keys) });
        ready(http.handle(&self.engine, request))
    }

    /// Creates a session and returns its orchestrator's credential.
    pub(crate) fn create(&self, session: &str) -> String {
        self.create_with(session, "{}")
    }

    fn create_with(&self, session: &str, config: &str) -> String {
        let body = format!(r#"{{"session_id":"{session}","config":{config}}}"#);
        let seen = self.send(ADMIN_KEY, "POST /v1/sessions", &[], body);
        assert_eq!(seen.status, 201, "{seen:?}");
        seen.json()["credential"].as_str().unwrap().to_owned()
    }

    /// Mints a credential as the admin.
    pub(crate) fn mint(&self, session: &str, participant: &str) -> String {
        let body = format!(r#"{{"participant":"{participant}"}}"#);
        let target = format!("POST /v1/sessions/{session}/credentials");
        let seen = self.send(ADMIN_KEY, &target, &[], body);
        assert_eq!(seen.status, 201, "{seen:?}");
        seen.json()["credential"].as_str().unwrap().to_owned()
    }

    /// Sends a request with the bearer `token`, or with none if it is empty. `target` is the
    /// method and the path, as in a request line.
    pub(crate) fn send(
        &self,
        token: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> TestResponse {
        let (method, uri) = target.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(uri);
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.handle(request.body(body.into()).unwrap())
    }

    pub(crate) fn handle(&self, request: Request<Bytes>) -> TestResponse {
        let (head, body) = self.answer(request).into_parts();
        let Body::Whole(body) = body else { panic!("a stream") };
        let body = String::from_utf8(body.to_vec()).unwrap();
        let seen = TestResponse { status: head.status, headers: head.headers, body };
        seen.check_invariants();
        seen
    }

    /// Opens a stream of changes of the session `s`. Returns the response headers and the stream.
    #[track_caller]
    pub(crate) fn watch(
        &self,
        token: &str,
        query: &str,
        last_event_id: Option<&str>,
    ) -> (HeaderMap, Box<Watch>) {
        self.watch_session(token, "s", query, last_event_id)
    }

    #[track_caller]
    pub(crate) fn watch_session(
        &self,
        token: &str,
        session: &str,
        query: &str,
        last_event_id: Option<&str>,
    ) -> (HeaderMap, Box<Watch>) {
        self.watch_path(token, &format!("/v1/sessions/{session}/changes{query}"), last_event_id)
    }

    #[track_caller]
    pub(crate) fn watch_path(
        &self,
        token: &str,
        path: &str,
        last_event_id: Option<&str>,
    ) -> (HeaderMap, Box<Watch>) {
        let mut request = Request::get(path)
            .header("accept", "text/event-stream")
            .header("authorization", format!("Bearer {token}"));
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let request = request.body(Bytes::new()).unwrap();
        let response = self.answer(request);
        assert_eq!(response.status(), 200);
        let (head, body) = response.into_parts();
        let Body::Live(watch) = body else { panic!("no stream") };
        (head.headers, watch)
    }

    /// Returns the next chunk of a stream, `None` at its end.
    pub(crate) fn next(&self, watch: &mut Watch) -> Option<String> {
        let next = ready(watch.next(&self.engine));
        next.map(|it| String::from_utf8(it.to_vec()).unwrap())
    }

    /// Writes `key` as the agent.
    pub(crate) fn write(&self, key: &str) {
        let body = format!(r#"{{"action":"write","key":"{key}","value":"x"}}"#);
        self.check("POST /v1/sessions/s/shared_context", &body, 200, "");
    }

    /// Schedules `event` after the events that were scheduled before.
    pub(crate) fn during_wait(&self, event: WaitEvent) {
        self.engine.wait_events.lock().unwrap().push_back(event);
    }

    /// Schedules a write of `key` by the agent.
    pub(crate) fn write_during_wait(&self, key: &str) {
        let request = format!(r#"{{"action":"write","key":"{key}","value":"x"}}"#);
        self.during_wait(WaitEvent::Request("subagent:analysis", request));
    }

    /// Sends a request as the agent. Checks that the response has `status` and contains
    /// `expected`.
    #[track_caller]
    pub(crate) fn check(
        &self,
        target: &str,
        body: &str,
        status: u16,
        expected: &str,
    ) -> TestResponse {
        self.check_as(&self.agent, target, &[], body, status, expected)
    }

    #[track_caller]
    pub(crate) fn check_as(
        &self,
        token: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
        status: u16,
        expected: &str,
    ) -> TestResponse {
        let seen = self.send(token, target, headers, body.to_owned());
        assert_eq!(seen.status, status, "{target} {headers:?} {body}: {seen:?}");
        assert!(
            seen.body.contains(expected),
            "{target} {headers:?} {body}: {expected} not in {seen:?}"
        );
        seen
    }
}

impl TestResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }

    /// Checks the invariants of every response.
    fn check_invariants(&self) {
        assert!(!self.header("x-request-id").is_empty(), "{self:?}");
        assert_eq!(self.header("x-content-type-options"), "nosniff", "{self:?}");
        let is_fault = self.body.starts_with(r#"{"jsonrpc":"2.0""#);
        if !is_fault && (self.status.is_client_error() || self.status.is_server_error()) {
            assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
            if !self.body.is_empty() {
                let problem = self.json();
                assert_eq!(problem["status"], self.status.as_u16());
                assert_eq!(problem["instance"], self.header("x-request-id"));
                assert_eq!(problem["detail"], problem["error"]["message"]);
                let code = problem["error"]["code"].as_str().unwrap();
                assert_eq!(problem["type"], format!("urn:shared-context:error:{code}"));
                assert!(problem["title"].is_string());
            }
            let unauthorized = self.status == StatusCode::UNAUTHORIZED;
            assert_eq!(self.headers.contains_key("www-authenticate"), unauthorized, "{self:?}");
        }
        for secret in [ADMIN_KEY, std::str::from_utf8(SECRET).unwrap()] {
            assert!(!self.body.contains(secret) && !format!("{:?}", self.headers).contains(secret));
        }
    }
}

/// Returns the output of a future that is ready at its first poll.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("the future is pending"),
    }
}
