//! The host of an instance: WASI, variables, `SQLite` and key-value stores. Requests are in
//! `server`, applications in `app`.
//!
//! Invariants:
//!
//! - An instance has exactly the rights that the manifest grants its component: no files,
//!   no sockets, no outgoing requests.
//! - Instances share no state except through storage.

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

/// The error that aborts an instance for a test.
#[derive(Debug)]
struct InstanceKilled;

impl std::fmt::Display for InstanceKilled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ended by a test, in the middle of a call to storage")
    }
}

impl std::error::Error for InstanceKilled {}

/// The host state of one instance.
pub(crate) struct Host {
    component: Arc<Component>,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    outgoing: DenyOutgoing,
    table: ResourceTable,
}

/// Denies all outgoing HTTP requests.
struct DenyOutgoing;

impl Host {
    /// Creates the host state of a new instance of `component`.
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
            outgoing: DenyOutgoing,
            table: ResourceTable::new(),
            component,
        }
    }

    /// Adds everything that an instance may import to `linker`.
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
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.outgoing }
    }
}

impl WasiHttpHooks for DenyOutgoing {
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
