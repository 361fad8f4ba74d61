//! Builds the example `examples/cloudflare-jco`: the component as jco transpiles it,
//! in a Worker of JavaScript.
//!
//! jco and esbuild come from npm, each of exactly one version. The example's own `build.mjs` calls
//! them, so that it is built here as its readers build it.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result};

use crate::{
    npm::{self, Pins},
    process,
    workspace::Workspace,
};

/// The packages that build the example. The workerd that its readers run it with is left out: tests
/// run it with the Worker's.
const NPM: Pins = Pins {
    folder: "examples/cloudflare-jco",
    name: "cloudflare-jco",
    about: "jco and esbuild (once, 120 MB)",
};
const SCRIPT: &str = "build.mjs";

/// Builds the example of the component that was built before, and returns its
/// folder.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
    let node_modules = NPM.ensure_without_dev(workspace)?;
    let example = workspace.root.join(NPM.folder);
    // Node looks for packages beside the script that asks for them.
    let script = fs::read(example.join(SCRIPT)).with_context(|| format!("no {SCRIPT}"))?;
    let beside = node_modules.with_file_name(format!("build-{}.mjs", npm::digest(&script)));
    fs::write(&beside, script)?;
    let mut node = Command::new("node");
    process::run(node.current_dir(&example).arg(beside).arg(workspace.component()))?;
    Ok(example)
}
