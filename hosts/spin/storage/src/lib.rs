//! What the component imports, on Spin: buckets over its `SQLite` ([`sqlite`]) or over
//! its key-value store ([`key_value`]), the time, the log as lines of JSON ([`log`]),
//! and a tokenizer that knows no encoding. Beside it `buckets`, for the front.
//!
//! The storages are written against a trait each, so that they are tested outside of
//! Spin; the component's features choose the one that its exports use. No rules, and
//! no HTTP.

// What is exported has names that only WebAssembly's linker takes.
#[cfg(any(target_family = "wasm", clippy))]
mod bindings;
#[cfg(any(target_family = "wasm", clippy))]
mod component;
mod names;
mod rows;

pub mod key_value;
pub mod log;
pub mod sqlite;
