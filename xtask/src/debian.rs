//! The WebAssembly target on a Debian machine where rustup must not install:
//! Debian's newest compiler, and a standard library built once with it.
//!
//! Apart from Debian's packages nothing outside of the cache folder is touched:
//! the library is kept there as a *sysroot*, which the compiler is told of.
//!
//! Invariant: a sysroot is used only by the very compiler that built it; its
//! folder is named after that compiler's package version and how it was built.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    console, process,
    wasm_target::{self, RenamedFolder, TARGET, WasmTarget},
    workspace,
};

/// The package of the compiler.
const COMPILER: &str = "rustc-web";
/// The package of the standard library's source.
const SOURCE: &str = "rust-web-src";
/// Where the packages put them.
const RUSTC: &str = "/usr/bin/rustc";
const STD_SOURCE: &str = "/usr/lib/rustlib/src/rust";

/// Raise it when [`build_std`] builds otherwise: what older ones built stays unused.
const RECIPE: u32 = 1;

/// The least version of Rust that builds this repository.
const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// Makes sure that Debian's compiler and a standard library of [`TARGET`] for it
/// are there.
pub(crate) fn ensure(root: &Path) -> Result<WasmTarget> {
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!(
            "this Rust has no target {TARGET}, RUSTUP_AUTO_INSTALL=0 forbids to add it, and \
             there is no apt-get to bring another one: run `rustup target add {TARGET}` yourself, \
             then this command again"
        );
    }
    let cache = workspace::cache()?;
    let is_complete = |version: &String| {
        let has_std = cache.join(sysroot_name(version)).is_dir();
        is_new_enough(version) && (has_std || installed(SOURCE).as_ref() == Some(version))
    };
    let version = installed(COMPILER).filter(is_complete).map_or_else(install, Ok)?;
    let sysroot = workspace::cached(&sysroot_name(&version), build_std)?;
    console::done(&format!("{TARGET}: by Debian's {COMPILER} {version}"));
    Ok(WasmTarget {
        rustc: Some(RUSTC.into()),
        flags: vec![
            format!("--sysroot={}", sysroot.display()),
            format!("-Clinker={}", linker(root)?.display()),
            "-Clinker-flavor=wasm-ld".to_owned(),
        ],
    })
}

/// The folder of the cache for what the compiler of package version `version`
/// builds.
fn sysroot_name(version: &str) -> String {
    format!("wasm-std-{version}-{RECIPE}")
}

/// Installs compiler and source, and returns the compiler's version.
fn install() -> Result<String> {
    let apt_get = ["install", "--yes", "--no-install-recommends", "--no-remove", COMPILER, SOURCE];
    if process::read(Command::new("id").arg("-u"))?.trim() != "0" {
        bail!(
            "this Rust has no target {TARGET}, and RUSTUP_AUTO_INSTALL=0 forbids to add it. \
             Debian's packages give it; run this, then this command again:\n  \
             sudo apt-get update && sudo apt-get {}",
            apt_get.join(" ")
        );
    }
    console::step("Installing Debian's newest Rust for WebAssembly (once, 140 MB, about a minute)");
    if !candidate(COMPILER).is_some_and(|version| is_new_enough(&version)) {
        process::run(&mut apt(&["update"]))?;
    }
    let version = candidate(COMPILER).with_context(|| no_compiler("has no such package"))?;
    ensure!(is_new_enough(&version), no_compiler(&format!("offers only {version}")));
    // A list that is days old names files that are gone from the mirrors.
    if process::run(&mut apt(&apt_get)).is_err() {
        process::run(&mut apt(&["update"]))?;
        process::run(&mut apt(&apt_get)).with_context(|| {
            format!("{COMPILER} takes no other package's place: remove Debian's rustc if it is installed")
        })?;
    }
    installed(COMPILER).with_context(|| format!("apt-get installed no {COMPILER}"))
}

fn no_compiler(what: &str) -> String {
    format!(
        "{COMPILER} {RUST_VERSION} or newer is needed and this Debian {what}: enable its \
         security updates, or run `rustup target add {TARGET}` yourself"
    )
}

fn apt(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    // Another apt may be at work, as on a machine that has just started.
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command.args(["-qq", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=300"]).args(arguments);
    command
}

/// The version of `package` that is installed.
fn installed(package: &str) -> Option<String> {
    let format = "--showformat=${db:Status-Status} ${Version}";
    let printed =
        process::read(Command::new("dpkg-query").args(["--show", format, package])).ok()?;
    printed.strip_prefix("installed ").map(str::to_owned)
}

/// The version of `package` that apt would install.
fn candidate(package: &str) -> Option<String> {
    let printed = process::read(Command::new("apt-cache").args(["policy", package])).ok()?;
    let version = printed.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (version != "(none)").then(|| version.to_owned())
}

/// Whether the package version `version` is of a Rust that builds this
/// repository.
fn is_new_enough(version: &str) -> bool {
    major_minor(version) >= major_minor(RUST_VERSION)
}

fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Builds the standard library into the sysroot `folder`.
fn build_std(folder: &Path) -> Result<()> {
    console::step("Building the standard library for WebAssembly (once, about 30 s)");
    let shell = folder.join("build");
    fs::create_dir_all(shell.join("src"))?;
    fs::write(shell.join("src/lib.rs"), "#![no_std]\n")?;
    fs::write(
        shell.join("Cargo.toml"),
        "[package]\nname = \"shell\"\nedition = \"2024\"\n[workspace]\n",
    )?;
    let target = shell.join("target");
    // The component is optimized as a whole, std included.
    let mut flags = vec!["-Cembed-bitcode=yes".to_owned()];
    flags.push(format!("--remap-path-prefix={STD_SOURCE}=/rust"));
    flags.extend(wasm_target::renamed_folders(&shell)?.iter().map(RenamedFolder::flag));
    process::run(
        process::cargo(&shell)
            .args(["build", "--quiet", "--release", "-Zbuild-std=std,panic_abort"])
            .args(["--target", TARGET, "--target-dir"])
            .arg(&target)
            .env("RUSTC", RUSTC)
            // Building std is not stable; what is built with it afterwards is.
            .env("RUSTC_BOOTSTRAP", "1")
            .env(process::FLAGS, flags.join(process::FLAG_SEPARATOR)),
    )?;
    let libraries = folder.join("lib/rustlib").join(TARGET).join("lib");
    fs::create_dir_all(&libraries)?;
    for file in fs::read_dir(target.join(TARGET).join("release/deps"))? {
        let file = file?;
        let name = file.file_name();
        let name_text = name.to_string_lossy();
        if name_text.ends_with(".rlib") && !name_text.starts_with("libshell-") {
            fs::copy(file.path(), libraries.join(&name))?;
        }
    }
    ensure!(wasm_target::has_std(&libraries), "cargo built no standard library for {TARGET}");
    fs::remove_dir_all(&shell)?;
    Ok(())
}

/// The linker that came with the Rust in use: Debian's compiler brings none.
fn linker(root: &Path) -> Result<PathBuf> {
    let rustc = |what: &str| process::read(wasm_target::rustc(root).args(["--print", what]));
    let (sysroot, host) = (rustc("sysroot")?, rustc("host-tuple")?);
    let tools = Path::new(sysroot.trim()).join("lib/rustlib").join(host.trim()).join("bin");
    let linker = tools.join("rust-lld");
    ensure!(linker.exists(), "{} is missing: install Rust by rustup", linker.display());
    Ok(linker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_compiler_is_not_enough() {
        assert!(is_new_enough("1.96.0+dfsg1-1~deb12u2"));
        assert!(is_new_enough(RUST_VERSION));
        assert!(is_new_enough("2.0.0"));
        assert!(!is_new_enough("1.85.0+dfsg3-1~deb12u3"));
        assert!(!is_new_enough("unknown"));
    }
}
