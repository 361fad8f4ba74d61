//! The programs of `examples/agents`, which `docs/agents` shows: a team of three, each with its own
//! credential.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use tempfile::tempdir;

use crate::{
    Test, Verdict,
    host::TestHost,
    programs::{Programs, run},
};

const WRITERS: &str = "\
analysis_findings: written by subagent:analysis
problem_summary: written by orchestrator
review_findings: written by subagent:review
";

pub(crate) fn tests() -> Vec<Test> {
    vec![
        Test::new("recipes::python", |programs, _| check(programs, "team.py", "python.md")),
        Test::new("recipes::typescript", |programs, _| {
            check(programs, "team.mjs", "typescript.md")
        }),
    ]
}

/// Runs the program `file`, and checks that the page `page` shows it and what it prints.
fn check(programs: &Programs, file: &str, page: &str) -> Verdict {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let code = fs::read_to_string(root.join("examples/agents").join(file)).unwrap();
    let page = fs::read_to_string(root.join("docs/agents").join(page)).unwrap();
    if !page.contains(code.trim_end()) || !page.contains(WRITERS) {
        return Err(format!("docs/agents does not show examples/agents/{file} as it is"));
    }
    // Modules are looked up from where the program lies.
    let folder = tempdir().unwrap();
    symlink(programs.node_modules(), folder.path().join("node_modules")).unwrap();
    let program = folder.path().join(file);
    fs::write(&program, code).unwrap();
    let host = TestHost::start();
    let mut script = programs.program(&program);
    script.envs(host.environment());
    let output = run(script)?.success()?;
    if output != WRITERS {
        return Err(format!("{file} printed:\n{output}"));
    }
    Ok("three writers".to_owned())
}
