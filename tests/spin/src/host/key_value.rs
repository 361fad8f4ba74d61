//! `fermyon:spin/key-value`: the stores in `sqlite_key_value.db` of the state folder.
//!
//! As in Spin since 3.2, a store is a part of one table, all instances share one
//! connection, and a value is on disk when `set` returns. (Earlier versions delayed writes.)

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::OptionalExtension as _;
use tokio::task::spawn_blocking;
use wasmtime::component::Resource;

use super::{Host, InstanceKilled};
use crate::{
    bindings::fermyon::spin::key_value::{self, Error},
    faults::Call,
};

/// The maximum bytes that one `get` or `get-keys` may return.
const RESULT_BYTES_MAX: usize = 128 << 20;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS spin_key_value (store TEXT NOT NULL, \
    key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (store, key))";
const SET: &str = "INSERT INTO spin_key_value (store, key, value) VALUES (?1, ?2, ?3) \
    ON CONFLICT (store, key) DO UPDATE SET value = ?3";

/// All stores.
#[derive(Debug)]
pub(crate) struct Stores {
    file: PathBuf,
    open: Mutex<Option<rusqlite::Connection>>,
}

/// An open store.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Store {
    name: String,
}

type Answer<T> = wasmtime::Result<Result<T, Error>>;

impl Stores {
    /// Creates the stores in `file`.
    pub(crate) fn new(file: PathBuf) -> Self {
        Self { file, open: Mutex::default() }
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match &mut *open {
            Some(connection) => connection,
            none => {
                let connection = rusqlite::Connection::open(&self.file).map_err(other)?;
                connection.execute(TABLE, []).map_err(other)?;
                none.insert(connection)
            }
        };
        work(connection).map_err(other)
    }
}

impl Host {
    /// Runs `work` on `store`, subject to the injected faults.
    async fn call<T: Send + 'static>(
        &mut self,
        store: &Resource<Store>,
        call: Call,
        work: impl FnOnce(&rusqlite::Connection, &str) -> rusqlite::Result<T> + Send + 'static,
    ) -> Answer<T> {
        let name = self.table.get(store)?.name.clone();
        let shared = &self.component.shared;
        let faults = shared.faults.next_call();
        if faults.ends_before {
            return Err(InstanceKilled.into());
        }
        if let Some(why) = faults.error_before(call) {
            return Ok(Err(Error::Other(why.to_owned())));
        }
        let stores = Arc::clone(&shared.stores);
        let answer = spawn_blocking(move || stores.with(|it| work(it, &name))).await?;
        if faults.ends_after {
            return Err(InstanceKilled.into());
        }
        match faults.error_after(call) {
            Some(why) if answer.is_ok() => Ok(Err(Error::Other(why.to_owned()))),
            _ => Ok(answer),
        }
    }
}

impl key_value::Host for Host {}

impl key_value::HostStore for Host {
    async fn open(&mut self, label: String) -> Answer<Resource<Store>> {
        if !self.component.stores.contains(&label) {
            return Ok(Err(Error::AccessDenied));
        }
        Ok(Ok(self.table.push(Store { name: label })?))
    }

    async fn get(&mut self, store: Resource<Store>, key: String) -> Answer<Option<Vec<u8>>> {
        let value: Result<Option<Vec<u8>>, _> = self
            .call(&store, Call::Read, move |it, store| {
                it.prepare_cached("SELECT value FROM spin_key_value WHERE store = ?1 AND key = ?2")?
                    .query_row([store, &key], |row| row.get(0))
                    .optional()
            })
            .await?;
        Ok(value.and_then(|it| limited(it.as_ref().map_or(0, Vec::len)).map(|()| it)))
    }

    async fn set(&mut self, store: Resource<Store>, key: String, value: Vec<u8>) -> Answer<()> {
        self.call(&store, Call::Commit, move |it, store| {
            it.prepare_cached(SET)?.execute(rusqlite::params![store, key, value]).map(drop)
        })
        .await
    }

    async fn delete(&mut self, store: Resource<Store>, key: String) -> Answer<()> {
        self.call(&store, Call::Commit, move |it, store| {
            it.prepare_cached("DELETE FROM spin_key_value WHERE store = ?1 AND key = ?2")?
                .execute([store, &key])
                .map(drop)
        })
        .await
    }

    async fn exists(&mut self, store: Resource<Store>, key: String) -> Answer<bool> {
        self.call(&store, Call::Read, move |it, store| {
            it.prepare_cached("SELECT 1 FROM spin_key_value WHERE store = ?1 AND key = ?2")?
                .exists([store, &key])
        })
        .await
    }

    async fn get_keys(&mut self, store: Resource<Store>) -> Answer<Vec<String>> {
        let keys: Result<Vec<String>, _> = self
            .call(&store, Call::Read, move |it, store| {
                it.prepare_cached("SELECT key FROM spin_key_value WHERE store = ?1")?
                    .query_map([store], |row| row.get(0))?
                    .collect()
            })
            .await?;
        let bytes = |it: &Vec<String>| it.iter().map(|it| size_of::<String>() + it.len()).sum();
        Ok(keys.and_then(|it| limited(bytes(&it)).map(|()| it)))
    }

    async fn drop(&mut self, store: Resource<Store>) -> wasmtime::Result<()> {
        self.table.delete(store)?;
        Ok(())
    }
}

fn limited(bytes: usize) -> Result<(), Error> {
    match bytes {
        0..=RESULT_BYTES_MAX => Ok(()),
        _ => Err(Error::Other(format!("query result exceeds limit of {RESULT_BYTES_MAX} bytes"))),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that `map_err` needs")]
fn other(error: rusqlite::Error) -> Error {
    Error::Other(error.to_string())
}
