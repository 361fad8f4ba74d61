//! Subcommands that are not a part of cargo: installs each, in exactly one version, into the cache
//! folder.

use std::{path::PathBuf, process::Command};

use anyhow::{Context, Result};

use crate::{
    console, process,
    workspace::{self, Workspace},
};

/// A program on the registry of crates.
#[derive(Debug)]
pub(crate) struct Tool {
    /// Its package, and what is called.
    pub(crate) name: &'static str,
    /// The version that is asked for.
    pub(crate) version: &'static str,
    /// The time that its installation takes, as text.
    pub(crate) takes: &'static str,
}

impl Tool {
    /// Makes sure that it is installed and returns the path of the program.
    pub(crate) fn ensure(&self, workspace: &Workspace) -> Result<PathBuf> {
        let Self { name, version, takes } = self;
        let on_path = process::read(Command::new(name).arg("--version"));
        if on_path.is_ok_and(|printed| printed.trim() == format!("{name} {version}")) {
            console::done(&format!("{name} {version}: on PATH"));
            return Ok(name.into());
        }
        let folder = workspace::cached(&format!("{name}-{version}"), |folder| {
            console::step(&format!("Installing {name} into the cache folder (once, {takes})"));
            process::run(
                workspace
                    .cargo()
                    // Not optimized: it runs for a moment, and optimizing it takes minutes.
                    .args(["install", name, "--version", version, "--locked", "--debug"])
                    .args(["--quiet", "--no-track", "--root"])
                    .arg(folder)
                    .env("CARGO_PROFILE_DEV_DEBUG", "0"),
            )
            .with_context(|| {
                format!("{name} {version} is missing and comes over the network, once")
            })
        })?;
        console::done(&format!("{name} {version}: in the cache folder"));
        Ok(folder.join("bin").join(name))
    }
}
