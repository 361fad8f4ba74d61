//! Both storages over what stands for Spin here: `SQLite` itself, used as Spin uses
//! it, and a key-value store in memory.

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
