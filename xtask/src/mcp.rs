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

use crate::{
    console,
    npm::{self, Pins},
    process,
    workspace::{self, Workspace},
};

const PACKAGE: &str = "shared-context-mcp";
const NPM: Pins = Pins {
    folder: "tests/mcp",
    name: "mcp-node",
    about: "the MCP suite, inspector and clients (once, 220 MB)",
};
/// The least version of Node that the inspector runs on.
const NODE_MIN: (u32, u32) = (22, 19);
/// The least version of Python the packages are pinned for.
const PYTHON_MIN: (u32, u32) = (3, 11);

/// Brings the strangers, builds all and lets them look; `arguments` name tests, and
/// `variables` say at what else than the server.
pub(crate) fn check(
    workspace: &Workspace,
    variables: Vec<(&str, OsString)>,
    arguments: &[OsString],
) -> Result<()> {
    let node_modules = NPM.ensure(workspace)?;
    let node = npm::node(workspace, NODE_MIN)?;
    let (python, python_packages) = python(&workspace.root.join(NPM.folder))?;
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
            .env("STRANGERS_RESULTS", workspace.target.join("mcp"))
            .envs(variables),
    )
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
        npm::major_minor(version) >= Some(PYTHON_MIN),
        "python3 is {version}, too old for what tests /mcp: {needed}"
    );
    let requirements = pins.join("requirements.txt");
    let pinned = npm::digest(&fs::read(&requirements)?);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_python_pins_name_no_registry() {
        let pins = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(NPM.folder);
        let text = fs::read_to_string(pins.join("requirements.txt")).unwrap();
        assert!(!text.contains("://"), "see tests/mcp/README.md");
    }
}
