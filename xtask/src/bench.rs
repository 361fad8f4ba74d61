//! `cargo xtask bench`: builds the measured programs, optimized, and replaces this process by the
//! benchmark.
//!
//! The Worker is compared with similar packages from npm, which the benchmark bundles, each for a
//! run.

use std::ffi::OsString;

use anyhow::Result;

use crate::{npm::Pins, process, program, worker, workerd, workspace::Workspace};

/// The packages that the Worker is compared with.
pub(crate) const NPM: Pins = Pins {
    folder: "tests/bench/workers",
    name: "bench-node",
    about: "the SDK that the Worker is compared with (once, 60 MB)",
};
/// The section of the benchmark that measures it.
const SECTION: &str = "workers";

/// Builds all, and becomes the benchmark; `arguments` go to it.
pub(crate) fn run(workspace: &Workspace, arguments: &[OsString]) -> Result<()> {
    program::build(workspace)?;
    let mut cargo = workspace.cargo();
    cargo.args(["run", "--release", "--package", "shared-context-bench", "--"]).args(arguments);
    if measures_the_worker(arguments) {
        worker::build(workspace)?;
        cargo.envs(workerd::variables(workspace)?);
        cargo.env("WORKERD_NODE_MODULES", NPM.ensure(workspace)?);
    }
    Err(process::replace(&mut cargo))
}

/// Returns whether the benchmark is asked for all, or for this among others.
fn measures_the_worker(arguments: &[OsString]) -> bool {
    let mut texts = arguments.iter().map(|it| it.to_string_lossy());
    let is_limited = texts.clone().any(|it| it.starts_with("--only"));
    !is_limited || texts.any(|it| it.split([',', '=']).any(|it| it == SECTION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worker_is_built_where_it_is_measured() {
        let measures = |arguments: &[&str]| {
            measures_the_worker(&arguments.iter().map(OsString::from).collect::<Vec<_>>())
        };
        assert!(measures(&[]));
        assert!(measures(&["--json"]));
        assert!(measures(&["--only", "rules,workers"]));
        assert!(measures(&["--only=workers"]));
        assert!(!measures(&["--only", "rules"]));
        assert!(!measures(&["--only", "http,durable", "--json"]));
    }
}
