//! Simulation: worlds in which everything happens that may happen to a session, in
//! an order that one number decides, compared with a plain model after each step.
//!
//! A world ([`world`]) has sessions, storage, a clock, and participants whose
//! requests run inside of each other's. What happens in it is a [`script`]; a seed
//! makes one ([`generate`], [`run`]), which goes through the codec to the core and
//! back. What must be answered and stored is the [`model`]'s to say. What fails is
//! made small ([`shrink`]) and told as a conformance case where it can be ([`case`]).
//! What must fail are the [`canary`]s.
//!
//! It leaves out hosts, HTTP and real storage: those are for `tests/system`,
//! `tests/workers` and `tests/spin`.
//!
//! # Invariants
//!
//! - The same seed is the same bytes: nothing is asked of the machine, and no map
//!   without order is walked.
//! - What it says is wrong can be played again from what it prints.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "used to test only: a model or a script that is none fails the run"
)]

pub mod canary;
pub mod case;
pub mod cast;
pub mod counts;
pub mod generate;
pub mod model;
mod panics;
pub mod request;
pub mod run;
pub mod script;
pub mod shrink;
pub mod world;
