//! The session against a plain model: whatever is asked, by whom, in whatever
//! order, with a clock that jumps and storage that fails, both show the same, to
//! everyone, and the rows beneath are exactly those it takes.
//!
//! The model is what the specification says in its plainest form: it holds every
//! value where it is used and counts everything anew.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]
#![expect(clippy::indexing_slicing, reason = "what is not there fails the test")]
#![expect(clippy::unnecessary_wraps, reason = "all that is asked is answered in one form")]
#![expect(clippy::cast_possible_truncation, reason = "the numbers are small")]

mod budget;
mod changes;
mod pair;
mod past;
mod reads;
mod rows;
mod script;
mod state;
#[path = "../support/mod.rs"]
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
