//! `cargo xtask sim`: builds the simulation, optimized, and becomes it.

use std::ffi::OsString;

use anyhow::Result;

use crate::{process, workspace::Workspace};

/// Builds the simulation, and becomes it; `arguments` go to it.
pub(crate) fn run(workspace: &Workspace, arguments: &[OsString]) -> Result<()> {
    let mut cargo = workspace.cargo();
    cargo.args(["run", "--release", "--quiet", "--package", "shared-context-simulation", "--"]);
    Err(process::replace(cargo.args(arguments)))
}
