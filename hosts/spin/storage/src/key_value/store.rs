//! What is asked of Spin's key-value store.
//!
//! A port, so that what is built on it is tested outside of Spin; the component
//! implements it over `fermyon:spin/key-value`.

use shared_context_core::port::KvError;

/// The key-value store of the app, as one instance uses it.
pub trait Store {
    /// Returns the value of `key`, if there is one.
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Sets the value of `key`.
    fn set(&self, key: &str, value: &[u8]) -> Result<(), StoreError>;

    /// Returns all keys, in any order.
    fn keys(&self) -> Result<Vec<String>, StoreError>;
}

/// Why the store did not do it, in the words of `fermyon:spin/key-value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// Too many stores are open.
    StoreTableFull,
    /// There is no store of this name.
    NoSuchStore,
    /// The component was not granted the store.
    AccessDenied,
    /// Anything else, as the store put it.
    Other(String),
}

impl StoreError {
    /// Returns what to do, for operators. There is no value in it.
    fn warning(&self) -> String {
        let text = match self {
            Self::StoreTableFull => {
                "too many key-value stores are open in one instance: close those that the app's \
                 own component opened"
            }
            Self::NoSuchStore => {
                "Spin has no key-value store \"default\": define [key_value_store.default] in the \
                 file that --runtime-config-file names, or, on a platform, link a store to the \
                 app under this label"
            }
            Self::AccessDenied => {
                "Spin denies access to the key-value store \"default\": in spin.toml give the \
                 component key_value_stores = [\"default\"]; if it is a dependency of that \
                 component, also inherit_configuration = [\"key_value_stores\"] with the \
                 dependency, or, on Spin 3, dependencies_inherit_configuration = true with the \
                 component"
            }
            Self::Other(text) => {
                return format!(
                    "the key-value store failed: {text}: look at [key_value_store.default], and \
                     at how large its values may be; a session is one value"
                );
            }
        };
        text.to_owned()
    }
}

impl From<StoreError> for KvError {
    fn from(error: StoreError) -> Self {
        Self(error.warning())
    }
}
