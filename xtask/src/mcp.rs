//! Third-party programs test `/mcp`: installs them, and runs `tests/mcp`.
//!
//! They come from npm and `PyPI`, each pinned by version and digest in `tests/mcp`,
//! and no script of theirs runs while they are installed.

use std::{ffi::OsString, process::Command};

use anyhow::Result;

use crate::{
    compile,
    npm::{self, Pins},
    process, pypi,
    workspace::Workspace,
};

const PACKAGE: &str = "shared-context-mcp";
const NPM: Pins = Pins {
    folder: "tests/mcp",
    name: "mcp-node",
    about: "the MCP suite, inspector and clients (once, 220 MB)",
};
/// The least version of Node that the inspector runs on.
const NODE_MIN: (u32, u32) = (22, 19);
pub(crate) const PYPI: pypi::Pins = pypi::Pins {
    folder: NPM.folder,
    name: "mcp-python",
    about: "the MCP client and the providers' packages (once, 120 MB)",
    does: "tests /mcp",
};
/// The packages that need the first version of the MCP client.
pub(crate) const PYPI_AGENTS: pypi::Pins = pypi::Pins {
    folder: "tests/mcp/agents",
    name: "mcp-agents",
    about: "the SDKs of agents (once, 480 MB)",
    does: PYPI.does,
};

/// Tests the host `name`, which `variables` describe. Leaves out what agents' kits read of
/// `/mcp`: the definitions of tools, which are the same on every host.
pub(crate) fn check_host(
    workspace: &Workspace,
    name: &str,
    mut variables: Vec<(&str, OsString)>,
) -> Result<()> {
    variables.push(("MCP_TEST_HOST", name.into()));
    variables.push(("MCP_TEST_RESULTS", workspace.target.join(format!("mcp-{name}")).into()));
    let skipped = ["--skip", "recipes", "--skip", "definitions"].map(OsString::from);
    check(workspace, variables, &skipped)
}

/// Installs the programs, builds all and runs the tests; `arguments` name tests, and
/// `variables` say at what else than the server.
pub(crate) fn check(
    workspace: &Workspace,
    variables: Vec<(&str, OsString)>,
    arguments: &[OsString],
) -> Result<()> {
    let node_modules = NPM.ensure(workspace)?;
    let node = npm::node(workspace, NODE_MIN)?;
    let (python, python_packages) = PYPI.ensure(workspace)?;
    let (_, agents_packages) = PYPI_AGENTS.ensure(workspace)?;
    compile::all(workspace)?;
    let programs = workspace.target.join("debug");
    process::run(
        Command::new(programs.join(PACKAGE))
            .args(arguments)
            .env("SHARED_CONTEXT_BIN", programs.join("shared-context"))
            .env("MCP_TEST_NODE", node)
            .env("MCP_TEST_NODE_MODULES", node_modules)
            .env("MCP_TEST_PYTHON", python)
            .env("MCP_TEST_PYTHON_PACKAGES", python_packages)
            .env("MCP_TEST_AGENTS_PACKAGES", agents_packages)
            .env("MCP_TEST_RESULTS", workspace.target.join("mcp"))
            .envs(variables),
    )
}
