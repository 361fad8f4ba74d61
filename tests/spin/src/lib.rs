//! An emulator of Spin on wasmtime, for tests of components that run on Spin.
//!
//! No registry offers a Spin binary, so the application of `hosts/spin` is tested on an
//! emulator. It is built on wasmtime with its WASI and WASI HTTP, like Spin, and
//! reimplements Spin's own interfaces (`SQLite`, key-value stores, variables). It runs
//! inside the process of a test ([`Emulator`]), where the test can stop the clock, make
//! storage fail and abort instances. Or it runs as a program ([`Program`]) that is started
//! like Spin, so that the same test runs on Spin itself when `SPIN_BIN` names one.
//!
//! # Invariants
//!
//! - The served component is the deployed one, byte for byte, without hooks for tests.
//! - Where the emulator differs from Spin, it is stricter, or its documentation says so.
//!   It rejects at the start what it does not support.
//! - An emulator belongs to the test that started it and ends with the test. It listens on
//!   the given address, by default on loopback.

mod app;
mod bindings;
pub mod cli;
mod clock;
mod compose;
mod emulator;
mod faults;
mod host;
mod manifest;
mod output;
mod place;
mod program;
mod routes;
mod server;
pub mod suite;
#[cfg(test)]
mod test_component;
mod times;
mod variables;

pub use emulator::{Emulator, Setup};
pub use faults::{Kill, Storage};
pub use place::{Over, Place};
pub use program::{Program, Runtime};
pub use server::Leaving;
pub use times::Times;
