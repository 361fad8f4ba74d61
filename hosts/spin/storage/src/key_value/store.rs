//! The interface to Spin's key-value store.
//!
//! It is a port, so that its users are tested outside of Spin; the component implements
//! it over `fermyon:spin/key-value`.

use shared_context_core::port::KvError;

/// The key-value store of the app, for one instance.
pub trait Store {
    /// Returns the value of `key`, if there is one.
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Sets the value of `key`.
    fn set(&self, key: &str, value: &[u8]) -> Result<(), StoreError>;

    /// Returns all keys, in any order.
    fn keys(&self) -> Result<Vec<String>, StoreError>;
}

/// An error of the store, with the variants of `fermyon:spin/key-value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// Too many stores are open.
    StoreTableFull,
    /// No store has this name.
    NoSuchStore,
    /// The component was not granted the store.
    AccessDenied,
    /// Any other error, with the store's message.
    Other(String),
}

impl StoreError {
    /// Returns a message with advice for operators. It contains no stored values.
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
