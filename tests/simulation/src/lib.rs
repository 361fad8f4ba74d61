//! Simulation: plays requests, faults and interleavings in an order that one seed decides, and
//! compares each step with a plain model.
//!
//! A world ([`world`]) has sessions, storage, a clock, and participants whose requests run inside
//! each other. A [`script`] describes what happens in it. A seed makes a script ([`generate`],
//! [`run`]). Requests go through the codec to the core and back. The [`model`] defines the correct
//! answers and rows. A failing script is minimized ([`shrink`]) and, where possible, printed as a
//! conformance case ([`case`]). [`canary`] lists systems that are broken on purpose and must fail.
//!
//! Hosts, HTTP and real storage are out of scope: `tests/system`, `tests/workers` and `tests/spin`
//! cover them.
//!
//! # Invariants
//!
//! - The same seed produces the same bytes: nothing depends on the machine, and no unordered map is
//!   iterated.
//! - Every reported failure can be replayed from the printed script.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "test code: an invalid model or script fails the run"
)]

pub mod canary;
pub mod case;
pub mod counts;
pub mod fixtures;
pub mod generate;
pub mod model;
mod panics;
pub mod request;
pub mod run;
pub mod script;
pub mod shrink;
pub mod world;
