//! `shared-context-sim`: plays seeds and prints what happened. For a failing seed it prints the
//! shortest script that fails and the command that repeats it.

#![expect(clippy::cast_precision_loss, reason = "rates are rounded anyway")]

mod report;

use std::{
    fs,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use clap::Parser;
use sha2::{Digest as _, Sha256};
use shared_context_simulation::{
    canary::Canary,
    counts::Counts,
    run::{self, Outcome},
    script::Script,
    shrink,
};

use report::Report;

/// Interval between progress messages.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);
/// One in this many seeds is played twice, to compare the bytes.
const TWICE_EVERY: u64 = 16;
/// Number of seeds by default.
const SEEDS_DEFAULT: u64 = 200;

/// Plays simulated worlds against a plain model.
#[derive(Debug, Parser)]
#[command(
    bin_name = "cargo xtask sim",
    version,
    after_help = "Examples:
  cargo xtask sim                        200 seeds; the same on every machine
  cargo xtask sim --seed 42              one seed, played twice and compared byte for byte
  cargo xtask sim --seed 1000 --minutes 20
                                         as many as there is time for, from 1000 on
  cargo xtask sim --canaries             systems broken on purpose: each must be found out
  cargo xtask sim --script failed.json   play what was printed

Of a seed that fails it prints the command that repeats it, the shortest script that fails in
the same way and, where no fault is needed for that, the script as a conformance case."
)]
struct Options {
    /// The first seed
    #[arg(long)]
    seed: Option<u64>,
    /// How many seeds
    #[arg(long, conflicts_with = "minutes")]
    seeds: Option<u64>,
    /// How many steps each
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// Go on for so long
    #[arg(long)]
    minutes: Option<u64>,
    /// Play this script instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "seeds", "minutes", "canaries"])]
    script: Option<PathBuf>,
    /// Play systems that are broken on purpose, and show how each is found out
    #[arg(long, conflicts_with_all = ["seeds", "minutes"])]
    canaries: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match options.run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            anstream::eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Options {
    /// Runs what the options select. Returns true if nothing failed.
    fn run(&self) -> Result<bool> {
        if let Some(path) = &self.script {
            return self.play_script(path);
        }
        if self.canaries {
            return Ok(self.play_canaries());
        }
        Ok(self.play_seeds())
    }

    fn steps(&self) -> usize {
        usize::try_from(self.steps).unwrap_or(usize::MAX)
    }

    fn play_seeds(&self) -> bool {
        let started = Instant::now();
        let first = self.seed.unwrap_or(1);
        let default = if self.seed.is_some() { 1 } else { SEEDS_DEFAULT };
        let seeds = self.seeds.unwrap_or(default);
        let deadline = self.minutes.map(|it| Duration::from_secs(it * 60));
        let (mut counts, mut digest, mut reported) =
            (Counts::default(), Sha256::new(), Instant::now());
        let mut seed = first;
        let failed = loop {
            let outcome = run::seed(seed, self.steps(), None);
            let is_twice = seeds == 1 || (seed - first).is_multiple_of(TWICE_EVERY);
            let again = is_twice.then(|| run::seed(seed, self.steps(), None).digest);
            if again.is_some_and(|it| it != outcome.digest) {
                anstream::eprintln!("seed {seed} played twice is not the same twice");
                break Some(outcome);
            }
            counts += outcome.counts.clone();
            digest.update(outcome.digest.as_bytes());
            if outcome.flaw.is_some() {
                break Some(outcome);
            }
            seed += 1;
            let is_over = match deadline {
                Some(deadline) => started.elapsed() >= deadline,
                None => seed - first >= seeds,
            };
            if is_over {
                break None;
            }
            if reported.elapsed() >= PROGRESS_EVERY {
                reported = Instant::now();
                let (done, steps) = (seed - first, counts.steps);
                let seconds = started.elapsed().as_secs();
                anstream::eprintln!("{done} seeds, {steps} steps in {seconds} s; no flaw");
            }
        };
        let is_good = failed.is_none();
        let digest = run::hex(digest);
        let report = Report {
            first_seed: first,
            seeds: seed - first + u64::from(!is_good),
            seconds: started.elapsed().as_secs_f64(),
            digest,
            counts,
            flaw: failed.as_ref().map(|it| self.flaw(it, seed)),
        };
        report.print(self.json);
        is_good
    }

    /// Returns the report of a failed seed.
    fn flaw(&self, outcome: &Outcome, seed: u64) -> report::FlawReport {
        let repeat = format!("cargo xtask sim --seed {seed} --steps {}", self.steps);
        report::FlawReport::new(outcome, repeat)
    }

    fn play_script(&self, path: &PathBuf) -> Result<bool> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let script: Script =
            serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        let started = Instant::now();
        let outcome = run::script(&script);
        let repeat = format!("cargo xtask sim --script {}", path.display());
        let is_good = outcome.flaw.is_none();
        let report = Report {
            first_seed: 0,
            seeds: 0,
            seconds: started.elapsed().as_secs_f64(),
            digest: outcome.digest.clone(),
            counts: outcome.counts.clone(),
            flaw: (!is_good).then(|| report::FlawReport::new(&outcome, repeat)),
        };
        report.print(self.json);
        Ok(is_good)
    }

    /// Returns true if the simulation detected every canary.
    fn play_canaries(&self) -> bool {
        let first = self.seed.unwrap_or(1);
        let mut all = Vec::new();
        for canary in Canary::ALL {
            let found = canary.seeds(first).find_map(|seed| {
                let outcome = run::seed(seed, self.steps(), Some(canary));
                let flaw = outcome.flaw?;
                Some((seed, shrink::shrink(&outcome.script, &flaw)))
            });
            let report = report::CanaryReport::new(canary, first, found);
            if !self.json {
                report.print();
            }
            all.push(report);
        }
        if self.json {
            report::print_json(&all);
        }
        all.iter().all(report::CanaryReport::is_caught)
    }
}
