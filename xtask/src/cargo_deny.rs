//! cargo-deny: licences, banned crates and sources of all that is built.
//!
//! The advisory database is fetched over the network from a place that is not a
//! crate registry; it is asked on request only, and what was left out is said.

use std::{ffi::OsString, process::Command};

use anyhow::Result;

use crate::{
    console, process,
    workspace::{self, Workspace},
};

/// The version `deny.toml` is written for.
const VERSION: &str = "0.20.2";

/// Makes sure that cargo-deny is there and returns what to call.
pub(crate) fn ensure(workspace: &Workspace) -> Result<OsString> {
    let on_path = process::read(Command::new("cargo-deny").arg("--version"));
    if on_path.is_ok_and(|printed| printed.trim() == format!("cargo-deny {VERSION}")) {
        console::done(&format!("cargo-deny {VERSION}: on PATH"));
        return Ok("cargo-deny".into());
    }
    let folder = workspace::cached(&format!("cargo-deny-{VERSION}"), |folder| {
        console::step("Installing cargo-deny into the cache folder (once, 1 to 4 minutes)");
        process::run(
            workspace
                .cargo()
                // Not optimized: it runs for a second, and optimizing it takes minutes.
                .args(["install", "cargo-deny", "--version", VERSION, "--locked", "--debug"])
                .args(["--quiet", "--no-track", "--root"])
                .arg(folder)
                .env("CARGO_PROFILE_DEV_DEBUG", "0"),
        )
    })?;
    console::done(&format!("cargo-deny {VERSION}: in the cache folder"));
    Ok(folder.join("bin/cargo-deny").into())
}

/// Checks every package of `Cargo.lock` against `deny.toml`; also against the
/// advisory database when `with_advisories`.
pub(crate) fn check(workspace: &Workspace, with_advisories: bool) -> Result<()> {
    let program = ensure(workspace)?;
    // cargo-deny reads every package of the lock file, also those for machines
    // that nothing was built for yet.
    process::run(workspace.cargo().args(["fetch", "--locked", "--quiet"]))?;
    let mut deny = Command::new(program);
    deny.current_dir(&workspace.root);
    if with_advisories {
        deny.args(["check", "advisories"]);
    } else {
        deny.args(["--offline", "check"]);
    }
    process::run(deny.args(["bans", "licenses", "sources"]))?;
    if !with_advisories {
        console::warning(
            "known vulnerabilities were not looked up: their database needs the network; \
             `cargo xtask test --only deny --advisories` asks it",
        );
    }
    Ok(())
}
