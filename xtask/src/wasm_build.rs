//! Compiles a crate of this repository to a wasm module. Then searches it for paths of this
//! machine, measures it, and writes it.
//!
//! Not here: the wrapping of a module, see [`crate::wrap`] and [`crate::worker`].

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use flate2::{Compression, write::GzEncoder};

use crate::{
    console, process,
    wasm_target::{self, RenamedFolder, TARGET},
    workspace::Workspace,
};

/// Cargo keeps a module under the name of its crate, and so compiles a crate that is
/// wanted with two features each time anew. Where this variable is set, which its
/// authors keep for the compiler's own build, the name has the features too. Without
/// it all would take longer, and be the same.
const NAMED_APART: &str = "__CARGO_DEFAULT_LIB_METADATA";

/// A crate that is compiled to a module.
#[derive(Debug)]
pub(crate) struct Crate {
    /// A description of its result.
    pub(crate) about: &'static str,
    pub(crate) package: &'static str,
    /// The feature it is compiled with, in place of the default ones.
    pub(crate) feature: Option<&'static str>,
    /// The profile in the root `Cargo.toml`.
    pub(crate) profile: &'static str,
    pub(crate) stack_bytes: u32,
}

/// A compiled module.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    renamed: Vec<RenamedFolder>,
}

impl Crate {
    /// Compiles it.
    pub(crate) fn compile(&self, workspace: &Workspace) -> Result<Module> {
        let target = wasm_target::ensure(workspace)?;
        // A separate folder, because the compiler may be another one than elsewhere.
        let folder = workspace.target.join("wasm");
        let file = format!("{}.wasm", self.package.replace('-', "_"));
        let path = folder.join(TARGET).join(self.profile).join(file);
        if !path.exists() {
            console::step(&format!("Building {} (the first time about a minute)", self.about));
        }
        let mut flags = target.flags;
        // Vectors, as every platform has them: for SHA-256, for searches, and to copy. 1 % less code,
        // and assemblies take 7 % less time.
        flags.push("-Ctarget-feature=+simd128".to_owned());
        // What libraries ask to be copied into its callers is copied where it is short: 7 %
        // less for a tenth of the time of closing a round.
        flags.push("-Cllvm-args=-inlinehint-threshold=75".to_owned());
        let renamed = wasm_target::renamed_folders(&workspace.root)?;
        flags.extend(renamed.iter().map(RenamedFolder::flag));
        let mut cargo = workspace.cargo();
        cargo.args(["rustc", "--package", self.package, "--lib", "--profile", self.profile]);
        // Builds only a module, even of a crate that its tests link. So its dependencies need no
        // machine code, only what the last step optimizes, and all modules share them.
        cargo.args(["--crate-type", "cdylib"]);
        if let Some(feature) = self.feature {
            cargo.args(["--no-default-features", "--features", feature]);
        }
        cargo.args(["--target", TARGET]).arg("--target-dir").arg(&folder);
        cargo.env(process::FLAGS, flags.join(process::FLAG_SEPARATOR));
        cargo.env(NAMED_APART, "wasm");
        // A flag of the last crate only: all modules share the dependencies.
        cargo.arg("--").arg(format!("-Clink-arg=-zstack-size={}", self.stack_bytes));
        // Numbers in code as short as they are: to be patched by a linker, each has five bytes.
        cargo.arg("-Clink-arg=--compress-relocations");
        if let Some(rustc) = target.rustc {
            cargo.env("RUSTC", rustc);
        }
        process::run(&mut cargo)?;
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Module { path, bytes, renamed })
    }
}

impl Module {
    /// Rejects `bytes`, which were made from this module, if they contain a path of this machine.
    pub(crate) fn refuse_paths(&self, bytes: &[u8], about: &str) -> Result<()> {
        if let Some(folder) = self.renamed.iter().find(|folder| names(bytes, &folder.path)) {
            bail!(
                "{about} names {}: find what was compiled without the flag {}",
                folder.path.display(),
                folder.flag()
            );
        }
        Ok(())
    }
}

/// Returns whether `bytes` contain the path `folder`.
fn names(bytes: &[u8], folder: &Path) -> bool {
    let folder = folder.as_os_str().as_encoded_bytes();
    bytes.windows(folder.len()).any(|window| window == folder)
}

/// Writes `bytes` to the file `path` unless it holds them; returns whether it
/// wrote.
pub(crate) fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<bool> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Renamed into place: who reads it meanwhile gets the old one or the new.
    let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&unfinished, bytes)
        .and_then(|()| fs::rename(&unfinished, path))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}

/// Returns how long `bytes` are when they are compressed, as a platform counts them.
pub(crate) fn gzipped_len(bytes: &[u8]) -> Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}

/// Returns a number of bytes as text.
pub(crate) fn kilobytes(bytes: usize) -> Result<String> {
    Ok(format!("{:.1} KB", f64::from(u32::try_from(bytes)?) / 1024.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_this_machine_is_found() {
        assert!(names(b"\0/srv/ada/src/lib.rs\0", Path::new("/srv/ada")));
        assert!(!names(b"\0/crates/serde/lib.rs\0", Path::new("/srv/ada")));
    }

    #[test]
    fn unchanged_bytes_are_not_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/file");
        assert!(write_if_changed(&path, b"one").unwrap());
        assert!(!write_if_changed(&path, b"one").unwrap());
        assert!(write_if_changed(&path, b"two").unwrap());
        assert_eq!(fs::read(path).unwrap(), b"two");
    }

    #[test]
    fn what_repeats_is_counted_compressed() {
        let text = b"shared-context ".repeat(1000);
        assert!(gzipped_len(&text).unwrap() < 200);
        assert!(gzipped_len(b"").unwrap() > 0);
    }

    #[test]
    fn a_size_reads_as_people_say_it() {
        assert_eq!(kilobytes(1536).unwrap(), "1.5 KB");
    }
}
