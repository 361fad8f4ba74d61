//! Programs that come from `PyPI`: installs them into the cache folder.
//!
//! The packages are listed in a folder of the repository as `requirements.txt`: each by version and
//! digests, as wheels, so that no code of a package runs while it is installed. The cache folder
//! has one folder for each state of the pins, so installed packages need no network.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    console, npm, process,
    workspace::{self, Workspace},
};

/// The least version of Python the packages are pinned for.
const PYTHON_MIN: (u32, u32) = (3, 11);

/// A folder of the repository that lists the packages to install.
#[derive(Debug)]
pub(crate) struct Pins {
    /// From the root.
    pub(crate) folder: &'static str,
    /// The name of its folder in the cache.
    pub(crate) name: &'static str,
    /// A description of its packages, with their size.
    pub(crate) about: &'static str,
    /// Its purpose, as in "what tests /mcp".
    pub(crate) does: &'static str,
}

impl Pins {
    /// Makes sure that the packages are installed, and returns Python and their folder.
    pub(crate) fn ensure(&self, workspace: &Workspace) -> Result<(PathBuf, PathBuf)> {
        let (major, minor) = PYTHON_MIN;
        let does = self.does;
        let needed = format!("install Python {major}.{minor} or newer with pip");
        let about = "import sys, sysconfig; v = sys.version_info; \
            print(sys.executable, f'{v.major}.{v.minor}', sysconfig.get_platform(), sep='\\n')";
        let about = process::read(Command::new("python3").args(["-c", about]))
            .with_context(|| format!("python3 is missing, which {does}: {needed}"))?;
        let [program, version, platform] = about.lines().collect::<Vec<_>>()[..] else {
            bail!("python3 does not say what it is: {about}");
        };
        ensure!(
            npm::major_minor(version) >= Some(PYTHON_MIN),
            "python3 is {version}, too old for what {does}: {needed}"
        );
        let requirements = self.requirements(&workspace.root);
        let pinned = npm::digest(&fs::read(&requirements)?);
        let name = format!("{}-{version}-{platform}-{pinned}", self.name);
        let folder = workspace::cached(&name, |folder| {
            let pip = |arguments: &[&str]| {
                let mut pip = Command::new(program);
                pip.args(["-m", "pip", "--disable-pip-version-check"]).args(arguments);
                pip
            };
            if process::read(&mut pip(&["--version"])).is_err() {
                bail!("pip is missing, which brings what {does}: {needed}");
            }
            console::step(&format!("Installing from PyPI: {}", self.about));
            let mut install =
                pip(&["install", "--quiet", "--no-input", "--root-user-action=ignore"]);
            install.args(["--require-hashes", "--no-deps", "--only-binary=:all:", "--requirement"]);
            process::run(install.arg(&requirements).arg("--target").arg(folder))
        })?;
        console::done(&format!(
            "the packages of PyPI that {} names: in the cache folder",
            self.folder
        ));
        Ok((program.into(), folder))
    }

    fn requirements(&self, root: &Path) -> PathBuf {
        root.join(self.folder).join("requirements.txt")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pins_name_no_registry() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for pins in
            [&crate::mcp::PYPI, &crate::mcp::PYPI_AGENTS, &crate::api::PYPI, &crate::kit::PYTHON]
        {
            let text = fs::read_to_string(pins.requirements(&root)).unwrap();
            assert!(!text.contains("://"), "{}: see tests/mcp/README.md", pins.folder);
            assert!(text.contains("--hash=sha256:"), "{}", pins.folder);
        }
    }
}
