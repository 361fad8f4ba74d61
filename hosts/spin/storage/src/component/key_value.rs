//! Implements the store of [`crate::key_value`] over Spin's key-value store.

use std::cell::OnceCell;

use crate::{
    bindings::{
        exports::shared_context::spin::buckets::Guarantee,
        fermyon::spin::key_value::{Error, Store as Handle},
    },
    key_value::{KeyValueKv, Store, StoreError},
};

pub(super) type Buckets = KeyValueKv<AppStore>;

pub(super) const GUARANTEE: Guarantee = Guarantee::LastWriteWins;

/// The store's label.
const STORE: &str = "default";

/// The app's store, opened at its first use.
#[derive(Default)]
pub(super) struct AppStore {
    handle: OnceCell<Handle>,
}

pub(super) fn host() -> AppStore {
    AppStore::default()
}

impl AppStore {
    fn handle(&self) -> Result<&Handle, StoreError> {
        if let Some(handle) = self.handle.get() {
            return Ok(handle);
        }
        let opened = Handle::open(STORE).map_err(error)?;
        Ok(self.handle.get_or_init(|| opened))
    }
}

impl Store for AppStore {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.handle()?.get(key).map_err(error)
    }

    fn set(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.handle()?.set(key, value).map_err(error)
    }

    fn keys(&self) -> Result<Vec<String>, StoreError> {
        self.handle()?.get_keys().map_err(error)
    }
}

fn error(error: Error) -> StoreError {
    match error {
        Error::StoreTableFull => StoreError::StoreTableFull,
        Error::NoSuchStore => StoreError::NoSuchStore,
        Error::AccessDenied => StoreError::AccessDenied,
        Error::Other(text) => StoreError::Other(text),
    }
}
