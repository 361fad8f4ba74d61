//! `cargo xtask`: everything one does with this repository, by name.
//!
//! This file holds the command line and nothing else; each command is a file.
//! Every command first makes sure that what it needs is there, says what it
//! does, and does nothing the second time.

mod api;
mod bench;
mod cargo_deny;
mod cargo_tool;
mod compile;
mod component;
mod console;
mod debian;
mod doc;
mod fuzz;
mod host_tests;
mod jco;
mod kit;
mod mcp;
mod npm;
mod process;
mod program;
mod pypi;
mod requirements;
mod serve_spin;
mod serve_worker;
mod serving;
mod side_by_side;
mod sim;
mod spin;
mod spin_app;
mod stages;
mod tidy;
mod wasm_build;
mod wasm_target;
mod worker;
mod workerd;
mod workspace;
mod wrap;

use std::{ffi::OsString, process::ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::{requirements::Requirement, stages::Selection, workspace::Workspace};

fn main() -> ExitCode {
    if doc::is_asked_to_stand_in() {
        return doc::stand_in();
    }
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::failure(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The project's own tools.
#[derive(Debug, Parser)]
#[command(
    bin_name = "cargo xtask",
    arg_required_else_help = true,
    after_help = "Examples:
  cargo xtask serve                     build all and start a durable server
  cargo xtask serve --native            for a first look: without WebAssembly, sooner there
  cargo xtask serve --listen 9000       what follows `serve` goes to the server
  cargo xtask build spin                the Spin app, without npm
  cargo xtask check                     a minute's worth of the proof, while you work
  cargo xtask test                      the whole proof, as CI runs it
  cargo xtask test clippy test          some stages of it; `--list` names them
  cargo xtask fuzz                      a minute of each fuzz target
  cargo xtask fuzz rest --minutes 30    half an hour of one; what it found stays for the next time
  cargo xtask api --max-examples 500    schemathesis, at more length than in CI
  cargo xtask mcp python                of what tests /mcp, that with `python` in its name
  cargo xtask workers kill_9            of what tests the Worker, the file `kill_9`
  cargo xtask workers workerd::store    of the conformance suite on workerd, the store
  cargo xtask spin race                 of what tests the Spin app, the file `race`
  SPIN_BIN=~/bin/spin cargo xtask spin  all of it, on Spin itself too
  cargo xtask sim --minutes 10          simulated worlds against a plain model, for ten minutes
  cargo xtask sim --help                what it takes
  cargo xtask bless                     accept what the snapshot tests produce now"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Bring what this repository needs: the wasm target, cargo-deny and cargo-fuzz
    Setup,
    /// Build the component (target/component), the Worker (hosts/cloudflare/build) and the
    /// Spin app (hosts/spin/build), or one of them
    Build {
        /// What to build; the Worker alone needs npm
        #[arg(value_enum, default_value_t)]
        what: Artifact,
    },
    /// Build all and start the server; arguments go to `shared-context serve`
    Serve {
        /// Leave WebAssembly out, for a first look: the same rules and storage, built in a third
        /// of the time; no request is limited in time and memory
        #[arg(long)]
        native: bool,
        #[command(flatten)]
        passed: Passed,
    },
    /// Build the Worker and serve it on this machine, under Cloudflare's workerd
    ServeWorker(serve_worker::Options),
    /// Build the Spin app and serve it on this machine, by Spin where it is installed
    ServeSpin(serve_spin::Options),
    /// Build all and show the interaction cycle; arguments go to `shared-context demo`
    Demo(Passed),
    /// Build all optimized and measure; arguments go to the benchmark
    Bench(Passed),
    /// Simulate worlds against a plain model, seed by seed; arguments go to the simulation
    Sim(Passed),
    /// Check what takes a minute: formatting, layers, lints, and the tests of the rules
    Check,
    /// Run every check, stage by stage
    Test {
        #[command(flatten)]
        selection: Selection,
        /// Name the stages and stop
        #[arg(long)]
        list: bool,
    },
    /// Let libFuzzer look for what breaks a promise; names targets, all when none is named
    Fuzz(fuzz::Options),
    /// Let schemathesis test the HTTP interface; arguments go to it, such as --seed
    Api(Passed),
    /// Let third-party programs test /mcp; arguments go to the tests, such as parts of names
    Mcp(Passed),
    /// Test the Worker under workerd; arguments name files of its tests, or parts of names
    Workers(Passed),
    /// Test the Spin app; arguments name files of its tests, or parts of names
    Spin(Passed),
    /// Run what CI runs: `test` with CI's settings, by way of .ci/run
    Ci,
    /// Check what no compiler checks: who uses whom, comments, links, sizes of files
    Tidy,
    /// Rewrite the committed documents and snapshots that are generated
    Bless,
}

/// What `build` builds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Artifact {
    /// The component
    Component,
    /// The component without imports
    Context,
    /// The Worker
    Worker,
    /// The Spin app, and the component in it
    Spin,
    /// All of them
    #[default]
    All,
}

impl Artifact {
    /// Builds it, and what it is made of.
    fn build(self, workspace: &Workspace) -> Result<()> {
        if matches!(self, Self::Worker | Self::All) {
            requirements::ensure([Requirement::Npm])?;
        }
        if !matches!(self, Self::Worker | Self::Context) {
            component::build(workspace)?;
        }
        if matches!(self, Self::Context | Self::All) {
            component::build_pure(workspace)?;
        }
        if matches!(self, Self::Worker | Self::All) {
            worker::build(workspace)?;
        }
        if matches!(self, Self::Spin | Self::All) {
            spin::build(workspace)?;
        }
        Ok(())
    }
}

/// What another program is given, unread.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
struct Passed {
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

fn run(arguments: Arguments) -> Result<()> {
    if let Command::Test { list: true, .. } = arguments.command {
        stages::list();
        return Ok(());
    }
    let workspace = Workspace::find()?;
    match arguments.command {
        Command::Setup => stages::setup(&workspace),
        Command::Build { what } => what.build(&workspace),
        Command::Check => stages::check(&workspace),
        Command::Serve { native: true, passed } => {
            // `xtask-start` does it, without this program.
            let mut cargo = workspace.cargo();
            cargo.args(["xtask", "serve", "--native"]).args(passed.arguments);
            Err(process::replace(&mut cargo))
        }
        Command::Serve { passed, .. } => program::run(&workspace, "serve", &passed.arguments),
        Command::ServeWorker(options) => serve_worker::run(&workspace, &options),
        Command::ServeSpin(options) => serve_spin::run(&workspace, &options),
        Command::Demo(passed) => program::run(&workspace, "demo", &passed.arguments),
        Command::Bench(passed) => bench::run(&workspace, &passed.arguments),
        Command::Sim(passed) => sim::run(&workspace, &passed.arguments),
        Command::Test { selection, .. } => stages::run(&workspace, &selection),
        Command::Fuzz(options) => fuzz::run(&workspace, &options),
        Command::Api(passed) => api::check(&workspace, &passed.arguments),
        Command::Mcp(passed) => mcp::check(&workspace, Vec::new(), &passed.arguments),
        Command::Workers(passed) => workerd::check(&workspace, &passed.arguments),
        Command::Spin(passed) => spin::check::check(&workspace, &passed.arguments),
        Command::Ci => stages::ci(&workspace),
        Command::Tidy => tidy::check(&workspace),
        Command::Bless => program::bless(&workspace),
    }
}
