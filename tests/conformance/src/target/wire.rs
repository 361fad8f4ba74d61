//! The wire over the core, in process and without sockets: HTTP where storage
//! can be told to fail.

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
        HttpRequest, HttpResponse, Kind,
        http::{ADMIN_KEY, OverHttp, SECRET, Server},
    },
};

/// Returns the target `wire`.
pub(super) fn kind() -> Kind {
    Kind {
        name: "wire",
        speaks_http: true,
        faults: &Storage::FAULTS,
        joins_headers: false,
        encodings: &ENCODINGS,
        changes_encodings: true,
        sets_clock: true,
        is_kept: true,
        start: Box::new(|case| Ok(Box::new(OverHttp(InProcess::start(case)?)))),
    }
}

/// Returns what a server is told by a case: with a rate limit only where one is proven.
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
struct InProcess {
    world: World,
    http: Http,
    case: Case,
}

impl InProcess {
    fn start(case: &Case) -> Result<Self, String> {
        let http = Http::new(options(case)?);
        Ok(Self { world: World::default(), http, case: case.clone() })
    }
}

impl Server for InProcess {
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
        let mut answered = pin!(self.http.handle(&self.world, built));
        // The engine below is ready at once, so one look is enough.
        match answered.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(response) => received(response),
            Poll::Pending => Err("the wire waits for what nobody does".to_owned()),
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

    /// One request at a time: nothing changes while it waits.
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

/// Returns a response as targets hand it on, if it has an end.
fn received(response: http::Response<Body>) -> Result<HttpResponse, String> {
    let (head, body) = response.into_parts();
    let Body::Whole(body) = body else {
        return Err("the answer is a stream without end".to_owned());
    };
    let headers = head.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let (status, headers) = (head.status.as_u16(), headers.collect());
    Ok(HttpResponse { status, headers, body: body.to_vec() })
}
