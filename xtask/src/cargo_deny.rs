//! cargo-deny: licences, banned crates and sources of all dependencies.
//!
//! The advisory database is fetched over the network from a place that is not a crate registry; it
//! is used on request only, and a message reports what was left out.

use std::process::Command;

use anyhow::Result;

use crate::{cargo_tool::Tool, console, process, workspace::Workspace};

/// The version `deny.toml` is written for.
pub(crate) const CARGO_DENY: Tool =
    Tool { name: "cargo-deny", version: "0.20.2", takes: "1 to 4 minutes" };

const WORKSPACE: &str = "Cargo.toml";
/// The manifests that have a lock file beside them.
const LOCKED: [&str; 3] = [WORKSPACE, "fuzz/Cargo.toml", "examples/spin-app/Cargo.toml"];

/// Checks every package of the lock files against `deny.toml`; also against the
/// advisory database when `with_advisories`.
pub(crate) fn check(workspace: &Workspace, with_advisories: bool) -> Result<()> {
    let program = CARGO_DENY.ensure(workspace)?;
    for manifest in LOCKED {
        // cargo-deny reads every package of the lock file, also those for machines
        // that nothing was built for yet.
        let mut fetch = workspace.cargo();
        fetch.args(["fetch", "--locked", "--quiet", "--manifest-path", manifest]);
        process::run(&mut fetch)?;
        let mut deny = Command::new(&program);
        deny.current_dir(&workspace.root);
        deny.args(["--config", "deny.toml", "--manifest-path", manifest]);
        if !with_advisories {
            deny.arg("--offline");
        }
        deny.arg("check").args(["--allow", "license-exception-not-encountered"]);
        if manifest != WORKSPACE {
            // What is allowed for the workspace need not be of use elsewhere, and what comes
            // twice there is no part of it.
            for lint in ["license-not-encountered", "unmatched-skip-root", "duplicate"] {
                deny.args(["--allow", lint]);
            }
        }
        if with_advisories {
            deny.arg("advisories");
        }
        process::run(deny.args(["bans", "licenses", "sources"]))?;
    }
    if !with_advisories {
        console::warning(
            "known vulnerabilities were not looked up: their database needs the network; \
             `cargo xtask test deny --advisories` asks it",
        );
    }
    Ok(())
}
