//! Checks the HTTP interface with schemathesis and client generators: installs them, and runs
//! `tests/api`.

use std::{ffi::OsString, process::Command};

use anyhow::Result;

use crate::{compile, npm, process, pypi::Pins, workspace::Workspace};

const PACKAGE: &str = "shared-context-api";
pub(crate) const PYPI: Pins = Pins {
    folder: "tests/api",
    name: "api-python",
    about: "schemathesis, REDbot and a generator of clients (once, 130 MB)",
    does: "tests the HTTP interface",
};
const NPM: npm::Pins = npm::Pins {
    folder: PYPI.folder,
    name: "api-node",
    about: "a linter and a generator of clients (once, 90 MB)",
};

/// Brings the programs, builds the server and lets them look; `arguments` go to schemathesis.
pub(crate) fn check(workspace: &Workspace, arguments: &[OsString]) -> Result<()> {
    let node_modules = NPM.ensure(workspace)?;
    let (python, packages) = PYPI.ensure(workspace)?;
    compile::all(workspace)?;
    let programs = workspace.target.join("debug");
    process::run(
        Command::new(programs.join(PACKAGE))
            .args(arguments)
            .env("SHARED_CONTEXT_BIN", programs.join("shared-context"))
            .env("API_NODE_MODULES", node_modules)
            .env("SCHEMATHESIS_PYTHON", python)
            .env("SCHEMATHESIS_PACKAGES", packages)
            .env("SCHEMATHESIS_RESULTS", workspace.target.join("api")),
    )
}
