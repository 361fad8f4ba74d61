//! Commands that build and start the project's own program: the server, the
//! demonstration.

use std::{
    ffi::OsString,
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use anyhow::Result;

use crate::{
    compile::{self, Compiled},
    component, console, host_tests, process,
    workspace::Workspace,
};

const PACKAGE: &str = "shared-context-wasmtime";
const PROGRAM: &str = "shared-context";

/// Builds the program without WebAssembly as tests are built, for [`test_native`]. Before
/// the other programs are built: cargo puts it in the place of the one with WebAssembly.
pub(crate) fn build_native(workspace: &Workspace) -> Result<()> {
    // Of the whole workspace, and with a file of tests, only for the libraries to have the
    // same features as in the tests, so that they are compiled once. With xtask, because what
    // only macros use is compiled differently from what a program uses too.
    let features = ["shared-context-wasmtime/cli", "shared-context-wasmtime/tokenizer"];
    let others = ["shared-context-wire/default", "shared-context-spin-storage/default"];
    let mut cargo = compile::cargo(workspace)?;
    cargo.args(["build", "--workspace", "--bin", PROGRAM, "--bin", "xtask", "--test", "carry"]);
    cargo.args(["--no-default-features", "--features"]);
    process::run(cargo.arg([features, others].concat().join(",")))?;
    let program = native(workspace);
    fs::create_dir_all(program.with_file_name(""))?;
    fs::copy(workspace.target.join("debug").join(PROGRAM), program)?;
    Ok(())
}

/// Tests the program without WebAssembly from outside: what it keeps over kills and
/// restarts, and what concurrent clients see of it.
pub(crate) fn test_native(workspace: &Workspace, compiled: &Compiled) -> Result<()> {
    let suites = ["golden", "kill_9", "linearizable", "cli_sessions", "live", "stopping"];
    let run = |name: &&str| {
        let tests = compiled.file(workspace, "tests/system", name)?;
        process::run(tests.command().env("SHARED_CONTEXT_BIN", native(workspace)))
    };
    host_tests::conclude(suites.iter().map(run).collect())
}

/// Returns the program without WebAssembly, once built.
fn native(workspace: &Workspace) -> PathBuf {
    workspace.target.join("native").join(PROGRAM)
}

/// Builds all and becomes `shared-context {command} {arguments…}`. Returns only
/// when that failed.
pub(crate) fn run(workspace: &Workspace, command: &str, arguments: &[OsString]) -> Result<()> {
    let program = build(workspace)?;
    Err(process::replace(Command::new(program).arg(command).args(arguments)))
}

/// Rewrites what is generated and committed: documents and snapshots.
pub(crate) fn bless(workspace: &Workspace) -> Result<()> {
    process::run(
        workspace
            .cargo()
            .args(["test", "--package", "shared-context-codec"])
            .args(["--package", "shared-context-wire", "--all-features"])
            .env("SHARED_CONTEXT_BLESS", "1"),
    )?;
    component::build(workspace)?;
    process::run(
        workspace
            .cargo()
            .args(["test", "--package", "shared-context-wasmtime", "--bin", PROGRAM])
            .env("INSTA_UPDATE", "always"),
    )?;
    console::done("now read `git diff` and commit what is meant");
    Ok(())
}

/// Builds the component and the optimized program, and returns the program.
pub(crate) fn build(workspace: &Workspace) -> Result<OsString> {
    let program = workspace.target.join("release").join(PROGRAM);
    let is_first = !program.exists();
    let mut libraries = None;
    if is_first && !workspace.component().exists() {
        console::step("Building the component and, meanwhile, the libraries of the server");
        libraries = Some(Background::start(cargo(workspace).arg("--keep-going"))?);
    }
    component::build(workspace)?;
    if is_first {
        console::step("Building the server (the first time several minutes: it holds a compiler)");
    }
    libraries.map_or(Ok(()), Background::wait)?;
    process::run(&mut cargo(workspace))?;
    Ok(program.into())
}

/// Returns cargo, as it builds the optimized program.
fn cargo(workspace: &Workspace) -> Command {
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--release", "--package", PACKAGE, "--bin", PROGRAM]);
    cargo
}

/// A build of the program that starts before the component is there, without output. It builds
/// the libraries and then fails, since the program embeds the component. Two builds at once keep the
/// processors busy: much of each is one crate after the other.
struct Background(Child);

impl Background {
    fn start(cargo: &mut Command) -> Result<Self> {
        cargo.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(cargo.spawn()?))
    }

    /// Waits for its end. A fault of it is one of the build that follows, which shows it.
    fn wait(mut self) -> Result<()> {
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
