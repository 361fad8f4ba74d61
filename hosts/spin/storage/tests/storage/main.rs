//! Tests both storages without Spin: over `SQLite`, used as Spin uses it, and over an
//! in-memory key-value store.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

mod contract;
mod costs;
mod errors;
mod key_value;
mod many;
mod rows;
mod snapshot;
mod support;
mod tables;
