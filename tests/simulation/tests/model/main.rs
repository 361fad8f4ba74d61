//! The session against the plain model, asked in commands and not in bytes, one
//! caller after the other: whatever is asked, by whom, in whatever order, with a
//! clock that jumps and storage that fails, both show the same, to everyone, and the
//! rows beneath are exactly those it takes.
//!
//! Beside the simulation it is asked relative to what there is, and so comes deeper
//! with fewer steps.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]
#![expect(clippy::indexing_slicing, reason = "what is not there fails the test")]

mod pair;
mod records;
mod script;
#[path = "../../../../components/core/tests/support/mod.rs"]
mod support;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn the_session_shows_what_the_model_shows(
        config in script::config(),
        steps in prop::collection::vec(script::step(), 1..60),
    ) {
        let mut pair = pair::Pair::new(&config);
        for step in &steps {
            pair.play(step);
        }
    }
}
