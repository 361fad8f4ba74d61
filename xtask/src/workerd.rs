//! `cargo xtask workers`: the tests of the Worker under the real workerd.
//!
//! The tests are in `tests/workers`, in the targets `workerd` and `jco` of the conformance suite,
//! and in `tests/mcp`; they get the paths of workerd and the Worker here. A dry run of wrangler
//! shows that it would deploy the Worker, without the network.

use std::{ffi::OsString, fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, ensure};

use crate::{
    component,
    host_tests::{self, HostTests, Variables},
    jco, mcp, npm, process, worker,
    workspace::Workspace,
};

/// jco transpiles the component whole: the cases of the store show that it runs.
const TESTS: HostTests =
    HostTests { folder: "tests/workers", targets: &["workerd::", "jco::store/"] };
/// The least version of Node that wrangler runs on.
const NODE_MIN: (u32, u32) = (22, 12);

/// Builds all and runs what is tested under workerd: what `arguments` choose, or all;
/// with all, wrangler looks at the Worker as well.
pub(crate) fn check(workspace: &Workspace, arguments: &[OsString]) -> Result<()> {
    component::build(workspace)?;
    worker::build(workspace)?;
    let variables = variables(workspace)?;
    if !arguments.is_empty() {
        return TESTS.chosen(workspace, &variables, arguments);
    }
    let mut results = TESTS.all(workspace, &variables)?;
    results.push(mcp::check_host(workspace, "workerd", variables));
    results.push(dry_run(workspace));
    host_tests::conclude(results)
}

/// Returns the paths of workerd, the Worker and the example, as variables for tests and
/// measurements. Builds the example from the component that was built before.
pub(crate) fn variables(workspace: &Workspace) -> Result<Variables> {
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
    // It asks no questions, and leaves nothing in the home folder.
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

/// Returns the program workerd.
pub(crate) fn program(workspace: &Workspace) -> Result<PathBuf> {
    let node_modules = worker::NPM.ensure(workspace)?;
    npm::of_this_machine(&node_modules, "@cloudflare/workerd-", "bin/workerd")
}
