//! `cargo xtask spin`: the tests of the Spin application.
//!
//! The tests are in `tests/spin`, in the targets `spin…` of the conformance suite, and in
//! `tests/mcp`; they get the paths of the application and the example here. They run on
//! the emulator of `tests/spin`, and those that can on Spin itself too where `SPIN_BIN`
//! names it.

use std::{env, ffi::OsString, path::Path};

use anyhow::{Context, Result, ensure};

use super::FOLDER;
use crate::{
    component, console,
    host_tests::{self, HostTests},
    mcp, spin, spin_app,
    workspace::Workspace,
};

/// The variable that names the program Spin.
pub(crate) const SPIN: &str = "SPIN_BIN";

const TESTS: HostTests =
    HostTests { folder: "tests/spin", targets: &["spin::", "spin-key-value::", "spin-real:"] };

/// Builds all and runs what tests the application: what `arguments` choose, or all.
pub(crate) fn check(workspace: &Workspace, arguments: &[OsString]) -> Result<()> {
    component::build(workspace)?;
    spin::build(workspace)?;
    let mut variables = vec![
        ("SPIN_APP", workspace.root.join(FOLDER).into()),
        ("SPIN_EXAMPLE", spin_app::build(workspace)?.into()),
    ];
    if let Some(program) = program()? {
        console::done(&format!("Spin: {}", program.display()));
        variables.push((SPIN, program));
    } else {
        console::warning(&format!(
            "nothing is tested on Spin itself: with {SPIN}=/path/to/spin all that can be is"
        ));
    }
    if !arguments.is_empty() {
        return TESTS.chosen(workspace, &variables, arguments);
    }
    let mut results = TESTS.all(workspace, &variables)?;
    results.push(mcp::check_host(workspace, "spin", variables));
    host_tests::conclude(results)
}

/// Returns the Spin that the environment names, as a path that means the same in every folder.
pub(crate) fn program() -> Result<Option<OsString>> {
    let Some(named) = env::var_os(SPIN).filter(|it| !it.is_empty()) else { return Ok(None) };
    let whole = Path::new(&named).canonicalize();
    let whole = whole.with_context(|| format!("{SPIN} names {}", named.display()))?;
    ensure!(whole.is_file(), "{SPIN} names {}, which is no program", named.display());
    Ok(Some(whole.into()))
}
