//! The component under wasmtime with a new instance per request: over memory with fault injection,
//! and over `SQLite`. It is compiled once for all cases.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use shared_context_core::port::Kv;
use shared_context_wasmtime::{Cache, Component, ComponentOptions, Host, SqliteKv, SqliteOptions};
use tempfile::TempDir;

use crate::{
    case::Storage,
    fault::{ENCODINGS, World},
    target::{Credential, Target, TargetError, TargetKind, token},
};

/// Returns the target `component-memory`.
pub(super) fn in_memory() -> TargetKind {
    TargetKind {
        name: "component-memory",
        speaks_http: false,
        faults: &Storage::FAULTS,
        joins_headers: false,
        encodings: &ENCODINGS,
        changes_encodings: true,
        sets_clock: true,
        keeps_state: true,
        start: Box::new(|_| {
            let world = World::default();
            let host = host(world.clone(), &world);
            Ok(Box::new(Guest { component: compiled()?, host: Some(host), world, folder: None }))
        }),
    }
}

/// Returns the target `component-sqlite`.
pub(super) fn over_sqlite() -> TargetKind {
    TargetKind {
        name: "component-sqlite",
        speaks_http: false,
        faults: &[],
        joins_headers: false,
        encodings: &ENCODINGS,
        changes_encodings: true,
        sets_clock: true,
        keeps_state: true,
        start: Box::new(|_| {
            let folder = TempDir::new().map_err(|err| err.to_string())?;
            let (component, world) = (compiled()?, World::default());
            let mut guest = Guest { component, host: None, world, folder: Some(folder) };
            guest.restart()?;
            Ok(Box::new(guest))
        }),
    }
}

/// Builds a host over `kv` with the clock, log and tokenizer of `world`.
fn host<K>(kv: K, world: &World) -> Host
where
    K: Kv<Bucket: Send + 'static> + Send + Sync + 'static,
{
    Host::new(kv, world.clone(), world.clone()).with_tokenizer(Arc::new(world.clone()))
}

/// Returns the component, compiled by the first call.
fn compiled() -> Result<Component, String> {
    static COMPILED: OnceLock<Result<Component, String>> = OnceLock::new();
    let compile = || Component::new(&options()).map_err(|err| err.to_string());
    COMPILED.get_or_init(compile).clone()
}

/// Returns the options of the component under test. The compiled code is cached between runs.
pub(super) fn options() -> ComponentOptions {
    let mut options = ComponentOptions::default();
    options.cache =
        Cache::Folder(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/conformance").into());
    options
}

#[derive(Debug)]
struct Guest {
    component: Component,
    /// `None` only during a restart.
    host: Option<Host>,
    world: World,
    /// The folder of the database, if any.
    folder: Option<TempDir>,
}

impl Target for Guest {
    fn credential(
        &mut self,
        scope: &str,
        participant: &str,
        keys: &[String],
    ) -> Result<Credential, TargetError> {
        token::issue(self, scope, participant, keys)
    }

    fn invoke(
        &mut self,
        scope: &str,
        credential: &Credential,
        request: &[u8],
    ) -> Result<Vec<u8>, TargetError> {
        let host = self.host.as_ref().ok_or_else(|| "the database is not open".to_owned())?;
        self.component
            .invoke(host, scope, &token::caller(credential)?, request)
            .map(|reply| reply.body)
            .map_err(|failure| TargetError::Rejected(failure.to_json()))
    }

    fn restart(&mut self) -> Result<(), String> {
        let Some(folder) = &self.folder else { return Ok(()) };
        self.host = None; // Closes the database and frees its folder.
        let kv =
            SqliteKv::open(folder, &SqliteOptions::default()).map_err(|err| err.to_string())?;
        self.host = Some(host(kv, &self.world));
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

    fn logged(&mut self) -> Option<Vec<Value>> {
        Some(self.world.take_records())
    }
}
