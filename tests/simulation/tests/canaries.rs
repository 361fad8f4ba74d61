//! Systems that are broken on purpose: each is found out within a few seeds, and
//! what shows it is short.

#![expect(clippy::panic, reason = "a test")]

use shared_context_simulation::{
    canary::{Canary, SEEDS_MAX},
    run, shrink,
};

const STEPS: usize = 300;
/// How long what shows a canary may be, with what happens inside of it.
const SHOWN_STEPS_MAX: usize = 12;

/// Returns the seed that finds `canary` out, and the shortest script.
fn found(canary: Canary) -> (u64, shrink::Shrunk) {
    let found = (1..=SEEDS_MAX).find_map(|seed| {
        let outcome = run::seed(seed, STEPS, Some(canary));
        let flaw = outcome.flaw?;
        Some((seed, shrink::shrink(&outcome.script, &flaw)))
    });
    found.unwrap_or_else(|| panic!("{} is not found out in {SEEDS_MAX} seeds", canary.as_str()))
}

#[test]
fn every_canary_is_found_out_and_shown_in_a_few_steps() {
    for canary in Canary::ALL {
        let (seed, shrunk) = found(canary);
        let (name, script) = (canary.as_str(), &shrunk.script);
        assert!(script.count() <= SHOWN_STEPS_MAX, "{name}, seed {seed}: {script:#?}");
        let again = run::script(script).flaw;
        assert_eq!(again, Some(shrunk.flaw), "{name}: what is shown is what was found");
        let mut healthy = script.clone();
        healthy.canary = None;
        assert_eq!(run::script(&healthy).flaw, None, "{name}: it is the canary's fault alone");
    }
}
