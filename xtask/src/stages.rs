//! `cargo xtask test`: the whole proof, stage by stage.
//!
//! Every stage runs even when another fails, so that one run shows everything; but not
//! when a stage failed that it needs. All stages together run two at a time
//! ([`side_by_side`]). Stages chosen by name run one after the other, and print as they go.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::{
    api,
    cargo_deny::{self, CARGO_DENY},
    compile, component,
    console::{self, Outcome},
    doc,
    fuzz::CARGO_FUZZ,
    host_tests, kit, mcp, process, program,
    requirements::{self, Requirement},
    side_by_side, spin, tidy, wasm_target, worker, workerd,
    workspace::Workspace,
};

/// What of the proof is asked for.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Selection {
    /// Run these stages only, and what they need, one after the other
    #[arg(value_name = "STAGE")]
    only: Vec<Stage>,
    /// Look up known vulnerabilities too (needs the network)
    #[arg(long)]
    advisories: bool,
    /// Run one stage without what it needs, as part of all
    #[arg(long, hide = true, requires = "only")]
    as_part: bool,
}

/// A part of the proof, in the order they start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stage {
    /// The WebAssembly target is there
    Setup,
    /// The component builds, fits its contract and imports nothing else
    Build,
    /// The program without WebAssembly compiles
    Native,
    /// Layers, comments, links, sizes of files
    Tidy,
    /// Formatted as rustfmt formats
    Fmt,
    /// All programs and tests compile
    Compile,
    /// The Worker and the Spin app build
    Apps,
    /// All tests: units, examples in documentation, conformance, the started program
    Test,
    /// The Spin app in an emulator: conformance, kills, the example
    Spin,
    /// schemathesis, `REDbot` and generators of clients against the HTTP interface, by its own `OpenAPI` document
    Api,
    /// The Worker under the real workerd: conformance, kills, deployment
    Workers,
    /// Third-party programs against /mcp: the official suite, the inspector, clients
    Mcp,
    /// A kit of `PyPI` that measures compactions, and the examples that compact in process
    Kit,
    /// Licences, banned crates, sources
    Deny,
    /// No lint warns
    Clippy,
    /// The documentation builds without a warning
    Doc,
}

/// How a stage ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) stage: Stage,
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
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
            Self::Setup => wasm_target::ensure(workspace).map(drop),
            Self::Build => {
                component::build(workspace)?;
                component::build_pure(workspace)
            }
            Self::Apps => {
                // First what does not wait for cargo in the folder of the tests.
                spin::build(workspace)?;
                worker::build(workspace)
            }
            Self::Tidy => tidy::check(workspace),
            Self::Fmt => process::run(&mut cargo(&["fmt", "--all", "--check"])),
            Self::Native => program::build_native(workspace),
            Self::Compile => compile::all(workspace).map(drop),
            Self::Clippy => {
                compile::all(workspace)?.ensure_no_warning()?;
                lint_libraries(workspace)
            }
            Self::Test => {
                let compiled = compile::all(workspace)?;
                let mut tests = compile::cargo(workspace)?;
                tests.args(["test", "--workspace", "--no-fail-fast"]);
                let results =
                    [process::run(&mut tests), program::test_native(workspace, &compiled)];
                host_tests::conclude(results.into())
            }
            Self::Api => api::check(workspace, &[]),
            Self::Mcp => mcp::check(workspace, Vec::new(), &[]),
            Self::Kit => kit::check(workspace),
            Self::Workers => workerd::check(workspace, &[]),
            Self::Spin => spin::check::check(workspace, &[]),
            Self::Doc => doc::check(workspace),
            Self::Deny => cargo_deny::check(workspace, selection.advisories),
        }
    }

    /// Returns the stages without which it cannot succeed.
    pub(crate) fn needs(self) -> &'static [Self] {
        match self {
            Self::Setup | Self::Native | Self::Tidy | Self::Fmt | Self::Deny => &[],
            Self::Build => &[Self::Setup],
            // The crates of the host hold the component.
            Self::Apps => &[Self::Setup, Self::Build],
            // It puts another program in the place of the one without WebAssembly.
            Self::Compile => &[Self::Setup, Self::Build, Self::Native],
            Self::Test
            | Self::Doc
            | Self::Spin
            | Self::Api
            | Self::Workers
            | Self::Mcp
            | Self::Kit
            | Self::Clippy => &[Self::Setup, Self::Build, Self::Native, Self::Compile],
        }
    }

    /// Returns the stages that it does not need, but would only wait for.
    pub(crate) fn follows(self) -> &'static [Self] {
        match self {
            // They would build the same.
            Self::Spin | Self::Workers => &[Self::Apps],
            _ => &[],
        }
    }

    /// Returns the programs of this machine that the stage needs.
    fn requirements(self) -> &'static [Requirement] {
        match self {
            Self::Apps => &[Requirement::Npm],
            Self::Api | Self::Kit | Self::Mcp | Self::Workers | Self::Spin => {
                &[Requirement::Npm, Requirement::Python]
            }
            _ => &[],
        }
    }

    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Prints its name and what it is about.
    pub(crate) fn headline(self) {
        console::headline(&format!("{}: {}", self.name(), self.about()));
    }

    fn about(self) -> String {
        let value = self.to_possible_value();
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    }
}

/// The crates that hold the rules, whose tests take seconds.
const RULES: [&str; 3] = ["shared-context-core", "shared-context-codec", "shared-context-wire"];

/// The crates of which nothing but a WebAssembly module is made.
const FOR_WASM: [&str; 5] = [
    "shared-context-cloudflare",
    "shared-context-component",
    "shared-context-context",
    "shared-context-spin-front",
    "shared-context-spin-storage",
];

/// Brings what this repository needs.
pub(crate) fn setup(workspace: &Workspace) -> Result<()> {
    wasm_target::ensure(workspace)?;
    CARGO_DENY.ensure(workspace)?;
    CARGO_FUZZ.ensure(workspace).map(drop)
}

/// Lints the libraries that [`compile::all`] compiles only with their tests: the linker of
/// WebAssembly alone accepts the names that they export.
fn lint_libraries(workspace: &Workspace) -> Result<()> {
    let mut clippy = workspace.cargo();
    clippy.arg("clippy").args(FOR_WASM.iter().flat_map(|it| ["--package", it]));
    process::run(clippy.args(["--lib", "--", "--deny", "warnings"]))
}

/// Checks what takes a minute once it is built, and stops at the first fault.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let all = Selection::default();
    Stage::Fmt.run(workspace, &all)?;
    Stage::Tidy.run(workspace, &all)?;
    component::build(workspace)?;
    // Without compiling the tests of every crate, which takes longer.
    let mut clippy = workspace.cargo();
    clippy.args(["clippy", "--workspace", "--all-targets"]);
    process::run(clippy.args(["--", "--deny", "warnings"]))?;
    let mut tests = workspace.cargo();
    tests.arg("test").args(RULES.iter().flat_map(|it| ["--package", it]));
    process::run(&mut tests)
}

impl Selection {
    fn stages(&self) -> Vec<Stage> {
        let is_chosen = |stage: &Stage| {
            self.only.is_empty()
                || self.only.contains(stage)
                || !self.as_part && self.only.iter().any(|it| it.needs().contains(stage))
        };
        Stage::value_variants().iter().copied().filter(is_chosen).collect()
    }

    /// Returns the arguments by which this program runs `stage` as a part of all.
    fn part(&self, stage: Stage) -> Vec<String> {
        let mut arguments = vec!["test".to_owned(), stage.name(), "--as-part".to_owned()];
        arguments.extend(self.advisories.then(|| "--advisories".to_owned()));
        arguments
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
    if selection.as_part {
        return stages.iter().try_for_each(|it| it.run(workspace, selection));
    }
    requirements::ensure(stages.iter().flat_map(|it| it.requirements()).copied())?;
    let started = Instant::now();
    let results = if selection.only.is_empty() {
        side_by_side::run(workspace, &stages, |it| selection.part(it))?
    } else {
        one_by_one(workspace, &stages, selection)
    };
    console::headline(&format!("summary ({})", console::seconds(started.elapsed())));
    for Ended { stage, outcome, took } in &results {
        console::row(&stage.name(), *outcome, *took);
    }
    conclude(&results)
}

/// Runs `stages` one after the other and returns how they ended.
fn one_by_one(workspace: &Workspace, stages: &[Stage], selection: &Selection) -> Vec<Ended> {
    let mut results: Vec<Ended> = Vec::new();
    for &stage in stages {
        let is_lost =
            |it: &Ended| it.outcome != Outcome::Passed && stage.needs().contains(&it.stage);
        if results.iter().any(is_lost) {
            results.push(Ended { stage, outcome: Outcome::NotRun, took: Duration::ZERO });
            continue;
        }
        stage.headline();
        let started = Instant::now();
        let result = stage.run(workspace, selection);
        let ended = Ended::new(stage, &result, started.elapsed());
        ended.print(result);
        results.push(ended);
    }
    results
}

impl Ended {
    pub(crate) fn new(stage: Stage, result: &Result<()>, took: Duration) -> Self {
        let outcome = if result.is_ok() { Outcome::Passed } else { Outcome::Failed };
        Self { stage, outcome, took }
    }

    /// Prints why it failed, if it did.
    pub(crate) fn print(&self, result: Result<()>) {
        if let Err(error) = result {
            console::failure(&format!("{}: {error:#}", self.stage.name()));
        }
    }
}

fn conclude(results: &[Ended]) -> Result<()> {
    let failed = results.iter().filter(|it| it.outcome == Outcome::Failed);
    let failed: Vec<_> = failed.map(|it| it.stage.name()).collect();
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
        Selection { only: only.to_vec(), ..Selection::default() }.stages()
    }

    #[test]
    fn everything_runs_when_nothing_is_chosen() {
        assert_eq!(stages(&[]), Stage::value_variants());
    }

    #[test]
    fn a_stage_brings_what_it_needs() {
        use Stage::{Build, Compile, Doc, Native, Setup, Spin, Test, Tidy};

        assert_eq!(stages(&[Doc]), [Setup, Build, Native, Compile, Doc]);
        assert_eq!(stages(&[Spin, Test]), [Setup, Build, Native, Compile, Test, Spin]);
        assert_eq!(stages(&[Tidy]), [Tidy]);
    }

    #[test]
    fn a_part_of_all_runs_alone() {
        let part = Selection { advisories: true, ..Selection::default() }.part(Stage::Spin);
        assert_eq!(part, ["test", "spin", "--as-part", "--advisories"]);
        let part = Selection { only: vec![Stage::Spin], as_part: true, ..Selection::default() };
        assert_eq!(part.stages(), [Stage::Spin]);
    }

    #[test]
    fn what_a_stage_needs_starts_before_it() {
        for (at, stage) in Stage::value_variants().iter().enumerate() {
            let before = &Stage::value_variants()[..at];
            assert!(stage.needs().iter().chain(stage.follows()).all(|it| before.contains(it)));
        }
    }

    #[test]
    fn a_failure_names_the_command_that_repeats_it() {
        let ended = |stage, outcome| Ended { stage, outcome, took: Duration::ZERO };
        let results = [ended(Stage::Fmt, Outcome::Failed), ended(Stage::Doc, Outcome::Passed)];
        let error = conclude(&results).unwrap_err();
        assert_eq!(error.to_string(), "fmt failed; to repeat just that: cargo xtask test fmt");
    }
}
