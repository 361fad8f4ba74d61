//! Spin's interfaces on wasmtime, not Spin; for tests of what runs on Spin.
//!
//! No Spin binary can be had from a registry, so the application of `hosts/spin` is
//! tested on a stand-in: wasmtime with its WASI and WASI HTTP, which Spin is made of
//! too, and Spin's own interfaces (`SQLite`, key-value stores, variables) written anew
//! after what they do in Spin. A stand-in runs inside the process of a test
//! ([`StandIn`]), where clocks can be stopped, storage can fail and instances can be
//! ended in the middle; or as a program ([`Program`]) that is started just as Spin is,
//! so that the same test runs on Spin where `SPIN_BIN` names one.
//!
//! # Invariants
//!
//! - What is served is what is deployed, byte for byte: it holds no hook for tests.
//! - Where the stand-in is not like Spin, it is stricter, or says so in its
//!   documentation; what it cannot do it refuses at the start.
//! - A stand-in belongs to the test that started it, listens where it is told, by
//!   default on loopback, and is gone when the test is over, however it ends.

mod app;
mod bindings;
pub mod cli;
mod clock;
mod compose;
mod faults;
mod host;
mod manifest;
mod output;
mod place;
mod program;
mod routes;
mod server;
mod stand_in;
pub mod story;
#[cfg(test)]
mod test_component;
mod times;
mod variables;

pub use faults::{Kill, Storage};
pub use place::{Over, Place};
pub use program::{Program, Runtime};
pub use server::Leaving;
pub use stand_in::{Setup, StandIn};
pub use times::Times;
