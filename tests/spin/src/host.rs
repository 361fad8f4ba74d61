//! What an instance has of its host: WASI, variables, `SQLite` and key-value stores.
//!
//! Not here: who asks (`server`) and what is served (`app`). Invariants:
//!
//! - An instance has what the manifest grants its component, and nothing else: no
//!   files, no sockets, no requests to elsewhere.
//! - Nothing passes from one instance to the next but through storage.

use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker, ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{
    Error, RequestOptions, Result, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
    WasiHttpView,
};

use crate::{app::Component, bindings};

pub(crate) mod key_value;
pub(crate) mod sqlite;
mod variables;

/// Why an instance is ended that a test wanted to end.
#[derive(Debug)]
struct Killed;

impl std::fmt::Display for Killed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ended by a test, in the middle of a call to storage")
    }
}

impl std::error::Error for Killed {}

/// What one instance has.
pub(crate) struct Host {
    component: Arc<Component>,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    nobody: Nobody,
    table: ResourceTable,
}

/// Whom a component reaches by HTTP.
struct Nobody;

impl Host {
    /// For a fresh instance of `component`.
    pub(crate) fn new(component: Arc<Component>) -> Self {
        let mut wasi = WasiCtx::builder();
        for (name, value) in &component.environment {
            wasi.env(name, value);
        }
        wasi.stdout(component.stdout.clone())
            .stderr(component.stderr.clone())
            .wall_clock(component.shared.clock.clone())
            .allow_tcp(false)
            .allow_udp(false);
        Self {
            wasi: wasi.build(),
            http: WasiHttpCtx::new(),
            nobody: Nobody,
            table: ResourceTable::new(),
            component,
        }
    }

    /// Gives the linker all that an instance may import.
    pub(crate) fn link(linker: &mut Linker<Self>) -> wasmtime::Result<()> {
        wasmtime_wasi::p2::add_to_linker_async(linker)?;
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
        bindings::Spin::add_to_linker::<_, HasSelf<_>>(linker, |it| it)
    }
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for Host {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.nobody }
    }
}

impl WasiHttpHooks for Nobody {
    fn send_request(
        &mut self,
        _request: http::Request<WasiBody>,
        _options: Option<RequestOptions>,
        _answered: Box<dyn Future<Output = Result<()>> + Send>,
    ) -> Box<
        dyn Future<
                Output = Result<(
                    http::Response<WasiBody>,
                    Box<dyn Future<Output = Result<()>> + Send>,
                )>,
            > + Send,
    > {
        Box::new(async { Err(Error::HttpRequestDenied) })
    }
}

#[cfg(test)]
mod tests;
