//! What the kit of PyPI measures of compactions: brings it, and lets it measure the built command
//! line (`tests/compaction`).

use std::process::Command;

use anyhow::Result;

use crate::{compile, process, pypi::Pins, workspace::Workspace};

const PYPI: Pins = Pins {
    folder: "tests/compaction",
    name: "compaction-python",
    about: "a kit that measures compactions (once, 1 MB)",
    does: "measures compactions",
};

/// Brings the kit, builds the command line, and measures.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let (python, packages) = PYPI.ensure(workspace)?;
    compile::all(workspace)?;
    let mut check = Command::new(python);
    check
        .arg(workspace.root.join("tests/compaction/check.py"))
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SHARED_CONTEXT_BIN", workspace.target.join("debug/shared-context"));
    process::run(&mut check)
}
