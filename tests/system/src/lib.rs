//! Tests of the started program: kills, full disks, bad input.
//!
//! The tests are in `tests/`, a file per kind of trouble. This library has their common parts: the
//! program ([`program`]) started as a server ([`server`]), asked as a well-behaved client
//! ([`client`]), watched ([`watch`]) or asked byte by byte ([`raw`]); many writers whose
//! acknowledged writes are compared with what is stored ([`writers`]), also when the server is
//! killed ([`kills`], [`memory_kills`], [`leases`] and [`takeover`], also for other hosts); the
//! commands of the program ([`terminal`], [`agent`]), and TLS in front of a server ([`tls`]). What
//! the rules answer is the conformance suite's to prove, not this one's.
//!
//! # Invariants
//!
//! - A server belongs to the test that started it, listens on loopback only, and
//!   is gone when the test is over, however it ends.
//! - No test waits for time to pass; what must happen soon is waited for until a
//!   deadline, and missing it is a failure.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "used by tests only: whatever is not as it should be fails the test"
)]

pub mod agent;
pub mod client;
pub mod disk;
pub mod flood;
pub mod history;
pub mod kills;
pub mod leases;
pub mod memory_kills;
pub mod program;
pub mod raw;
pub mod secrets;
pub mod server;
pub mod takeover;
pub mod terminal;
pub mod tls;
pub mod watch;
pub mod writers;

use std::io::Write as _;

pub use agent::Agent;
pub use client::{Answer, Client};
pub use kills::{Killable, Kills};
pub use memory_kills::MemoryKills;
pub use server::{Refusal, Server, Setup};
pub use watch::{Event, Watch};

/// Says the last lines of what a failed test's server wrote, `what` it is first.
pub fn tell_last(what: &str, lines: &str) {
    const LINES_MAX: usize = 30;
    let skipped = lines.lines().count().saturating_sub(LINES_MAX);
    let last: Vec<_> = lines.lines().skip(skipped).collect();
    tell(&format!("the last of the {what}:\n{}", last.join("\n")));
}

/// Says `text` where it is seen even when the test passes.
pub fn tell(text: &str) {
    // Not `eprintln!`, which the test harness keeps for failures.
    drop(writeln!(std::io::stderr(), "{text}"));
}
