//! The wire over the core in process, without network: HTTP with storage faults.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use shared_context_codec::{self as codec, Caller, Failure, Reply};
use shared_context_core::{ScopeKind, port::Clock, time::Timestamp};
use shared_context_wire::{
    Engine, Woken,
    credential::Keys,
    http::{Body, Http, Options, RateLimit},
};

use crate::{
    case::{Case, Storage},
    fault::{ENCODINGS, World},
    target::{
        HttpRequest, HttpResponse, TargetKind,
        http::{ADMIN_KEY, OverHttp, SECRET, Server},
    },
};

/// Returns the target `wire`.
pub(super) fn kind() -> TargetKind {
    TargetKind {
        name: "wire",
        speaks_http: true,
        faults: &Storage::FAULTS,
        joins_headers: false,
        encodings: &ENCODINGS,
        changes_encodings: true,
        sets_clock: true,
        keeps_state: true,
        start: Box::new(|case| Ok(Box::new(OverHttp(InProcessServer::start(case)?)))),
    }
}

/// Returns the server options of a case. Only cases that test the rate limit set one.
fn options(case: &Case) -> Result<Options, String> {
    let keys = Keys::new(SECRET.as_bytes(), ADMIN_KEY).map_err(|err| err.to_string())?;
    let rate_limit = case.rate_limit.map(|it| RateLimit {
        per_second: it.per_second,
        burst: it.burst,
        ..RateLimit::default()
    });
    Ok(Options { rate_limit, ..Options::new(keys) })
}

#[derive(Debug)]
struct InProcessServer {
    world: World,
    http: Http,
    case: Case,
}

impl InProcessServer {
    fn start(case: &Case) -> Result<Self, String> {
        let http = Http::new(options(case)?);
        Ok(Self { world: World::default(), http, case: case.clone() })
    }
}

impl Server for InProcessServer {
    fn send(&mut self, request: &HttpRequest) -> Result<HttpResponse, String> {
        let mut builder =
            http::Request::builder().method(request.method.as_str()).uri(&request.target);
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            builder = builder.header("host", "localhost");
        }
        let body = Bytes::from(request.body.clone().unwrap_or_default());
        let built = builder.body(body).map_err(|err| format!("{request:?}: {err}"))?;
        let mut response_future = pin!(self.http.handle(&self.world, built));
        // The engine below is always ready, so one poll is enough.
        match response_future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(response) => to_response(response),
            Poll::Pending => Err("the wire is pending although the engine is ready".to_owned()),
        }
    }

    fn restart(&mut self) -> Result<(), String> {
        self.http = Http::new(options(&self.case)?);
        Ok(())
    }

    fn set_clock(&mut self, now_ms: u64) {
        self.world.set_clock(now_ms);
    }

    fn set_storage(&mut self, storage: Storage) -> Result<(), String> {
        self.world.set_storage(storage);
        Ok(())
    }

    fn set_encodings(&mut self, names: &[String]) -> Result<(), String> {
        self.world.set_encodings(names);
        Ok(())
    }
}

impl Engine for World {
    async fn invoke(&self, scope: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        codec::invoke(&self.ports(), scope, caller, request)
    }

    async fn ids(
        &self,
        kind: ScopeKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, Failure> {
        let unavailable = |_| Failure::new("STORAGE_UNAVAILABLE", "the storage was told to fail");
        Self::ids(self, kind, after, limit).map_err(unavailable)
    }

    async fn position(&self, _: &str) -> u64 {
        0
    }

    /// Returns at once: requests come one at a time, so nothing changes during a wait.
    async fn wait_for_change(&self, _: &str, _: u64, _: Duration) -> Woken {
        Woken::TimeUp
    }

    fn now(&self) -> Timestamp {
        Clock::now(self)
    }

    fn monotonic_micros(&self) -> u64 {
        0
    }
}

/// Converts a response, or fails if it is a stream.
fn to_response(response: http::Response<Body>) -> Result<HttpResponse, String> {
    let (head, body) = response.into_parts();
    let Body::Whole(body) = body else {
        return Err("the response is a stream".to_owned());
    };
    let headers = head.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let (status, headers) = (head.status.as_u16(), headers.collect());
    Ok(HttpResponse { status, headers, body: body.to_vec() })
}
