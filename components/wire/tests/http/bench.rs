//! A server without sockets: what a host would do around [`Http`].

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

/// The rules in process, on rows in memory.
#[derive(Default)]
pub(crate) struct LocalEngine {
    pub(crate) kv: MemoryKv,
    pub(crate) now_ms: AtomicU64,
    pub(crate) micros: AtomicU64,
    /// The requests that reached the rules.
    pub(crate) requests: Mutex<Vec<Vec<u8>>>,
    /// What the next request fails with, without reaching the rules.
    pub(crate) fails_with: Mutex<Option<Failure>>,
    /// What happens while someone waits for a change, one thing after another;
    /// then nothing, until the time is up.
    pub(crate) meanwhile: Mutex<VecDeque<Meanwhile>>,
    /// What happens right before a request that contains the text reaches the
    /// rules, one thing before each.
    pub(crate) before: Mutex<VecDeque<(&'static str, Deed)>>,
}

/// Something that others do.
pub(crate) type Deed = Box<dyn FnOnce(&LocalEngine) + Send>;

/// What happens while someone waits.
#[derive(Debug)]
pub(crate) enum Meanwhile {
    /// This participant makes this request on the session `s`.
    Asks(&'static str, String),
    /// So many milliseconds pass.
    Passes(u64),
    /// The server is told to stop.
    Stops,
}

impl Engine for LocalEngine {
    async fn invoke(&self, scope: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        self.requests.lock().unwrap().push(request.to_vec());
        let is_next = |it: &mut (&str, Deed)| {
            std::str::from_utf8(request).is_ok_and(|request| request.contains(it.0))
        };
        let next = self.before.lock().unwrap().pop_front_if(is_next);
        if let Some((_, deed)) = next {
            deed(self);
        }
        if let Some(failure) = self.fails_with.lock().unwrap().take() {
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

    /// Never really waits: what happens meanwhile is in the test's script.
    async fn wait_for_change(&self, scope: &str, seen: u64, at_most: Duration) -> Woken {
        let mut left = u64::try_from(at_most.as_micros()).unwrap();
        loop {
            let stops = |it: &mut Meanwhile| matches!(it, Meanwhile::Stops);
            if self.meanwhile.lock().unwrap().pop_front_if(stops).is_some() {
                return Woken::Stopping;
            }
            if self.position(scope).await > seen {
                return Woken::Changed;
            }
            let next = self.meanwhile.lock().unwrap().pop_front();
            let passed = match next {
                Some(Meanwhile::Asks(who, request)) => {
                    self.ask(who, &request);
                    continue;
                }
                Some(Meanwhile::Passes(milliseconds)) => {
                    let more = (milliseconds * 1_000).saturating_sub(left);
                    if more > 0 {
                        let rest = Meanwhile::Passes(more / 1_000);
                        self.meanwhile.lock().unwrap().push_front(rest);
                    }
                    (milliseconds * 1_000).min(left)
                }
                Some(Meanwhile::Stops) | None => left,
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
    /// Has `who` make a request on the session `s`, which must succeed.
    pub(crate) fn ask(&self, who: &str, request: &str) {
        let caller = Caller::trusted(who);
        invoke(&self.ports(), "session/s", &caller, request.as_bytes()).unwrap();
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

/// A server with the session `s`, and credentials for it.
pub(crate) struct Bench {
    pub(crate) http: Http,
    pub(crate) engine: LocalEngine,
    pub(crate) orchestrator: String,
    pub(crate) agent: String,
    /// Whether each request has an interface of its own.
    is_forgetful: bool,
}

/// A response, taken apart.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(|options| options)
    }

    pub(crate) fn with(options: impl FnOnce(Options) -> Options) -> Self {
        let keys = Keys::new(SECRET, ADMIN_KEY).unwrap();
        let http = Http::new(options(Options { rate_limit: None, ..Options::new(keys) }));
        let engine = LocalEngine::default();
        engine.now_ms.store(START_MS, Ordering::SeqCst);
        let (orchestrator, agent) = (String::new(), String::new());
        let mut bench = Self { http, engine, orchestrator, agent, is_forgetful: false };
        bench.orchestrator = bench.create("s");
        bench.agent = bench.mint("s", "subagent:analysis");
        bench.engine.requests.lock().unwrap().clear();
        bench
    }

    /// Creates a server whose every request has an interface of its own, which then is gone.
    pub(crate) fn forgetful() -> Self {
        Self { is_forgetful: true, ..Self::new() }
    }

    /// Has `request` answered by the interface there is, or by a new one.
    /// Answers `request`, which is for this server if it does not say so.
    pub(crate) fn answer(&self, mut request: Request<Bytes>) -> Response<Body> {
        request.headers_mut().entry("host").or_insert(HeaderValue::from_static("localhost"));
        if !self.is_forgetful {
            return ready(self.http.handle(&self.engine, request));
        }
        let keys = Keys::new(SECRET, ADMIN_KEY).unwrap();
        // What is limited by default is not where nothing is kept.
        let http = Http::new(Options { is_kept: false, ..Options::new(keys) });
        ready(http.handle(&self.engine, request))
    }

    /// Creates a session and returns its orchestrator's credential.
    pub(crate) fn create(&self, session: &str) -> String {
        let body = format!(r#"{{"session_id":"{session}"}}"#);
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

    /// Sends a request as the bearer of `token`, of none when it is empty.
    /// `target` is method and target of the request line.
    pub(crate) fn send(
        &self,
        token: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Seen {
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

    pub(crate) fn handle(&self, request: Request<Bytes>) -> Seen {
        let (head, body) = self.answer(request).into_parts();
        let Body::Whole(body) = body else { panic!("a stream") };
        let body = String::from_utf8(body.to_vec()).unwrap();
        let seen = Seen { status: head.status, headers: head.headers, body };
        seen.check_invariants();
        seen
    }

    /// Opens a stream of changes of the session `s`: its headers, and the stream.
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
        let mut request = Request::get(format!("/v1/sessions/{session}/changes{query}"))
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

    /// Returns what comes next in a stream.
    pub(crate) fn next(&self, watch: &mut Watch) -> Option<String> {
        let next = ready(watch.next(&self.engine));
        next.map(|it| String::from_utf8(it.to_vec()).unwrap())
    }

    /// The agent writes `key`, now.
    pub(crate) fn write(&self, key: &str) {
        let body = format!(r#"{{"action":"write","key":"{key}","value":"x"}}"#);
        self.check("POST /v1/sessions/s/shared_context", &body, 200, "");
    }

    /// Schedules what happens while someone waits, after what was scheduled before.
    pub(crate) fn meanwhile(&self, happens: Meanwhile) {
        self.engine.meanwhile.lock().unwrap().push_back(happens);
    }

    /// An agent writes `key` while someone waits.
    pub(crate) fn meanwhile_write(&self, key: &str) {
        let request = format!(r#"{{"action":"write","key":"{key}","value":"x"}}"#);
        self.meanwhile(Meanwhile::Asks("subagent:analysis", request));
    }

    /// Returns a request as the agent, whose answer has `status` and contains `told`.
    #[track_caller]
    pub(crate) fn check(&self, target: &str, body: &str, status: u16, told: &str) -> Seen {
        self.check_as(&self.agent, target, &[], body, status, told)
    }

    #[track_caller]
    pub(crate) fn check_as(
        &self,
        token: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
        status: u16,
        told: &str,
    ) -> Seen {
        let seen = self.send(token, target, headers, body.to_owned());
        assert_eq!(seen.status, status, "{target} {headers:?} {body}: {seen:?}");
        assert!(seen.body.contains(told), "{target} {headers:?} {body}: {told} not in {seen:?}");
        seen
    }
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }

    /// Checks what holds for every response.
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

/// Returns the result of a future that waits for nothing.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("nothing here waits"),
    }
}
