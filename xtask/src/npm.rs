//! Programs that come from npm: installs them into the cache folder, and finds the one for this
//! machine.
//!
//! The packages are listed in a folder of the repository, as `package.json` and
//! `package-lock.json`: each by version and digest. No script of a package runs while it is
//! installed. The cache folder has one folder for each state of the pins, so installed packages
//! need no network.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::{
    console, process,
    workspace::{self, Workspace},
};

/// A folder of the repository that lists the packages to install.
#[derive(Debug)]
pub(crate) struct Pins {
    /// From the root.
    pub(crate) folder: &'static str,
    /// The name of its folder in the cache.
    pub(crate) name: &'static str,
    /// A description of its packages, with their size.
    pub(crate) about: &'static str,
}

/// Node itself, for what does not run on the Node that is here.
const NODE: Pins = Pins { folder: "xtask/node", name: "node", about: "Node (once, 120 MB)" };

impl Pins {
    /// Makes sure that the packages are installed, and returns their folder.
    pub(crate) fn ensure(&self, workspace: &Workspace) -> Result<PathBuf> {
        self.install(workspace, &[])
    }

    /// Makes sure that the packages are installed, as [`Pins::ensure`] does, but without the
    /// `devDependencies`.
    pub(crate) fn ensure_without_dev(&self, workspace: &Workspace) -> Result<PathBuf> {
        self.install(workspace, &["--omit=dev"])
    }

    fn install(&self, workspace: &Workspace, arguments: &[&str]) -> Result<PathBuf> {
        let pins = workspace.root.join(self.folder);
        let lock = pins.join("package-lock.json");
        let lock = fs::read(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
        let folder = workspace::cached(&format!("{}-{}", self.name, digest(&lock)), |folder| {
            if process::read(Command::new("npm").arg("--version")).is_err() {
                bail!(
                    "npm is missing, which brings what {} names: install Node 20 or newer with npm",
                    self.folder
                );
            }
            console::step(&format!("Installing from npm: {}", self.about));
            for file in ["package.json", "package-lock.json"] {
                fs::copy(pins.join(file), folder.join(file))?;
            }
            let mut npm = Command::new("npm");
            npm.current_dir(folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
            process::run(npm.arg("--loglevel=error").args(arguments))
        })?;
        console::done(&format!("the packages of {}: in the cache folder", self.folder));
        Ok(folder.join("node_modules"))
    }
}

/// Returns a Node of version `least` or newer: the one of npm, or the machine's where npm
/// has none for it.
pub(crate) fn node(workspace: &Workspace, least: (u32, u32)) -> Result<PathBuf> {
    let node_modules = NODE.ensure(workspace)?;
    if let Ok(node) = of_this_machine(&node_modules, "node-", "bin/node") {
        return Ok(node);
    }
    let (major, minor) = least;
    let version = process::read(Command::new("node").arg("--version")).unwrap_or_default();
    ensure!(
        major_minor(version.trim_start_matches('v')) >= Some(least),
        "no package of npm brings Node to this machine: install Node {major}.{minor} or newer"
    );
    Ok("node".into())
}

/// Returns the file `program` of the package for this machine. Each of the packages whose
/// names start with `name`, a scope included, is for another machine, and npm
/// installs only the one that fits.
pub(crate) fn of_this_machine(node_modules: &Path, name: &str, program: &str) -> Result<PathBuf> {
    let (scope, start) = name.rsplit_once('/').unwrap_or(("", name));
    let folders = fs::read_dir(node_modules.join(scope)).into_iter().flatten().flatten();
    let mut found: Vec<_> = folders
        .filter(|folder| folder.file_name().to_string_lossy().starts_with(start))
        .map(|folder| folder.path().join(program))
        .filter(|program| program.is_file())
        .collect();
    found.sort();
    ensure!(
        !found.is_empty(),
        "npm installed no {name}… with a {program} for this machine ({} {})",
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    Ok(found.swap_remove(0))
}

/// Returns what distinguishes `bytes` from others.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let first =
        Sha256::digest(bytes).iter().take(6).fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte));
    format!("{first:012x}")
}

/// Returns the first two numbers of `version`.
pub(crate) fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn an_older_program_is_not_enough() {
        assert!(major_minor("22.19.0") >= Some((22, 19)));
        assert!(major_minor("24.1.0\n") >= Some((22, 19)));
        assert!(major_minor("20.20.2") < Some((22, 19)));
        assert!(major_minor("") < Some((22, 19)));
    }

    #[test]
    fn other_pins_are_in_another_folder() {
        assert_eq!(digest(b"a"), "ca978112ca1b");
        assert_ne!(digest(b"a"), digest(b"b"));
    }

    #[test]
    fn the_package_for_this_machine_is_the_one_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let make = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        make("@esbuild/riscv/bin/esbuild");
        make("@tools/workerd-beos/bin/workerd");
        make("@tools/kv/bin/workerd");
        make("workerd-of-others/bin/workerd");
        let find = |name, program| of_this_machine(folder.path(), name, program);
        let path = |path: &str| folder.path().join(path);
        let esbuild = find("@esbuild/", "bin/esbuild").unwrap();
        assert_eq!(esbuild, path("@esbuild/riscv/bin/esbuild"));
        let workerd = find("@tools/workerd-", "bin/workerd").unwrap();
        assert_eq!(workerd, path("@tools/workerd-beos/bin/workerd"));
        let error = find("@tools/workerd-", "bin/other").unwrap_err().to_string();
        assert!(error.starts_with("npm installed no @tools/workerd-… with a bin/other"), "{error}");
    }

    /// A lock file that names the registry of whoever made it works on that
    /// machine only; one without digests takes whatever has the right version.
    #[test]
    fn the_pins_name_no_registry_and_every_digest() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let bench = crate::bench::NPM.folder;
        let all = [
            "tests/mcp",
            "hosts/cloudflare",
            "examples/cloudflare-jco",
            "examples/compact-node",
            bench,
            NODE.folder,
        ];
        for folder in all {
            let text = fs::read_to_string(root.join(folder).join("package-lock.json")).unwrap();
            assert!(!text.contains("\"resolved\""), "{folder}: see tests/mcp/README.md");
            let lock: Value = serde_json::from_str(&text).unwrap();
            for (path, package) in lock["packages"].as_object().unwrap() {
                // No registry we asked had these; see hosts/cloudflare/package.json.
                let is_excepted = [
                    "@cloudflare/workerd-darwin-64",
                    "@cloudflare/workerd-darwin-arm64",
                    "@cloudflare/workerd-windows-64",
                    "@bytecodealliance/jco-node-fs-linux-arm64-musl",
                    "@bytecodealliance/jco-node-fs-win32-arm64-msvc",
                    "@bytecodealliance/jco-node-fs-win32-x64-msvc",
                ]
                .iter()
                .any(|name| path.strip_prefix("node_modules/") == Some(name));
                let is_pinned = package["integrity"].is_string() || path.is_empty();
                assert!(is_pinned != is_excepted, "{folder}: {path}");
            }
        }
    }
}
