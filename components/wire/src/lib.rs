//! Translates network requests into requests of the JSON tool, and its replies into responses.
//!
//! A host reads bytes from its sockets and passes a complete HTTP request to
//! [`http::Http::handle`]. It writes the response, which is either complete or a live stream
//! ([`http::Watch`]); the host polls a stream whenever its socket has room. The host implements the
//! trait [`Engine`]; [`credential`] identifies callers.
//!
//! ```
//! use bytes::Bytes;
//! use shared_context_codec::{Caller, Failure, Reply};
//! use shared_context_core::{ScopeKind, time::Timestamp};
//! use shared_context_wire::{Engine, Woken, credential::Keys, http::{Http, Options}};
//! use std::time::Duration;
//!
//! /// A host whose storage is unavailable.
//! struct Host;
//! impl Engine for Host {
//!     async fn invoke(&self, _: &str, _: &Caller, _: &[u8]) -> Result<Reply, Failure> {
//!         Err(Failure::new("STORAGE_UNAVAILABLE", "the disk is away; try again later"))
//!     }
//!     async fn ids(&self, _: ScopeKind, _: Option<&str>, _: usize) -> Result<Vec<String>, Failure> {
//!         Ok(Vec::new())
//!     }
//!     async fn position(&self, _: &str) -> u64 { 0 }
//!     async fn wait_for_change(&self, _: &str, _: u64, _: Duration) -> Woken {
//!         Woken::Stopping
//!     }
//!     fn now(&self) -> Timestamp { Timestamp(1_771_597_800_000) }
//!     fn monotonic_micros(&self) -> u64 { 0 }
//! }
//!
//! # async fn answer() -> Result<(), Box<dyn std::error::Error>> {
//! let admin_key = "a-text-of-32-bytes-or-more,-kept-secret";
//! let interface = Http::new(Options::new(Keys::new(&[7; 32], admin_key)?));
//! let request = http::Request::get("/v1/sessions/ticket-7")
//!     .header("host", "localhost")
//!     .header("authorization", format!("Bearer {admin_key}"))
//!     .body(Bytes::new())?;
//! assert_eq!(interface.handle(&Host, request).await.status(), 503);
//! # Ok(())
//! # }
//! # use std::{pin::pin, task::{Context, Poll, Waker}};
//! # let polled = pin!(answer()).poll(&mut Context::from_waker(Waker::noop()));
//! # let Poll::Ready(outcome) = polled else { unreachable!() };
//! # outcome.unwrap();
//! ```
//!
//! # Invariants
//!
//! The wire has no sockets, no storage and no rules: [`Engine::invoke`] decides whether a key is
//! valid, a value too large or a session archived. Error messages and `Debug` output never contain
//! a secret or a stored value.

pub mod credential;
pub mod engine;
pub mod http;

pub use engine::{Engine, EntryReads, Woken};
pub use mcp::REQUEST_ID;
pub use recent::Recent;
pub use tools::is_read_only;

mod mcp;
mod mint;
mod recent;
mod tools;
mod verified;

// Only a test builds the document, to compare it with the committed one. A server carries just the
// text.
#[cfg(test)]
mod openapi;
