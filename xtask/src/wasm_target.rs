//! The WebAssembly targets: finds them, or installs them.
//!
//! Three ways, the first that works: the Rust in use has the target; rustup adds
//! it, unless the machine's owner forbade rustup to install by itself
//! (`RUSTUP_AUTO_INSTALL=0`); Debian's packages give it ([`crate::debian`]).

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{console, debian, process, workspace::Workspace};

/// The target of all that this repository offers.
pub(crate) const TARGET: &str = Target::Bare.name();

/// A target that something here is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// No system beneath: a module reaches what it imports, and nothing else.
    Bare,
    /// WASI 0.2 and a C library: what Spin's own SDK, and so the example for Spin,
    /// is built for.
    Wasi,
}

/// The needs of a build for a target, besides the target's name.
#[derive(Debug, Default)]
pub(crate) struct WasmTarget {
    /// The compiler, when it is another one than cargo takes by itself.
    pub(crate) rustc: Option<PathBuf>,
    /// The flags of the compiler.
    pub(crate) flags: Vec<String>,
}

/// Makes sure that [`TARGET`] is installed.
pub(crate) fn ensure(workspace: &Workspace) -> Result<WasmTarget> {
    Target::Bare.ensure(workspace)
}

impl Target {
    /// Returns its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bare => "wasm32-unknown-unknown",
            Self::Wasi => "wasm32-wasip2",
        }
    }

    /// Makes sure that it is installed.
    pub(crate) fn ensure(self, workspace: &Workspace) -> Result<WasmTarget> {
        let name = self.name();
        if self.is_installed(&workspace.root)? {
            console::done(&format!("{name}: the Rust in use has it"));
            return Ok(WasmTarget::default());
        }
        if !may_rustup_install() {
            return debian::ensure(&workspace.root, self);
        }
        if process::read(Command::new("rustup").arg("--version")).is_err() {
            bail!(
                "this Rust has no target {name} and was not installed by rustup: install the \
                 target the way Rust itself was installed, or install Rust by rustup"
            );
        }
        console::step(&format!("Adding the target {name} to Rust (once, a few seconds)"));
        process::run(
            Command::new("rustup").current_dir(&workspace.root).args(["target", "add", name]),
        )?;
        if !self.is_installed(&workspace.root)? {
            bail!(
                "rustup added {name} to another Rust than cargo uses: unset RUSTC, or make \
                 `rustup show active-toolchain` name the Rust that cargo uses"
            );
        }
        console::done(&format!("{name}: added by rustup"));
        Ok(WasmTarget::default())
    }

    fn is_installed(self, root: &Path) -> Result<bool> {
        let mut rustc = rustc(root);
        let printed =
            process::read(rustc.args(["--print", "target-libdir", "--target", self.name()]))?;
        Ok(has_std(Path::new(printed.trim())))
    }
}

/// Returns the compiler that cargo takes by itself, run in the folder `root` because
/// rustup chooses by folder.
pub(crate) fn rustc(root: &Path) -> Command {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.current_dir(root);
    rustc
}

/// Returns whether the folder `libraries` holds a standard library.
pub(crate) fn has_std(libraries: &Path) -> bool {
    fs::read_dir(libraries).is_ok_and(|files| {
        files.flatten().any(|file| {
            let name = file.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libstd-") && name.ends_with(".rlib")
        })
    })
}

/// A folder of this machine that the compiler would name in what it builds, as
/// the place of a source file, and the name it writes instead.
#[derive(Debug)]
pub(crate) struct RenamedFolder {
    /// The folder.
    pub(crate) path: PathBuf,
    name: &'static str,
}

impl RenamedFolder {
    /// Returns the flags of the compiler.
    pub(crate) fn flag(&self) -> String {
        format!("--remap-path-prefix={}={}", self.path.display(), self.name)
    }
}

/// Returns the folders to rename when building the workspace at `root`.
pub(crate) fn renamed_folders(root: &Path) -> Result<Vec<RenamedFolder>> {
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let cargo_home = cargo_home.context("no home folder: set HOME")?;
    // One folder for each registry. The last flag that fits a path counts.
    let registries = fs::read_dir(cargo_home.join("registry/src")).into_iter().flatten().flatten();
    let mut registries: Vec<_> = registries.map(|folder| folder.path()).collect();
    registries.sort();
    let fixed = [(root.to_owned(), "/shared-context"), (cargo_home, "/cargo")];
    let all = fixed.into_iter().chain(registries.into_iter().map(|path| (path, "/crates")));
    Ok(all.map(|(path, name)| RenamedFolder { path, name }).collect())
}

fn may_rustup_install() -> bool {
    env::var_os("RUSTUP_AUTO_INSTALL").is_none_or(|value| value != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_standard_library_is_no_target() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!has_std(folder.path()));
        assert!(!has_std(&folder.path().join("missing")));
        fs::write(folder.path().join("libstd-0123.rlib"), "").unwrap();
        assert!(has_std(folder.path()));
    }
}
