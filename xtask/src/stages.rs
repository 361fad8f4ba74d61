//! `cargo xtask test`: the whole proof, stage by stage.
//!
//! All stages run even when one fails, so that one run shows everything; only
//! what the others stand on ends it.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::{
    api,
    cargo_deny::{self, CARGO_DENY},
    component,
    console::{self, Outcome},
    fuzz::{self, CARGO_FUZZ},
    mcp, process, program,
    requirements::{self, Requirement},
    spin, tidy, wasm_target, worker, workerd,
    workspace::Workspace,
};

/// What of the proof is asked for.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Selection {
    /// Run these stages only, and what they need
    #[arg(value_name = "STAGE")]
    only: Vec<Stage>,
    /// Look up known vulnerabilities too (needs the network)
    #[arg(long)]
    advisories: bool,
}

/// A part of the proof, in the order they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stage {
    /// What this repository needs is there
    Setup,
    /// The component builds, fits its contract and imports nothing else; Worker and Spin app build
    Build,
    /// Layers, comments, links, sizes of files
    Tidy,
    /// Formatted as rustfmt formats
    Fmt,
    /// No lint warns
    Clippy,
    /// All tests: units, examples in documentation, conformance, the started program
    Test,
    /// What libFuzzer finds in a few thousand inputs of each target, always the same
    Fuzz,
    /// What schemathesis and generators of clients say of the HTTP interface, by its own `OpenAPI`
    /// document
    Api,
    /// What third-party programs say of /mcp: the official suite, the inspector, clients
    Mcp,
    /// What runs on Cloudflare, under the real workerd: conformance, kills, deployment
    Workers,
    /// What runs on Spin, in an emulator: conformance, kills, the example
    Spin,
    /// The documentation builds without a warning
    Doc,
    /// Licences, banned crates, sources
    Deny,
}

impl Stage {
    /// Runs this stage alone.
    pub(crate) fn run(self, workspace: &Workspace, selection: &Selection) -> Result<()> {
        let cargo = |arguments: &[&str]| {
            let mut cargo = workspace.cargo();
            cargo.args(arguments);
            cargo
        };
        match self {
            Self::Setup => {
                wasm_target::ensure(workspace)?;
                CARGO_DENY.ensure(workspace)?;
                CARGO_FUZZ.ensure(workspace)?;
                Ok(())
            }
            Self::Build => {
                component::build(workspace)?;
                if selection.is_built_for(Self::Workers) {
                    worker::build(workspace)?;
                }
                if selection.is_built_for(Self::Spin) {
                    spin::build(workspace)?;
                }
                Ok(())
            }
            Self::Tidy => tidy::check(workspace),
            Self::Fmt => process::run(&mut cargo(&["fmt", "--all", "--check"])),
            Self::Clippy => {
                let mut clippy = cargo(&["clippy", "--workspace", "--all-targets"]);
                process::run(clippy.args(["--", "--deny", "warnings"]))
            }
            Self::Test => {
                // Some tests start the program.
                workspace.build_programs()?;
                process::run(&mut cargo(&["test", "--workspace", "--no-fail-fast"]))?;
                program::test_native(workspace)
            }
            Self::Fuzz => fuzz::smoke(workspace),
            Self::Api => api::check(workspace, &[]),
            Self::Mcp => mcp::check(workspace, Vec::new(), &[]),
            Self::Workers => workerd::check(workspace, &[]),
            Self::Spin => spin::check::check(workspace, &[]),
            Self::Doc => {
                let mut doc = cargo(&["doc", "--workspace", "--no-deps"]);
                process::run(doc.env("RUSTDOCFLAGS", "--deny warnings"))
            }
            Self::Deny => cargo_deny::check(workspace, selection.advisories),
        }
    }

    /// Returns whether the host's crates are compiled, which hold the component.
    fn needs_component(self) -> bool {
        matches!(
            self,
            Self::Clippy
                | Self::Test
                | Self::Api
                | Self::Mcp
                | Self::Workers
                | Self::Spin
                | Self::Doc
        )
    }

    /// Returns the programs of this machine that the stage needs.
    fn requirements(self) -> &'static [Requirement] {
        match self {
            Self::Fuzz => &[Requirement::CppCompiler],
            Self::Api | Self::Mcp | Self::Workers | Self::Spin => {
                &[Requirement::Npm, Requirement::Python]
            }
            _ => &[],
        }
    }

    /// Returns whether nothing after this stage can succeed without it.
    fn is_foundation(self) -> bool {
        matches!(self, Self::Setup | Self::Build)
    }

    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn about(self) -> String {
        let value = self.to_possible_value();
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    }
}

/// The crates that hold the rules, whose tests take seconds.
const RULES: [&str; 3] = ["shared-context-core", "shared-context-codec", "shared-context-wire"];

/// Checks what takes a minute once it is built, and stops at the first fault.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let all = Selection::default();
    Stage::Fmt.run(workspace, &all)?;
    Stage::Tidy.run(workspace, &all)?;
    component::build(workspace)?;
    Stage::Clippy.run(workspace, &all)?;
    let mut tests = workspace.cargo();
    tests.arg("test").args(RULES.iter().flat_map(|it| ["--package", it]));
    process::run(&mut tests)
}

impl Selection {
    fn stages(&self) -> Vec<Stage> {
        let is_chosen = |stage: &Stage| {
            self.only.is_empty()
                || self.only.contains(stage)
                || *stage == Stage::Build && self.only.iter().any(|stage| stage.needs_component())
        };
        Stage::value_variants().iter().copied().filter(is_chosen).collect()
    }

    /// Returns whether what only the stage `user` runs is to be built.
    fn is_built_for(&self, user: Stage) -> bool {
        let needing = [Stage::Build, user];
        self.only.is_empty() || needing.iter().any(|stage| self.only.contains(stage))
    }
}

/// Names the stages.
pub(crate) fn list() {
    for stage in Stage::value_variants() {
        anstream::println!("{:<8}{}", stage.name(), stage.about());
    }
}

/// Runs what `.ci/run` runs.
pub(crate) fn ci(workspace: &Workspace) -> Result<()> {
    process::run(&mut Command::new(workspace.root.join(".ci/run")))
}

/// Runs the chosen stages and sums up.
pub(crate) fn run(workspace: &Workspace, selection: &Selection) -> Result<()> {
    let stages = selection.stages();
    requirements::ensure(stages.iter().flat_map(|it| it.requirements()).copied())?;
    let started = Instant::now();
    let mut results: Vec<(Stage, Outcome, Duration)> = Vec::new();
    for stage in stages {
        let is_blocked = results
            .iter()
            .any(|(earlier, outcome, _)| earlier.is_foundation() && *outcome != Outcome::Passed);
        if is_blocked {
            results.push((stage, Outcome::NotRun, Duration::ZERO));
            continue;
        }
        console::headline(&format!("{}: {}", stage.name(), stage.about()));
        let stage_started = Instant::now();
        let outcome = match stage.run(workspace, selection) {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                console::failure(&format!("{}: {error:#}", stage.name()));
                Outcome::Failed
            }
        };
        results.push((stage, outcome, stage_started.elapsed()));
    }
    console::headline(&format!("summary ({})", console::seconds(started.elapsed())));
    for &(stage, outcome, took) in &results {
        console::row(&stage.name(), outcome, took);
    }
    conclude(&results)
}

fn conclude(results: &[(Stage, Outcome, Duration)]) -> Result<()> {
    let failed = results.iter().filter(|(_, outcome, _)| *outcome == Outcome::Failed);
    let failed: Vec<_> = failed.map(|(stage, ..)| stage.name()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let names = failed.join(" ");
    bail!("{names} failed; to repeat just that: cargo xtask test {names}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(only: &[Stage]) -> Vec<Stage> {
        Selection { only: only.to_vec(), advisories: false }.stages()
    }

    #[test]
    fn everything_runs_when_nothing_is_chosen() {
        assert_eq!(stages(&[]), Stage::value_variants());
    }

    #[test]
    fn a_stage_brings_the_component_it_needs() {
        assert_eq!(stages(&[Stage::Doc, Stage::Clippy]), [Stage::Build, Stage::Clippy, Stage::Doc]);
        assert_eq!(stages(&[Stage::Tidy]), [Stage::Tidy]);
    }

    #[test]
    fn an_application_is_built_for_who_needs_it() {
        let is_built = |user: Stage, only: &[Stage]| {
            Selection { only: only.to_vec(), advisories: false }.is_built_for(user)
        };
        for (user, other) in [(Stage::Workers, Stage::Spin), (Stage::Spin, Stage::Workers)] {
            assert!(is_built(user, &[]));
            assert!(is_built(user, &[Stage::Build]));
            assert!(is_built(user, &[Stage::Clippy, user]));
            assert!(!is_built(user, &[Stage::Clippy, Stage::Test, other]));
        }
    }

    #[test]
    fn a_failure_names_the_command_that_repeats_it() {
        let second = Duration::from_secs(1);
        let results =
            [(Stage::Fmt, Outcome::Failed, second), (Stage::Doc, Outcome::Passed, second)];
        let error = conclude(&results).unwrap_err();
        assert_eq!(error.to_string(), "fmt failed; to repeat just that: cargo xtask test fmt");
    }
}
