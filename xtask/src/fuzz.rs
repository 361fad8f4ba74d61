//! `cargo xtask fuzz`: searches with libFuzzer for inputs that break the claims of `tests/fuzz`.
//!
//! The targets are built by cargo-fuzz on the stable toolchain, without a sanitizer: no code of
//! ours is unsafe, and what is claimed are answers. Inputs to begin with are made by the targets
//! themselves, from the cases of the conformance suite; inputs that reach new code are kept in the
//! target folder, from run to run.
//!
//! Not here: the claims, and the parsing of an input (`tests/fuzz`); the output of libFuzzer
//! ([`report`]).

mod report;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use self::report::Report;
use crate::{
    cargo_tool::Tool,
    console, process,
    requirements::{self, Requirement},
    workspace::Workspace,
};

/// What builds the targets.
pub(crate) const CARGO_FUZZ: Tool =
    Tool { name: "cargo-fuzz", version: "0.13.2", takes: "1 to 2 minutes" };

/// The longest input, in bytes: a script of two dozen requests is shorter.
const INPUT_BYTES_MAX: &str = "-max_len=8192";
/// The most seconds that one input may take; most take milliseconds.
const TIMEOUT: &str = "-timeout=20";
/// How much memory a target may take, in MiB.
const MEMORY: &str = "-rss_limit_mb=2048";
/// How long a finding is made smaller, in seconds.
const MINIMIZE: &str = "-max_total_time=60";

/// A target, and what it claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Target {
    /// Requests of the JSON tool: the same bytes twice, an error changes nothing
    JsonTool,
    /// Requests of HTTP: documented answers, whole problems, nothing hidden shown
    Rest,
    /// Messages to /mcp: one answer each, in both versions of the protocol
    Mcp,
    /// Damaged rows: no panic, no answer from what is detectably damaged
    Records,
    /// Documents: exported as they were imported; a rejected one leaves nothing
    Import,
    /// Credentials: nothing but what was minted is taken
    Credential,
    /// Conversations: what must be kept survives every compaction, the result fits
    Compaction,
}

/// What is to be fuzzed, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The targets; all when none is named
    #[arg(value_name = "TARGET")]
    targets: Vec<Target>,
    /// How many minutes for each target
    #[arg(long, value_name = "M", default_value = "1")]
    minutes: u64,
    /// Run so many inputs of each target instead, always the same
    #[arg(long, value_name = "N", conflicts_with = "minutes")]
    runs: Option<u64>,
    /// Name the targets and stop
    #[arg(long)]
    list: bool,
    /// Run one input of one target, and show what it does
    #[arg(long, value_name = "FILE")]
    reproduce: Option<PathBuf>,
}

/// When a target has done enough.
#[derive(Debug, Clone, Copy)]
enum Enough {
    Minutes(u64),
    Runs(u64),
}

/// Fuzzes what `options` say.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if options.list {
        for target in Target::value_variants() {
            anstream::println!("{:<12}{}", target.name(), target.about());
        }
        return Ok(());
    }
    requirements::ensure([Requirement::CppCompiler])?;
    if let Some(input) = &options.reproduce {
        let [target] = options.targets[..] else {
            bail!("--reproduce runs one input of one target: name the target");
        };
        let input = input.canonicalize().with_context(|| format!("no {}", input.display()))?;
        let bench = Bench::build(workspace)?;
        process::run(Command::new(bench.program(target)).arg(input))?;
        console::done("nothing is wrong with this input");
        return Ok(());
    }
    let enough = options.runs.map_or(Enough::Minutes(options.minutes), Enough::Runs);
    let all = Target::value_variants();
    Bench::build(workspace)?
        .fuzz(if options.targets.is_empty() { all } else { &options.targets }, enough)
}

impl Target {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn about(self) -> String {
        let value = self.to_possible_value();
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    }
}

/// The built targets, and the folders they use.
struct Bench {
    /// Where the programs are.
    programs: PathBuf,
    /// Where seeds, corpora, logs and findings are.
    folder: PathBuf,
    /// What to type for a finding's file.
    root: PathBuf,
}

impl Bench {
    fn build(workspace: &Workspace) -> Result<Self> {
        let program = CARGO_FUZZ.ensure(workspace)?;
        let folder = workspace.target.join("fuzz");
        let triple = host(workspace)?;
        let manifest = ["--manifest-path", "fuzz/Cargo.toml"];
        // cargo-fuzz would mend a stale lock file without a word.
        process::run(workspace.cargo().args(["fetch", "--locked", "--quiet"]).args(manifest))?;
        let programs = folder.join(&triple).join("release");
        if !programs.exists() {
            console::step("Building the targets (the first time 2 to 4 minutes)");
        }
        let mut build = Command::new(program);
        build.current_dir(&workspace.root).args(["fuzz", "build", "--fuzz-dir", "fuzz"]);
        build.args(["--sanitizer", "none", "--target", &triple, "--target-dir"]).arg(&folder);
        process::run(&mut build)?;
        Ok(Self { programs, folder, root: workspace.root.clone() })
    }

    fn program(&self, target: Target) -> PathBuf {
        self.programs.join(target.name())
    }

    /// Fuzzes all `targets`, whichever fails, and sums up.
    fn fuzz(&self, targets: &[Target], enough: Enough) -> Result<()> {
        let mut reports = Vec::new();
        for &target in targets {
            let each = match enough {
                Enough::Minutes(minutes) => format!("{minutes} min"),
                Enough::Runs(runs) => format!("{runs} inputs"),
            };
            console::step(&format!("{}: {} ({each})", target.name(), target.about()));
            let report = self.fuzz_one(target, enough)?;
            for finding in &report.findings {
                console::failure(&format!("{}: {}", report.target, report.said));
                let finding = self.minimized(target, finding)?;
                let shown = finding.strip_prefix(&self.root).unwrap_or(&finding).display();
                let name = target.name();
                let command = format!("cargo xtask fuzz {name} --reproduce {shown}");
                console::step(&format!("to repeat just that: {command}"));
            }
            reports.push(report);
        }
        console::headline("fuzzed");
        report::table(&reports);
        let failed: Vec<_> = reports.iter().filter(|it| !it.is_fine()).collect();
        let names: Vec<_> = failed.iter().map(|it| it.target.as_str()).collect();
        ensure!(failed.is_empty(), "a claim of {} does not hold", names.join(", "));
        Ok(())
    }

    fn fuzz_one(&self, target: Target, enough: Enough) -> Result<Report> {
        let name = target.name();
        let [seeds, corpus, findings, logs] =
            ["seeds", "corpus", "findings", "logs"].map(|kind| self.folder.join(kind).join(&name));
        // Seeds of an earlier state of the cases do not belong to this one.
        let _ = fs::remove_dir_all(&seeds);
        let fresh = self.folder.join("fresh").join(&name);
        let _ = fs::remove_dir_all(&fresh);
        // What is always the same begins with the same.
        let corpus = if matches!(enough, Enough::Runs(_)) { fresh } else { corpus };
        for folder in [&seeds, &corpus, &findings, &logs] {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        process::read(Command::new(self.program(target)).env("SHARED_CONTEXT_SEEDS", &seeds))?;
        let log = logs.join("log");
        let mut fuzzer = Command::new(self.program(target));
        fuzzer.arg(&corpus).arg(&seeds);
        fuzzer.args([INPUT_BYTES_MAX, TIMEOUT, MEMORY, "-print_final_stats=1"]);
        fuzzer.arg(joined("-artifact_prefix=", &findings.join("")));
        fuzzer.arg(joined("-dict=", &seeds.with_extension("dict")));
        match enough {
            Enough::Minutes(minutes) => fuzzer.arg(format!("-max_total_time={}", minutes * 60)),
            Enough::Runs(runs) => fuzzer.arg(format!("-runs={runs}")).arg("-seed=1"),
        };
        let file = File::create(&log).with_context(|| format!("no {}", log.display()))?;
        fuzzer.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let before = files(&findings);
        let started = Instant::now();
        let status = fuzzer.status().context("a target does not start")?;
        let printed = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        let found = files(&findings).into_iter().filter(|it| !before.contains(it));
        let report = Report::read(name, &printed, status.success(), found.collect());
        if !status.success() && report.findings.is_empty() {
            bail!("{} ended ({status}) and left no input; see {}", report.target, log.display());
        }
        tell(&report, started.elapsed());
        Ok(report)
    }

    /// Returns the finding `input` made smaller, as far as a minute goes.
    fn minimized(&self, target: Target, input: &Path) -> Result<PathBuf> {
        let smaller = input.with_extension("min");
        let mut fuzzer = Command::new(self.program(target));
        fuzzer.args(["-minimize_crash=1", MINIMIZE, TIMEOUT, MEMORY]);
        fuzzer.arg(joined("-exact_artifact_path=", &smaller)).arg(input);
        // It ends as the input has it end.
        fuzzer.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        Ok(if smaller.exists() { smaller } else { input.to_owned() })
    }
}

fn tell(report: &Report, took: Duration) {
    let seconds = console::seconds(took);
    let line = format!("{}: {} inputs in {seconds}", report.target, report.executions);
    if report.is_fine() { console::done(&line) } else { console::failure(&line) }
}

fn joined(option: &str, path: &Path) -> std::ffi::OsString {
    let mut joined = std::ffi::OsString::from(option);
    joined.push(path);
    joined
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|it| it.path()).collect();
    paths.sort();
    paths
}

/// Returns the machine this runs on, as the compiler names it: for it the targets are built.
fn host(workspace: &Workspace) -> Result<String> {
    let mut rustc = Command::new("rustc");
    let said = process::read(rustc.current_dir(&workspace.root).arg("-vV"))?;
    let host = said.lines().find_map(|it| it.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say what it compiles for")
}
