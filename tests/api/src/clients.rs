//! Programs that make clients of the `OpenAPI` document: it passes the linter, every operation gets
//! a function, and the generated clients play the interaction cycle of spec 10.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use shared_context_system::{Server, Setup};
use tempfile::tempdir;

/// The last output of both clients: the writer of each entry.
const WRITERS: &str = "\
decisions_made: written by orchestrator
findings_summary: written by subagent:analysis
problem_summary: written by orchestrator
";

/// The warnings of the Python generator about omissions. Both are bodies in formats that it does
/// not support; the operations stay, with their JSON bodies.
const LEFT_OUT: [&str; 2] = ["WARNING parsing GET /metrics", "WARNING parsing PUT"];

/// Runs all of them. Returns one line for each.
pub(crate) fn run() -> Result<Vec<String>, String> {
    let folder = tempdir().unwrap();
    let data = tempdir().unwrap();
    let server = Setup::new(data.path()).without_rate_limit().start();
    let document = folder.path().join("openapi.json");
    let answer = server.admin().get("/openapi.json");
    fs::write(&document, answer.expect(200).to_string()).unwrap();
    Ok(vec![lint(&document)?, python(folder.path(), &server)?, typescript(folder.path(), &server)?])
}

/// Lints the document with Redocly: no error, no warning.
fn lint(document: &Path) -> Result<String, String> {
    let mut redocly = node_program("redocly")?;
    redocly.args(["lint", "--format=json", "--max-problems=50"]).arg(document);
    redocly.env("REDOCLY_TELEMETRY", "off").current_dir(document.parent().unwrap());
    let text = stdout(redocly)?;
    let start = text.find('{').ok_or_else(|| format!("redocly said: {text}"))?;
    let report: serde_json::Value =
        serde_json::Deserializer::from_str(&text[start..]).into_iter().next().unwrap().unwrap();
    let has_no = |what: &str| report.pointer(what).is_some_and(|it| it == 0);
    if !has_no("/totals/errors") || !has_no("/totals/warnings") {
        return Err(format!("redocly: {text}"));
    }
    Ok("redocly: 0 errors, 0 warnings".to_owned())
}

/// Generates a Python client, and runs `cycle.py` with it.
fn python(folder: &Path, server: &Server) -> Result<String, String> {
    let document = folder.join("openapi.json");
    let output = folder.join("shared_context_client");
    let mut generator = python_program()?;
    generator.args(["-m", "openapi_python_client", "generate", "--meta=none", "--path"]);
    generator.arg(&document).arg("--output-path").arg(&output);
    let Output { status, stdout, stderr } = generator.output().unwrap();
    let said = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
    if !status.success() {
        return Err(format!("openapi-python-client: {said}"));
    }
    let warnings: Vec<&str> = said.lines().filter(|it| it.starts_with("WARNING")).collect();
    let is_known = warnings.iter().zip(LEFT_OUT).all(|(it, known)| it.starts_with(known));
    if warnings.len() != LEFT_OUT.len() || !is_known || said.contains("Unable to") {
        return Err(format!("openapi-python-client left out more than is known: {said}"));
    }
    let operations = operation_ids(&document);
    for id in &operations {
        let mut files = fs::read_dir(output.join("api")).unwrap().map(|it| it.unwrap().path());
        if !files.any(|it| it.join(format!("{id}.py")).exists()) {
            return Err(format!("openapi-python-client made no function for {id}"));
        }
    }
    let mut cycle = python_program()?;
    cycle.arg(program_path("cycle.py")).env("PYTHONPATH", python_path(folder)?);
    check_writers("cycle.py", cycle, server)?;
    Ok(format!("openapi-python-client: {} functions, the cycle of spec 10", operations.len()))
}

/// Generates types for TypeScript, compiles `cycle.mts` with them, and runs it.
fn typescript(folder: &Path, server: &Server) -> Result<String, String> {
    let packages = path("API_NODE_MODULES")?;
    // Modules are looked up from where the program lies.
    std::os::unix::fs::symlink(&packages, folder.join("node_modules")).unwrap();
    let mut generator = node_program("openapi-typescript")?;
    let schema = folder.join("schema.mts");
    stdout_of(generator.arg(folder.join("openapi.json")).arg("--output").arg(&schema))?;
    let cycle = folder.join("cycle.mts");
    fs::copy(program_path("cycle.mts"), &cycle).unwrap();
    let mut compiler = node_program("tsc")?;
    compiler.args(["--strict", "--target", "es2022", "--module", "nodenext"]);
    stdout_of(compiler.arg("--noUncheckedIndexedAccess").arg(&cycle))?;
    let mut node = Command::new("node");
    node.arg(folder.join("cycle.mjs"));
    check_writers("cycle.mts", node, server)?;
    let lines = fs::read_to_string(&schema).unwrap().lines().count();
    Ok(format!("openapi-typescript: {lines} lines of types, the cycle of spec 10"))
}

/// Runs a generated client against `server`, and checks what it prints.
fn check_writers(name: &str, mut client: Command, server: &Server) -> Result<(), String> {
    client.env("SHARED_CONTEXT_URL", server.url());
    client.env("SHARED_CONTEXT_ADMIN_KEY", server.admin().credential());
    let printed = stdout(client)?;
    if printed == WRITERS { Ok(()) } else { Err(format!("{name} printed:\n{printed}")) }
}

/// Returns the ids of all operations of the document.
fn operation_ids(document: &Path) -> Vec<String> {
    let document: serde_json::Value = serde_json::from_slice(&fs::read(document).unwrap()).unwrap();
    let paths = document.pointer("/paths").unwrap().as_object().unwrap().values();
    let operations = paths.flat_map(|it| it.as_object().unwrap().values());
    operations.filter_map(|it| it["operationId"].as_str().map(str::to_owned)).collect()
}

pub(crate) fn stdout(mut command: Command) -> Result<String, String> {
    stdout_of(&mut command)
}

/// Returns what `command` prints, if it succeeds.
fn stdout_of(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(format!("{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Returns the program `name` of an npm package.
fn node_program(name: &str) -> Result<Command, String> {
    let mut node = Command::new("node");
    node.arg(path("API_NODE_MODULES")?.join(".bin").join(name)).env("NO_COLOR", "1");
    Ok(node)
}

/// Returns Python with the installed packages.
pub(crate) fn python_program() -> Result<Command, String> {
    let mut python = Command::new(path("SCHEMATHESIS_PYTHON")?);
    python.env("PYTHONPATH", path("SCHEMATHESIS_PACKAGES")?).env("PYTHONNOUSERSITE", "1");
    // The generator formats what it made with a program that lies among the packages.
    let programs = path("SCHEMATHESIS_PACKAGES")?.join("bin");
    let inherited = env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(programs).chain(env::split_paths(&inherited));
    python.env("PATH", env::join_paths(all).unwrap()).env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(python)
}

/// Returns where Python looks for the packages, and for those in `folder`.
fn python_path(folder: &Path) -> Result<std::ffi::OsString, String> {
    Ok(env::join_paths([folder.to_owned(), path("SCHEMATHESIS_PACKAGES")?]).unwrap())
}

/// Returns the path of a program in `clients`.
fn program_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(name)
}

fn path(name: &str) -> Result<PathBuf, String> {
    env::var_os(name).map(PathBuf::from).ok_or_else(|| {
        format!("{name} is not set: `cargo xtask api` installs the programs and sets it")
    })
}
