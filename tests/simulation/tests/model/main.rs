//! Property test of the session against the model, with commands instead of bytes and one caller at
//! a time. Whatever the order of commands, clock jumps and storage failures, both show the same to
//! everyone, and the rows are exactly the needed ones.
//!
//! Commands here depend on the current state of the session, so this test reaches deep states in
//! fewer steps than the simulation.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]
#![expect(clippy::indexing_slicing, reason = "a missing item fails the test")]

mod pair;
mod records;
mod script;
#[path = "../../../../components/core/tests/support/mod.rs"]
mod support;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn the_session_matches_the_model(
        config in script::config(),
        steps in prop::collection::vec(script::step(), 1..60),
    ) {
        let mut pair = pair::Pair::new(&config);
        for step in &steps {
            pair.play(step);
        }
    }
}
