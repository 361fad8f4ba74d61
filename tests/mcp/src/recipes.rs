//! The programs of `examples/agents`, which `docs/agents` shows: a team of three, each with its own
//! credential.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::tempdir;

use crate::{
    Test, Verdict,
    host::{SESSION, TestHost},
    programs::{Programs, here, run},
};

const WRITERS: &str = "\
analysis_findings: written by subagent:analysis
problem_summary: written by orchestrator
review_findings: written by subagent:review
";

/// Builds the command that runs a program.
type Runner = fn(&Programs, &Path) -> Command;

/// The name of the test, the program, the page that shows it, and how it runs.
const RECIPES: [(&str, &str, &str, Runner); 5] = [
    ("python", "team.py", "python.md", Programs::program),
    ("typescript", "team.mjs", "typescript.md", Programs::program),
    ("openai", "team_openai.py", "openai-agents.md", Programs::program),
    ("langgraph", "team_langgraph.py", "langgraph.md", Programs::agents_program),
    ("claude", "team_claude.py", "claude-agents.md", with_scripted_claude),
];

/// The packages in the table of clients, each with the file that pins it.
const CLIENTS: [(&str, &str); 7] = [
    ("requirements.txt", "mcp"),
    ("package.json", "@modelcontextprotocol/sdk"),
    ("requirements.txt", "openai-agents"),
    ("agents/requirements.txt", "langgraph"),
    ("agents/requirements.txt", "langchain-mcp-adapters"),
    ("agents/requirements.txt", "mcp"),
    ("agents/requirements.txt", "claude-agent-sdk"),
];

pub(crate) fn tests() -> Vec<Test> {
    let test = |(name, file, page, runner)| {
        Test::new(format!("recipes::{name}"), move |programs, _| {
            check(programs, file, page, runner)
        })
    };
    let mut tests: Vec<_> = RECIPES.into_iter().map(test).collect();
    tests.push(Test::new("recipes::versions", |_, _| check_versions()));
    tests
}

/// Checks that the table of clients in `docs/agents` names the pinned versions.
fn check_versions() -> Verdict {
    let page = fs::read_to_string(root().join("docs/agents/README.md")).unwrap();
    for (pins, name) in CLIENTS {
        let text = fs::read_to_string(here(pins)).unwrap();
        let version = text.lines().find_map(|line| pinned_version(line, name));
        let version = version.ok_or_else(|| format!("{pins} does not pin {name}"))?;
        if !page.contains(&format!("{name} {version}")) {
            return Err(format!("docs/agents/README.md does not name {name} {version}"));
        }
    }
    Ok(format!("{} versions", CLIENTS.len()))
}

/// Returns the version of the package `name` if `line` of a file with pins has it.
fn pinned_version<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let line = line.trim_start().trim_start_matches('"');
    let rest = line.strip_prefix(name)?;
    let version = rest.strip_prefix("==").or_else(|| rest.strip_prefix("\": \""))?;
    version.split([' ', '"']).next()
}

/// Builds a command that runs `program` with a model that follows a script, because Claude Code
/// asks its model over HTTP.
fn with_scripted_claude(programs: &Programs, program: &Path) -> Command {
    let mut command = programs.agents_program(&here("python").join("scripted_messages.py"));
    command.arg(program);
    command
}

/// Runs the program `file`, and checks that the page `page` shows it and what it prints.
fn check(programs: &Programs, file: &str, page: &str, runner: Runner) -> Verdict {
    let code = fs::read_to_string(root().join("examples/agents").join(file)).unwrap();
    let page = fs::read_to_string(root().join("docs/agents").join(page)).unwrap();
    if !page.contains(code.trim_end()) || !page.contains(WRITERS) {
        return Err(format!("docs/agents does not show examples/agents/{file} as it is"));
    }
    // Modules are looked up from where the program lies.
    let folder = tempdir().unwrap();
    symlink(programs.node_modules(), folder.path().join("node_modules")).unwrap();
    let program = folder.path().join(file);
    fs::write(&program, code).unwrap();
    let host = TestHost::start();
    let mut script = runner(programs, &program);
    script.envs(host.environment()).env("SHARED_CONTEXT_SESSION", SESSION);
    let output = run(script)?.success()?;
    if output != WRITERS {
        return Err(format!("{file} printed:\n{output}"));
    }
    Ok("three writers".to_owned())
}

/// Returns the root of the repository.
fn root() -> PathBuf {
    here("../..")
}
