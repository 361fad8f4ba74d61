//! Compaction as third parties use it: a kit of `PyPI` measures the built command line
//! (`tests/compaction`), and the examples in Python and Node compact a transcript in their own
//! process, with the component without imports.

use std::{fs, process::Command};

use anyhow::{Context, Result, ensure};

use crate::{
    compile, component, console,
    npm::{self, Pins as NpmPins},
    process,
    pypi::Pins,
    workspace::Workspace,
};

const PYPI: Pins = Pins {
    folder: "tests/compaction",
    name: "compaction-python",
    about: "a kit that measures compactions (once, 1 MB)",
    does: "measures compactions",
};
/// The packages of the example in Python.
pub(crate) const PYTHON: Pins = Pins {
    folder: "examples/compact-python",
    name: "compact-python",
    about: "wasmtime (once, 10 MB)",
    does: "runs the example of compaction in process",
};
/// The packages of the example in Node.
const NODE: NpmPins =
    NpmPins { folder: "examples/compact-node", name: "compact-node", about: "jco (once, 60 MB)" };
const NODE_SCRIPT: &str = "compact.mjs";
/// The transcript that the examples compact, and the decision that holds at its end.
const TRANSCRIPT: &str = "examples/compact-python/transcript.jsonl";
const DECISION: &str = "DECISION: Use PostgreSQL 18 instead of PostgreSQL 17.";

/// Brings the kit, builds the command line, measures, and runs the examples.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let (python, packages) = PYPI.ensure(workspace)?;
    compile::all(workspace)?;
    let mut check = Command::new(python);
    check
        .arg(workspace.root.join("tests/compaction/check.py"))
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SHARED_CONTEXT_BIN", workspace.target.join("debug/shared-context"));
    process::run(&mut check)?;
    check_examples(workspace)
}

/// Runs the examples, and compares what they print.
fn check_examples(workspace: &Workspace) -> Result<()> {
    component::build_pure(workspace)?;
    let (python, packages) = PYTHON.ensure(workspace)?;
    let mut in_python = Command::new(python);
    in_python
        .arg(workspace.root.join(PYTHON.folder).join("compact.py"))
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let in_python = compacted(workspace, &mut in_python)?;
    let node_modules = NODE.ensure(workspace)?;
    // Node looks for packages beside the script that asks for them.
    let script = workspace.root.join(NODE.folder).join(NODE_SCRIPT);
    let script = fs::read(script).with_context(|| format!("no {NODE_SCRIPT}"))?;
    let beside = node_modules.with_file_name(format!("compact-{}.mjs", npm::digest(&script)));
    fs::write(&beside, script)?;
    let in_node = compacted(workspace, Command::new("node").arg(beside))?;
    ensure!(in_python == in_node, "the examples in Python and Node print different replies");
    ensure!(in_python.contains(DECISION), "the examples lost the decision {DECISION:?}");
    console::done("the examples in Python and Node compact a transcript alike");
    Ok(())
}

/// Returns what an example prints of the transcript.
fn compacted(workspace: &Workspace, example: &mut Command) -> Result<String> {
    example
        .arg(workspace.root.join(TRANSCRIPT))
        .env("SHARED_CONTEXT_PURE", workspace.pure_component());
    process::read(example)
}
