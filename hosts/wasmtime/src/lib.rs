//! shared-context on wasmtime. The rules run inside the WebAssembly component; the host
//! gives it storage, a clock, a log and a tokenizer.
//!
//! The library has three uses:
//!
//! - *Embed* the component in your program: [`Component`], over your own storage or
//!   [`SqliteKv`].
//! - *Serve* it over HTTP: [`Server`].
//! - Run the binary `shared-context`, which does both from the command line.
//!
//! # Embed the component with your own storage
//!
//! Storage is two traits of the core, [`Kv`] and [`Bucket`]: open a bucket, read rows,
//! commit. They are synchronous, and a commit is durable when it returns. This example
//! keeps all buckets in one map and stores nothing durably. [`Bucket`] documents the
//! guarantees that an implementation must give.
//!
//! ```
//! use std::{collections::BTreeMap, sync::{Arc, Mutex}};
//! use shared_context_core::port::{
//!     Bucket, Change, CommitError, Kv, KvError, ReadError, Revision, Row,
//! };
//! use shared_context_wasmtime::{
//!     Caller, Component, ComponentOptions, Host, SystemClock, TracingLog,
//!     bindings::exports::shared_context::core::store,
//! };
//!
//! type Rows = (Revision, BTreeMap<String, Vec<u8>>);
//! #[derive(Clone, Default)]
//! struct MyKv(Arc<Mutex<BTreeMap<String, Rows>>>);
//! struct MyBucket { kv: MyKv, name: String, rows: Rows }
//!
//! impl Kv for MyKv {
//!     type Bucket = MyBucket;
//!     fn open(&self, name: &str) -> Result<MyBucket, KvError> {
//!         let rows = self.0.lock().unwrap().get(name).cloned().unwrap_or_default();
//!         Ok(MyBucket { kv: self.clone(), name: name.to_owned(), rows })
//!     }
//! }
//! impl Bucket for MyBucket {
//!     fn revision(&self) -> Revision { self.rows.0 }
//!     fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
//!         Ok(self.rows.1.get(row).cloned())
//!     }
//!     fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
//!         let rows = self.rows.1.iter().filter(|(row, _)| {
//!             row.starts_with(prefix) && after.is_none_or(|after| row.as_str() > after)
//!         });
//!         Ok(rows.take(limit as usize).map(|(row, it)| (row.clone(), it.clone())).collect())
//!     }
//!     fn commit(&mut self, expected: Revision, changes: Vec<Change>)
//!     -> Result<Revision, CommitError> {
//!         let mut buckets = self.kv.0.lock().unwrap();
//!         let (revision, rows) = buckets.entry(self.name.clone()).or_default();
//!         if *revision != expected {
//!             return Err(CommitError::Conflict);
//!         }
//!         for change in changes {
//!             match change {
//!                 Change::Put(row, value) => drop(rows.insert(row, value)),
//!                 Change::Delete(row) => drop(rows.remove(&row)),
//!                 Change::DeletePrefix(start) => rows.retain(|row, _| !row.starts_with(&start)),
//!             }
//!         }
//!         *revision = revision.next();
//!         Ok(*revision)
//!     }
//! }
//!
//! let component = Component::new(&ComponentOptions::default())?;
//! let host = Host::new(MyKv::default(), SystemClock, TracingLog);
//!
//! // The JSON tool: bytes in, bytes out.
//! let admin = Caller::trusted("admin");
//! let create = br#"{"action":"create_session"}"#;
//! component.invoke(&host, "session/ticket-7", &admin, create)?;
//!
//! // The typed interfaces: the same operations as functions.
//! let (caller, value) = ((&Caller::trusted("orchestrator")).into(), "Find the parameter.");
//! let written = component.call(&host, |entries: &store::Guest, store| {
//!     entries.call_write(store, "ticket-7", &caller, "scope", value, &Default::default(), None)
//! })?;
//! assert_eq!(written.version, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//!
//! - An instance of the component serves requests about one session: no data of one session can
//!   reach another. Only a program that keeps an [`Instance`] decides itself what it serves.
//! - A request that takes too long, needs too much memory or fails inside the component is
//!   an error of that request, never of the process.
//! - No part of a change is visible outside before the change is durable.
//! - Values are never logged.
//!
//! [`Kv`]: shared_context_core::port::Kv
//! [`Bucket`]: shared_context_core::port::Bucket

mod error;
pub mod folder;

#[cfg(feature = "wasm")]
pub mod bindings;
#[cfg(feature = "wasm")]
mod component;
#[cfg(not(feature = "wasm"))]
#[path = "native.rs"]
mod component;
mod host;
#[cfg_attr(not(feature = "wasm"), expect(dead_code, reason = "limits of instances"))]
mod options;
#[cfg_attr(not(feature = "wasm"), expect(dead_code, reason = "turns of long computations"))]
mod slots;
#[cfg(feature = "wasm")]
mod state;

mod clock;
mod failures;
mod log;
mod sqlite;
#[cfg(feature = "tokenizer")]
mod tokenizer;

mod alarm;
mod body;
mod deferred;
mod engine;
mod notifier;
mod server;
mod throttled_reader;
mod write_lock;

pub use clock::SystemClock;
#[cfg(feature = "wasm")]
pub use component::{Called, Interface};
pub use component::{Component, Instance};
pub use engine::Engine;
pub use error::StartError;
pub use host::Host;
pub use log::{AuditEntry, AuditLog, AuditRecord, TracingLog};
pub use options::{Cache, ComponentOptions};
pub use server::{Server, ServerOptions};
pub use shared_context_codec::{Caller, Credential, Effect, Failure, Reply};
pub use sqlite::{Contents, Examined, SqliteBucket, SqliteKv, SqliteOptions, Verification};
#[cfg(feature = "wasm")]
pub use state::State;
#[cfg(feature = "tokenizer")]
pub use tokenizer::BpeTokenizer;
