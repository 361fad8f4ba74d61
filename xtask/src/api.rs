//! What schemathesis says of the HTTP interface: brings it, and runs `tests/api`.

use std::{ffi::OsString, process::Command};

use anyhow::Result;

use crate::{process, pypi::Pins, workspace::Workspace};

const PACKAGE: &str = "shared-context-api";
pub(crate) const PYPI: Pins = Pins {
    folder: "tests/api",
    name: "api-python",
    about: "schemathesis (once, 50 MB)",
    does: "tests the HTTP interface",
};

/// Brings schemathesis, builds the server and lets it look; `arguments` go to it.
pub(crate) fn check(workspace: &Workspace, arguments: &[OsString]) -> Result<()> {
    let (python, packages) = PYPI.ensure(workspace)?;
    workspace.build_programs()?;
    let programs = workspace.target.join("debug");
    process::run(
        Command::new(programs.join(PACKAGE))
            .args(arguments)
            .env("SHARED_CONTEXT_BIN", programs.join("shared-context"))
            .env("SCHEMATHESIS_PYTHON", python)
            .env("SCHEMATHESIS_PACKAGES", packages)
            .env("SCHEMATHESIS_RESULTS", workspace.target.join("api")),
    )
}
