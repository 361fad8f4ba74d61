//! Builds the example `examples/spin-app`: an app as its developer builds it, with Spin's own SDK,
//! in a separate workspace.
//!
//! `spin build` runs the same cargo command. Here it gets a compiler that has the target.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};

use crate::{console, process, wasm_build::kilobytes, wasm_target::Target, workspace::Workspace};

const FOLDER: &str = "examples/spin-app";
/// The folder of build results that its `spin.toml` names, below the example's folder.
const TARGET_FOLDER: &str = "target";
const FILE: &str = "ticket_agent.wasm";

/// Builds the example, and returns its folder, where its `spin.toml` is.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
    let target = Target::Wasi.ensure(workspace)?;
    let example = workspace.root.join(FOLDER);
    let name = Target::Wasi.name();
    let wasm = example.join(TARGET_FOLDER).join(name).join("release").join(FILE);
    if !wasm.exists() {
        console::step("Building the example for Spin (the first time about a minute)");
    }
    let mut cargo = process::cargo(&example);
    cargo.args(["build", "--locked", "--release", "--target", name]);
    // Wherever else this machine has cargo build to.
    cargo.args(["--target-dir", TARGET_FOLDER]);
    if let Some(rustc) = target.rustc {
        cargo.env("RUSTC", rustc);
        cargo.env(process::FLAGS, target.flags.join(process::FLAG_SEPARATOR));
    }
    process::run(&mut cargo)?;
    let built = fs::metadata(&wasm).with_context(|| format!("no {}", wasm.display()))?;
    let bytes = usize::try_from(built.len())?;
    console::done(&format!("example for Spin: {}, in {FOLDER}/target", kilobytes(bytes)?));
    Ok(example)
}
