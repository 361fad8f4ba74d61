//! `cargo xtask workers`: what tests the Worker under the real workerd.
//!
//! The tests are in `tests/workers`, in the targets `workerd` and `jco` of the
//! conformance suite, and in `tests/mcp`; they are told here where workerd and the
//! Worker are. That wrangler would deploy the Worker is shown without the network.

use std::{
    ffi::{OsStr, OsString},
    fs,
    path::PathBuf,
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{component, console, jco, mcp, npm, process, worker, workspace::Workspace};

/// The crate of the tests.
const TESTS: &str = "shared-context-workers";
/// The targets of the conformance suite that run here.
const TARGETS: [&str; 2] = ["workerd::", "jco::"];
/// The least version of Node that wrangler runs on.
const NODE_MIN: (u32, u32) = (22, 12);

/// Builds all and runs what is tested under workerd. `arguments` are names of files
/// of tests and parts of names of tests, or of the conformance suite if they begin
/// with one of [`TARGETS`]. Without any, all runs, and wrangler looks at the Worker
/// as well.
pub(crate) fn check(workspace: &Workspace, arguments: &[OsString]) -> Result<()> {
    component::build(workspace)?;
    worker::build(workspace)?;
    let variables = variables(workspace)?;
    let test = |arguments: &[&str], passed: &[OsString]| {
        let mut cargo = workspace.cargo();
        cargo.arg("test").args(arguments).arg("--").args(passed);
        process::run(cargo.envs(variables.clone()))
    };
    let tests = |passed: &[OsString]| {
        let (files, names): (Vec<_>, Vec<_>) =
            passed.iter().cloned().partition(|it| is_file_of_tests(workspace, it));
        let files: Vec<_> = files.iter().map(|file| format!("--test={}", file.display())).collect();
        let chosen = ["--package", TESTS, "--no-fail-fast"].into_iter();
        test(&chosen.chain(files.iter().map(String::as_str)).collect::<Vec<_>>(), &names)
    };
    // Not by its package: alone it would be built with other features, and wasmtime anew.
    let suite = |passed: &[OsString]| test(&["--workspace", "--test", "conformance"], passed);
    if let Some(first) = arguments.first() {
        let is_of_suite = TARGETS.iter().any(|it| first.to_string_lossy().starts_with(it));
        return if is_of_suite { suite(arguments) } else { tests(arguments) };
    }
    // All of them, whichever fails: one run tells everything.
    let mut results = vec![tests(&[])];
    results.extend(TARGETS.map(|target| suite(&[target.into()])));
    let mut of_mcp = variables.clone();
    of_mcp.push(("STRANGERS_HOST", "workerd".into()));
    of_mcp.push(("STRANGERS_RESULTS", workspace.target.join("mcp-workerd").into()));
    results.push(mcp::check(workspace, of_mcp, &[]));
    results.push(dry_run(workspace));
    let failures: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    for failure in &failures {
        console::failure(&format!("{failure:#}"));
    }
    ensure!(failures.is_empty(), "{} of the parts above failed", failures.len());
    Ok(())
}

/// Whether `name` is that of a file of tests, or of a folder of them.
fn is_file_of_tests(workspace: &Workspace, name: &OsStr) -> bool {
    let folder = workspace.root.join("tests/workers/tests");
    folder.join(name).join("main.rs").exists() || folder.join(name).with_extension("rs").exists()
}

/// Where workerd, the Worker and the example are, as what tests or measures them is
/// told it. Builds the example, of the component that was built before.
pub(crate) fn variables(workspace: &Workspace) -> Result<Vec<(&'static str, OsString)>> {
    let node_modules = worker::NPM.ensure(workspace)?;
    Ok(vec![
        ("WORKERD", program(workspace)?.into()),
        ("WORKERD_ESBUILD", worker::esbuild(&node_modules)?.into()),
        ("WORKERD_JCO", jco::build(workspace)?.into()),
        ("WORKERD_WORKER", workspace.root.join(worker::NPM.folder).into()),
    ])
}

/// Lets wrangler do all of a deployment but the upload, and looks at what it would
/// upload: the files that were tested.
fn dry_run(workspace: &Workspace) -> Result<()> {
    let node_modules = worker::NPM.ensure(workspace)?;
    let host = workspace.root.join(worker::NPM.folder);
    let folder = workspace.target.join("wrangler");
    let uploaded = folder.join("upload");
    if uploaded.exists() {
        fs::remove_dir_all(&uploaded)?;
    }
    let mut wrangler = Command::new(npm::node(workspace, NODE_MIN)?);
    wrangler.current_dir(&host).arg(node_modules.join("wrangler/bin/wrangler.js"));
    wrangler.args(["deploy", "--dry-run", "--outdir"]).arg(&uploaded);
    // It asks nobody anything, and leaves nothing in the home folder.
    wrangler.env("CI", "true");
    wrangler.env("WRANGLER_HIDE_BANNER", "true");
    wrangler.env("WRANGLER_SEND_METRICS", "false");
    wrangler.env("WRANGLER_WRITE_LOGS", "false");
    wrangler.env("XDG_CONFIG_HOME", &folder);
    process::run(&mut wrangler)?;
    for file in fs::read_dir(&uploaded)? {
        let name = file?.file_name();
        let is_ours = name == "README.md" || worker::FILES.iter().any(|it| name == *it);
        ensure!(
            is_ours,
            "wrangler would upload {} too: remove hosts/cloudflare/build and build again",
            name.display()
        );
    }
    for file in worker::FILES {
        let (built, taken) = (host.join("build").join(file), uploaded.join(file));
        ensure!(
            fs::read(&built)? == fs::read(&taken).with_context(|| format!("no {file}"))?,
            "wrangler would upload another {file} than was tested: see `no_bundle` in wrangler.jsonc"
        );
    }
    Ok(())
}

/// The program workerd.
pub(crate) fn program(workspace: &Workspace) -> Result<PathBuf> {
    let node_modules = worker::NPM.ensure(workspace)?;
    npm::of_this_machine(&node_modules, "@cloudflare/workerd-", "bin/workerd")
}
