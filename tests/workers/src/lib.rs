//! Tests of the Worker under the real workerd, the runtime of Cloudflare Workers:
//! kills, poison, live streams, costs.
//!
//! The tests stand in `tests/`, a file per story. Here is what they share: workerd
//! started on a data folder ([`workerd`]), and what the test module around the Worker
//! can be told to do ([`under_test`]). Clients, watchers and writers are those of
//! `shared-context-system`. What the rules answer is the conformance suite's to
//! prove, not this one's.
//!
//! # Invariants
//!
//! - The Worker under test is the one that is deployed, byte for byte: whatever tests
//!   need beyond that is in `js/under_test.mjs`, a module around it.
//! - A workerd belongs to the test that started it, listens on loopback only, and is
//!   gone when the test is over, however it ends.
//! - Where there is no workerd, each test says that it was skipped, and why.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "used by tests only: whatever is not as it should be fails the test"
)]

mod config;
pub mod under_test;
pub mod workerd;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

pub use under_test::UnderTest;
pub use workerd::{Place, Setup, Workerd};

/// A test: its name and what it does.
pub type Test = (&'static str, fn());

/// Runs `tests`, the whole of one story, with the arguments of this process; without
/// a workerd each is told as ignored.
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
