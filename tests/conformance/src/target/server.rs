//! The HTTP server of the wasmtime host over `SQLite`, listening on loopback.

use std::{net::SocketAddr, sync::Arc};

use shared_context_wasmtime::{Server as Listening, ServerOptions};
use shared_context_wire::http::RateLimit;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::{
    case::Case,
    fault::{ENCODINGS, World},
    target::{
        HttpRequest, HttpResponse, TargetKind,
        client::HttpClient,
        component,
        http::{ADMIN_KEY, OverHttp, SECRET, Server},
    },
};

/// Returns the target `http`.
pub(super) fn kind() -> TargetKind {
    TargetKind {
        name: "http",
        speaks_http: true,
        faults: &[],
        joins_headers: false,
        encodings: &ENCODINGS,
        changes_encodings: false,
        sets_clock: true,
        keeps_state: true,
        start: Box::new(|case| Ok(Box::new(OverHttp(LocalServer::start(case)?)))),
    }
}

#[derive(Debug)]
struct LocalServer {
    client: HttpClient,
    options: ServerOptions,
    clock: World,
    /// `None` only during a restart.
    server: Option<Listening>,
    runtime: Runtime,
    _folder: TempDir,
}

impl LocalServer {
    fn start(case: &Case) -> Result<Self, String> {
        let folder = TempDir::new().map_err(|err| err.to_string())?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let clock = World::default();
        let mut options = ServerOptions::new(folder.path(), SocketAddr::from(([127, 0, 0, 1], 0)));
        options.secret = Some(SECRET.to_owned());
        options.admin_key = Some(ADMIN_KEY.to_owned());
        options.rate_limit = case.rate_limit.map(|it| RateLimit {
            per_second: it.per_second,
            burst: it.burst,
            ..RateLimit::default()
        });
        options.clock = Arc::new(clock.clone());
        // Background cleanup would run at random points between two steps of a case.
        options.removes_expired = false;
        options.component = component::options();
        let runtime = runtime.map_err(|err| err.to_string())?;
        let client = HttpClient::new();
        let mut server = Self { client, options, clock, server: None, runtime, _folder: folder };
        server.restart()?;
        Ok(server)
    }

    fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop());
        }
    }
}

impl Server for LocalServer {
    fn send(&mut self, request: &HttpRequest) -> Result<HttpResponse, String> {
        let server = self.server.as_ref().ok_or("the server does not run")?;
        self.client.send(&server.url(), request)
    }

    fn restart(&mut self) -> Result<(), String> {
        self.stop();
        let started = self.runtime.block_on(Listening::start(self.options.clone()));
        self.server = Some(started.map_err(|err| err.to_string())?);
        Ok(())
    }

    fn set_clock(&mut self, now_ms: u64) {
        self.clock.set_clock(now_ms);
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        self.stop();
    }
}
