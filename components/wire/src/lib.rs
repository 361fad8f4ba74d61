//! Requests that come over a network, turned into requests of the JSON tool,
//! and replies turned into responses.
//!
//! A host reads bytes from its sockets, hands a whole HTTP request to
//! [`http::Http::handle`] and writes the response it gets: a whole one, or a live
//! stream ([`http::Watch`]) that the host asks for more whenever its socket has room.
//! What the wire needs from the host is the trait [`Engine`]; what it knows of
//! callers is in [`credential`].
//!
//! ```
//! use bytes::Bytes;
//! use shared_context_codec::{Caller, Failure, Reply};
//! use shared_context_core::{ScopeKind, time::Timestamp};
//! use shared_context_wire::{Engine, Woken, credential::Keys, http::{Http, Options}};
//! use std::time::Duration;
//!
//! /// A host whose storage is away.
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
//! The wire knows no sockets, no storage and no rules: whether a key is valid, a
//! value too large or a session archived is decided behind [`Engine::invoke`].
//! No secret and no stored value is ever part of an error message or of a
//! `Debug` output.

pub mod credential;
pub mod engine;
pub mod http;

pub use engine::{Engine, Woken};

mod mcp;
mod memory_tool;
mod mint;
mod tools;
mod verified;

// The document is built where it is compared with the committed one, and
// nowhere else: a server carries its text only.
#[cfg(test)]
mod openapi;
