//! Commands that build and start the project's own program: the server, the
//! demonstration.

use std::{ffi::OsString, fs, process::Command};

use anyhow::Result;

use crate::{component, console, process, workspace::Workspace};

const PACKAGE: &str = "shared-context-wasmtime";
const PROGRAM: &str = "shared-context";
/// Cargo's arguments for the program without WebAssembly.
const NATIVE: [&str; 7] = [
    "--package",
    PACKAGE,
    "--bin",
    PROGRAM,
    "--no-default-features",
    "--features",
    "cli,memory-tool,tokenizer",
];

/// Builds the server without WebAssembly, which takes a third of the time, and becomes
/// `shared-context serve {arguments…}`. Returns only when that failed.
pub(crate) fn serve_native(workspace: &Workspace, arguments: &[OsString]) -> Result<()> {
    console::step("Building the server without WebAssembly (the first time 2 to 3 minutes)");
    process::run(workspace.cargo().args(["build", "--release"]).args(NATIVE))?;
    let program = workspace.target.join("release").join(PROGRAM);
    Err(process::replace(Command::new(program).arg("serve").args(arguments)))
}

/// Builds the program without WebAssembly as tests are built, and tests it from outside:
/// what it keeps over kills and restarts, and what concurrent clients see of it.
pub(crate) fn test_native(workspace: &Workspace) -> Result<()> {
    process::run(workspace.cargo().arg("build").args(NATIVE))?;
    let folder = workspace.target.join("native");
    let program = folder.join(PROGRAM);
    fs::create_dir_all(&folder)?;
    // A copy: the next build puts the program with WebAssembly in its place.
    fs::copy(workspace.target.join("debug").join(PROGRAM), &program)?;
    let suites = ["golden", "kill_9", "linearizable", "cli_sessions", "live", "stopping"];
    let suites = suites.map(|it| format!("--test={it}"));
    let mut tests = workspace.cargo();
    tests.args(["test", "--workspace", "--no-fail-fast"]).args(suites);
    process::run(tests.env("SHARED_CONTEXT_BIN", program))
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
    component::build(workspace)?;
    let program = workspace.target.join("release").join(PROGRAM);
    if !program.exists() {
        console::step("Building the server (the first time about 4 minutes: it holds a compiler)");
    }
    process::run(workspace.cargo().args([
        "build",
        "--release",
        "--package",
        PACKAGE,
        "--bin",
        PROGRAM,
    ]))?;
    Ok(program.into())
}
