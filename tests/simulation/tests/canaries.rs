//! Canaries: the simulation detects each within a few seeds, with a short script.

#![expect(clippy::panic, reason = "a test")]

use shared_context_simulation::{
    canary::{Canary, SEEDS_MAX},
    run,
    script::Step,
    shrink,
};

const STEPS: usize = 300;
/// Maximum number of steps in a minimized script, including nested ones.
const STEPS_SHOWN_MAX: usize = 12;
/// The same of a project: its memories are named by their numbers, so that an earlier addition cannot be
/// left out.
const PROJECT_STEPS_SHOWN_MAX: usize = 40;

/// Returns the first seed that detects `canary`, and the minimized script.
fn detect(canary: Canary) -> (u64, shrink::Shrunk) {
    let detected = canary.seeds(1).find_map(|seed| {
        let outcome = run::seed(seed, STEPS, Some(canary));
        let flaw = outcome.flaw?;
        Some((seed, shrink::shrink(&outcome.script, &flaw)))
    });
    detected.unwrap_or_else(|| panic!("{} is not detected in {SEEDS_MAX} seeds", canary.as_str()))
}

#[test]
fn every_canary_is_detected_by_a_short_script() {
    for canary in Canary::ALL {
        let (seed, shrunk) = detect(canary);
        let (name, script) = (canary.as_str(), &shrunk.script);
        let is_of_project = script.steps.iter().any(|it| matches!(it, Step::Project(_)));
        let most = if is_of_project { PROJECT_STEPS_SHOWN_MAX } else { STEPS_SHOWN_MAX };
        assert!(script.count() <= most, "{name}, seed {seed}: {script:#?}");
        let again = run::script(script).flaw;
        assert_eq!(again, Some(shrunk.flaw), "{name}: the minimized script fails in the same way");
        let mut healthy = script.clone();
        healthy.canary = None;
        assert_eq!(run::script(&healthy).flaw, None, "{name}: only the canary causes the failure");
    }
}
