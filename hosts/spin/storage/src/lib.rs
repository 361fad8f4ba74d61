//! Implements the component's imports on Spin: buckets over `SQLite` ([`sqlite`]) or over
//! the key-value store ([`key_value`]), the time, the log as lines of JSON ([`log`]), and
//! a tokenizer without encodings. It also exports `buckets` to the front.
//!
//! Each storage is written against a trait, so that it is tested outside of Spin. The
//! crate's features choose the storage that the exports use. No rules and no HTTP here.

// Only WebAssembly's linker accepts the names of the exports in a library; in the tests
// they are compiled for the lints.
#[cfg(any(target_family = "wasm", test))]
mod bindings;
#[cfg(any(target_family = "wasm", test))]
mod component;
mod rows;

pub mod key_value;
pub mod log;
pub mod sqlite;
