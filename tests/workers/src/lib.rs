//! Tests of the Worker under the real workerd, the runtime of Cloudflare Workers: kills,
//! traps in the WebAssembly instance, live streams, costs.
//!
//! The tests are in `tests/`, one suite per file. This crate has the parts they share:
//! [`workerd`] starts workerd on a data folder, and [`under_test`] controls the test module
//! around the Worker. Clients, watchers and writers come from `shared-context-system`. The
//! conformance suite tests the rules; this crate does not.
//!
//! # Invariants
//!
//! - The Worker under test is the deployed one, byte for byte. All additions for tests are
//!   in `js/under_test.mjs`, a module around it.
//! - A workerd belongs to the test that started it, listens on loopback only, and ends
//!   with the test.
//! - Without workerd, each test is reported as skipped, with the reason.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "used by tests only: an unexpected result fails the test"
)]

mod config;
pub mod under_test;
pub mod workerd;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

pub use under_test::UnderTest;
pub use workerd::{Place, Setup, Workerd};

/// A test: its name and its function.
pub type Test = (&'static str, fn());

/// Runs the suite `tests` with the arguments of this process. Without workerd, each test is
/// reported as ignored.
pub fn main(tests: &[Test]) -> ExitCode {
    let arguments = Arguments::from_args();
    let missing = Place::find().err();
    if let Some(why) = &missing
        && !arguments.list
    {
        shared_context_system::tell(&format!("skipped: {why}"));
    }
    let trials = tests.iter().map(|&(name, test)| {
        let trial = Trial::test(name, move || {
            test();
            Ok(())
        });
        trial.with_ignored_flag(missing.is_some())
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
