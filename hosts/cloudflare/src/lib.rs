//! shared-context on Cloudflare Workers: the core and the wire, linked into one
//! Worker, with a Durable Object for each session.
//!
//! A request comes to the *entry*. One that belongs to a session, and shows a
//! credential that is good, goes on to that session's *bucket* unread; it is
//! answered there, at once, since the rows lie in the object's own `SQLite`. The rest
//! is answered at the entry: what is open to all, what is refused, and what is
//! about many sessions, of which the *directory* knows the names.
//!
//! ```text
//! entry.mjs ── entry ──(fetch, unread)── bucket: wire over engine over kv
//!                └─────(invoke)────────────┘        │ created, deleted
//!                └─────(list)─────── directory ─────┘
//! ```
//!
//! `entry.mjs` has the classes that the platform asks for, calls what is exported
//! here, and gives the instance up when it fails. No rules, no routes.
//!
//! # Invariants
//!
//! - No object is woken for a request without a good credential.
//! - One object changes a session. It decides without waiting for anything, so
//!   nothing comes between what it read and what it writes.
//! - An answer leaves the object when what it tells of is durable: the platform
//!   holds back responses, and `object` holds back live events and the log.

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
