//! The component under wasmtime, a fresh instance for each request: over storage
//! in memory that can be told to fail, and over `SQLite`. It is compiled once for
//! all cases.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use shared_context_core::port::Kv;
use shared_context_wasmtime::{Cache, Component, ComponentOptions, Host, SqliteKv, SqliteOptions};
use tempfile::TempDir;

use crate::{
    case::Storage,
    fault::{ENCODINGS, World},
    target::{Credential, Kind, Stop, Target, token},
};

/// Returns the target `component-memory`.
pub(super) fn in_memory() -> Kind {
    Kind {
        name: "component-memory",
        speaks_http: false,
        faults: &Storage::FAULTS,
        joins_headers: false,
        encodings: &ENCODINGS,
        changes_encodings: true,
        sets_clock: true,
        is_kept: true,
        start: Box::new(|_| {
            let world = World::default();
            let host = host(world.clone(), &world);
            Ok(Box::new(Guest { component: compiled()?, host: Some(host), world, folder: None }))
        }),
    }
}

/// Returns the target `component-sqlite`.
pub(super) fn over_sqlite() -> Kind {
    Kind {
        name: "component-sqlite",
        speaks_http: false,
        faults: &[],
        joins_headers: false,
        encodings: &ENCODINGS,
        changes_encodings: true,
        sets_clock: true,
        is_kept: true,
        start: Box::new(|_| {
            let folder = TempDir::new().map_err(|err| err.to_string())?;
            let (component, world) = (compiled()?, World::default());
            let mut guest = Guest { component, host: None, world, folder: Some(folder) };
            guest.restart()?;
            Ok(Box::new(guest))
        }),
    }
}

/// Returns a host over `kv` whose clock, log and tokenizer are `world`'s.
fn host<K>(kv: K, world: &World) -> Host
where
    K: Kv<Bucket: Send + 'static> + Send + Sync + 'static,
{
    Host::new(kv, world.clone(), world.clone()).with_tokenizer(Arc::new(world.clone()))
}

/// Returns the component, compiled by whoever asks first.
fn compiled() -> Result<Component, String> {
    static COMPILED: OnceLock<Result<Component, String>> = OnceLock::new();
    let compile = || Component::new(&options()).map_err(|err| err.to_string());
    COMPILED.get_or_init(compile).clone()
}

/// Returns how the component is run under test: what one test compiled, the next finds.
pub(super) fn options() -> ComponentOptions {
    let mut options = ComponentOptions::default();
    options.cache = Cache::Folder(concat!(env!("OUT_DIR"), "/compiled").into());
    options
}

#[derive(Debug)]
struct Guest {
    component: Component,
    /// `None` only while it is restarted.
    host: Option<Host>,
    world: World,
    /// Where the database is; `None` when there is none.
    folder: Option<TempDir>,
}

impl Target for Guest {
    fn credential(
        &mut self,
        scope: &str,
        participant: &str,
        keys: &[String],
    ) -> Result<Credential, Stop> {
        token::issue(self, scope, participant, keys)
    }

    fn invoke(
        &mut self,
        scope: &str,
        credential: &Credential,
        request: &[u8],
    ) -> Result<Vec<u8>, Stop> {
        let host = self.host.as_ref().ok_or_else(|| "the database is not open".to_owned())?;
        self.component
            .invoke(host, scope, &token::caller(credential)?, request)
            .map(|reply| reply.body)
            .map_err(|failure| Stop::Refused(failure.to_json()))
    }

    fn restart(&mut self) -> Result<(), String> {
        let Some(folder) = &self.folder else { return Ok(()) };
        self.host = None; // The folder is free when the last user of it is gone.
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
