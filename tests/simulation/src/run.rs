//! Plays a seed, generating its script on the way, or replays a script.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::{
    canary::Canary,
    counts::Counts,
    generate::Generator,
    script::{Script, Step},
    world::{Flaw, World},
};

/// Interval, in steps, between full comparisons.
const COMPARED_EVERY: usize = 150;

/// Outcome of playing a seed or script.
#[derive(Debug)]
pub struct Outcome {
    /// The steps.
    pub script: Script,
    /// The failure, if any.
    pub flaw: Option<Flaw>,
    /// The statistics.
    pub counts: Counts,
    /// SHA-256 over all requests, answers, rows and log records.
    pub digest: String,
}

/// Plays `seed` for at most `steps` steps.
pub fn seed(seed: u64, steps: usize, canary: Option<Canary>) -> Outcome {
    let mut generator = Generator::new(seed);
    let storage = generator.storage();
    let world = World::new(storage, canary);
    let canary = canary.map(|it| it.as_str().to_owned());
    let mut script = Script { storage, canary, steps: Vec::new() };
    for nth in 1..=steps {
        let is_due = nth % COMPARED_EVERY == 0 || nth == steps;
        let step = if is_due { Step::Compare(true) } else { generator.step(&world) };
        world.play(&step);
        script.steps.push(step);
        if world.flaw().is_some() {
            break;
        }
    }
    Outcome { script, flaw: world.flaw(), counts: world.counts(), digest: world.digest() }
}

/// Replays a script.
pub fn script(script: &Script) -> Outcome {
    let canary = script.canary.as_deref().and_then(Canary::find);
    let world = World::new(script.storage, canary);
    for step in &script.steps {
        world.play(step);
    }
    Outcome {
        script: script.clone(),
        flaw: world.flaw(),
        counts: world.counts(),
        digest: world.digest(),
    }
}

/// Returns a digest in hexadecimal digits.
pub fn hex(digest: Sha256) -> String {
    digest.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
