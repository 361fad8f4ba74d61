//! shared-context on Cloudflare Workers: the core and the wire, linked into one
//! Worker, with a Durable Object for each session.
//!
//! Requests arrive at the *entry*. The entry forwards a request with a valid
//! credential to its session's *bucket* without reading the body. The bucket answers
//! without waiting, because its rows are in the object's own `SQLite`. The entry answers
//! all other requests: public ones, rejected ones, and those about many sessions,
//! whose names the *directory* stores.
//!
//! ```text
//! entry.mjs ── entry ──(fetch, unread)── bucket: wire over engine over kv
//!                └─────(invoke)────────────┘        │ created, deleted
//!                └─────(list)─────── directory ─────┘
//! ```
//!
//! `entry.mjs` defines the classes that the platform requires, calls the functions
//! exported here, and discards the instance when it fails. It has no rules and no routes.
//!
//! # Invariants
//!
//! - A request without a valid credential wakes no object.
//! - Only one object changes a session. It decides without waiting, so nothing
//!   happens between its reads and its writes.
//! - A response leaves the object once the changes it reports are durable. The platform
//!   holds back responses; `object` holds back live events and the log.

mod at_once;
mod boundary;
mod directory;
mod engine;
mod entry;
mod exchange;
mod hub;
mod js;
mod kv;
mod log;
mod object;
mod remote;
mod sockets;
