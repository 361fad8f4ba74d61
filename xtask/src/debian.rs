//! The WebAssembly targets on a Debian machine where rustup must not install: Debian's newest
//! compiler, and a standard library built once with it for each target.
//!
//! WASI needs a C library too. Debian's stable one is older than WASI 0.2, so the package is taken
//! from unstable. It is unpacked into the cache, never installed, and found by a separate list of
//! packages; the machine's lists stay unchanged.
//!
//! Apart from the compiler's packages, nothing outside of the cache folder is changed. A library is
//! stored there as a *sysroot*, which the compiler gets as a flag.
//!
//! Invariant: a sysroot is used only by the compiler that built it. Its folder is named after the
//! target, the package version of that compiler and the way it was built.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    console, process,
    wasm_target::{self, RenamedFolder, Target, WasmTarget},
    workspace,
};

/// The package of the compiler.
const COMPILER: &str = "rustc-web";
/// The package of the standard library's source.
const SOURCE: &str = "rust-web-src";
/// The paths that the packages install to.
const RUSTC: &str = "/usr/bin/rustc";
const STD_SOURCE: &str = "/usr/lib/rustlib/src/rust";

/// The package of the C library.
const C_LIBRARY: &str = "wasi-libc";
/// The files that a program is linked with.
const C_LIBRARY_FILES: [&str; 3] = ["crt1-command.o", "crt1-reactor.o", "libc.a"];
/// The source for apt: the lists of packages, and nothing else that is published.
const UNSTABLE: &str = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg \
                        lang=none target=Packages] http://deb.debian.org/debian sid main\n";

/// Raise it when [`build_std`] builds otherwise: what older ones built stays unused.
const RECIPE: u32 = 1;

/// The least version of Rust that builds this repository.
const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// Makes sure that Debian's compiler and a standard library of `target` for it are
/// there.
pub(crate) fn ensure(root: &Path, target: Target) -> Result<WasmTarget> {
    let name = target.name();
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!(
            "this Rust has no target {name}, RUSTUP_AUTO_INSTALL=0 forbids to add it, and \
             there is no apt-get to bring another one: run `rustup target add {name}` yourself, \
             then this command again"
        );
    }
    let cache = workspace::cache()?;
    let is_complete = |version: &String| {
        let has_std = cache.join(sysroot_name(target, version)).is_dir();
        is_new_enough(version) && (has_std || installed(SOURCE).as_ref() == Some(version))
    };
    let version = installed(COMPILER).filter(is_complete).map_or_else(|| install(target), Ok)?;
    let sysroot =
        workspace::cached(&sysroot_name(target, &version), |folder| build_std(target, folder))?;
    console::done(&format!("{name}: by Debian's {COMPILER} {version}"));
    let mut flags = vec![format!("--sysroot={}", sysroot.display())];
    flags.extend(linker(root, target)?);
    Ok(WasmTarget { rustc: Some(RUSTC.into()), flags })
}

/// Returns the folder of the cache for what the compiler of package version `version`
/// builds.
fn sysroot_name(target: Target, version: &str) -> String {
    format!("{}-std-{version}-{RECIPE}", target.name())
}

/// Installs compiler and source, and returns the compiler's version.
fn install(target: Target) -> Result<String> {
    let apt_get = ["install", "--yes", "--no-install-recommends", "--no-remove", COMPILER, SOURCE];
    if process::read(Command::new("id").arg("-u"))?.trim() != "0" {
        bail!(
            "this Rust has no target {}, and RUSTUP_AUTO_INSTALL=0 forbids to add it. \
             Debian's packages give it; run this, then this command again:\n  \
             sudo apt-get update && sudo apt-get {}",
            target.name(),
            apt_get.join(" ")
        );
    }
    console::step("Installing Debian's newest Rust for WebAssembly (once, 140 MB, about a minute)");
    if !candidate(COMPILER).is_some_and(|version| is_new_enough(&version)) {
        process::run(&mut apt(&["update"]))?;
    }
    let version =
        candidate(COMPILER).with_context(|| no_compiler(target, "has no such package"))?;
    ensure!(is_new_enough(&version), no_compiler(target, &format!("offers only {version}")));
    // A list that is days old names files that are gone from the mirrors.
    if process::run(&mut apt(&apt_get)).is_err() {
        process::run(&mut apt(&["update"]))?;
        process::run(&mut apt(&apt_get)).with_context(|| {
            format!("{COMPILER} takes no other package's place: remove Debian's rustc if it is installed")
        })?;
    }
    installed(COMPILER).with_context(|| format!("apt-get installed no {COMPILER}"))
}

fn no_compiler(target: Target, what: &str) -> String {
    format!(
        "{COMPILER} {RUST_VERSION} or newer is needed and this Debian {what}: enable its \
         security updates, or run `rustup target add {}` yourself",
        target.name()
    )
}

fn apt(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    // Another apt may be at work, as on a machine that has just started.
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command.args(["-qq", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=300"]).args(arguments);
    command
}

/// Returns the version of `package` that is installed.
fn installed(package: &str) -> Option<String> {
    let format = "--showformat=${db:Status-Status} ${Version}";
    let printed =
        process::read(Command::new("dpkg-query").args(["--show", format, package])).ok()?;
    printed.strip_prefix("installed ").map(str::to_owned)
}

/// Returns the version of `package` that apt would install.
fn candidate(package: &str) -> Option<String> {
    let printed = process::read(Command::new("apt-cache").args(["policy", package])).ok()?;
    let version = printed.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (version != "(none)").then(|| version.to_owned())
}

/// Returns whether the package version `version` is of a Rust that builds this
/// repository.
fn is_new_enough(version: &str) -> bool {
    major_minor(version) >= major_minor(RUST_VERSION)
}

fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Builds the standard library of `target` into the sysroot `folder`.
fn build_std(target: Target, folder: &Path) -> Result<()> {
    let name = target.name();
    let libraries = folder.join("lib/rustlib").join(name).join("lib");
    fs::create_dir_all(&libraries)?;
    let shell = folder.join("build");
    fs::create_dir_all(shell.join("src"))?;
    fs::write(shell.join("src/lib.rs"), "#![no_std]\n")?;
    fs::write(
        shell.join("Cargo.toml"),
        "[package]\nname = \"shell\"\nedition = \"2024\"\n[workspace]\n",
    )?;
    // What is linked with it is optimized as a whole, std included.
    let mut flags = vec!["-Cembed-bitcode=yes".to_owned()];
    flags.push(format!("--remap-path-prefix={STD_SOURCE}=/rust"));
    flags.extend(wasm_target::renamed_folders(&shell)?.iter().map(RenamedFolder::flag));
    if target == Target::Wasi {
        let c_library = libraries.join("self-contained");
        fetch_c_library(&c_library, &folder.join("packages"))?;
        // The compiler has no sysroot yet to find it in.
        flags.push("-Clink-self-contained=no".to_owned());
        flags.push(format!("-Lnative={}", c_library.display()));
    }
    console::step(&format!("Building the standard library for {name} (once, about 30 s)"));
    let built = shell.join("target");
    process::run(
        process::cargo(&shell)
            .args(["build", "--quiet", "--release", "-Zbuild-std=std,panic_abort"])
            .args(["--target", name, "--target-dir"])
            .arg(&built)
            .env("RUSTC", RUSTC)
            // Building std is not stable; what is built with it afterwards is.
            .env("RUSTC_BOOTSTRAP", "1")
            .env(process::FLAGS, flags.join(process::FLAG_SEPARATOR)),
    )
    .with_context(|| {
        format!("no standard library for {name}: its crates come over the network, once")
    })?;
    for file in fs::read_dir(built.join(name).join("release/deps"))? {
        let file = file?;
        let name = file.file_name();
        let name_text = name.to_string_lossy();
        if name_text.ends_with(".rlib") && !name_text.starts_with("libshell-") {
            fs::copy(file.path(), libraries.join(&name))?;
        }
    }
    ensure!(wasm_target::has_std(&libraries), "cargo built no standard library for {name}");
    fs::remove_dir_all(&shell)?;
    Ok(())
}

/// Copies the C library of Debian unstable into the folder `into`, by way of the
/// folder `packages`, which is gone afterwards.
fn fetch_c_library(into: &Path, packages: &Path) -> Result<()> {
    console::step(&format!("Fetching Debian's newest {C_LIBRARY} (once, 12 MB)"));
    for folder in ["lists/partial", "archives/partial", "unpacked"] {
        fs::create_dir_all(packages.join(folder))?;
    }
    fs::write(packages.join("sources.list"), UNSTABLE)?;
    let settings = packages.join("apt.conf");
    fs::write(&settings, apt_settings(packages))?;
    let apt = |arguments: &[&str]| {
        let mut command = apt(arguments);
        command.current_dir(packages).env("APT_CONFIG", &settings);
        command
    };
    process::run(&mut apt(&["update"]))?;
    process::run(&mut apt(&["download", C_LIBRARY]))?;
    let is_package = |path: &PathBuf| path.extension().is_some_and(|it| it == "deb");
    let mut files = fs::read_dir(packages)?.flatten().map(|file| file.path());
    let package =
        files.find(is_package).with_context(|| format!("apt-get brought no {C_LIBRARY}"))?;
    let unpacked = packages.join("unpacked");
    process::run(Command::new("dpkg-deb").arg("--extract").arg(package).arg(&unpacked))?;
    fs::create_dir_all(into)?;
    for file in C_LIBRARY_FILES {
        let from = unpacked.join("usr/lib").join(Target::Wasi.name()).join(file);
        fs::copy(&from, into.join(file))
            .with_context(|| format!("Debian's {C_LIBRARY} has no {file} for WASI 0.2 any more"))?;
    }
    fs::remove_dir_all(packages)?;
    Ok(())
}

/// Has apt keep to the folder `packages`, which may not be its own user's to write
/// to.
fn apt_settings(packages: &Path) -> String {
    let packages = packages.display();
    format!(
        "Dir::Etc::SourceList \"{packages}/sources.list\";\n\
         Dir::Etc::SourceParts \"/dev/null\";\n\
         Dir::State::Lists \"{packages}/lists\";\n\
         Dir::Cache \"{packages}\";\n\
         APT::Sandbox::User \"root\";\n"
    )
}

/// Returns the compiler's flags for the linker for `target`: that of the Rust in use,
/// for Debian's compiler brings none.
fn linker(root: &Path, target: Target) -> Result<Vec<String>> {
    let rustc = |what: &str| process::read(wasm_target::rustc(root).args(["--print", what]));
    let (sysroot, host) = (rustc("sysroot")?, rustc("host-tuple")?);
    let tools = Path::new(sysroot.trim()).join("lib/rustlib").join(host.trim()).join("bin");
    let tool = |name: &str| {
        let tool = tools.join(name);
        ensure!(tool.exists(), "{} is missing: install Rust by rustup", tool.display());
        Ok(tool)
    };
    Ok(match target {
        Target::Bare => vec![
            format!("-Clinker={}", tool("rust-lld")?.display()),
            "-Clinker-flavor=wasm-ld".to_owned(),
        ],
        // It makes a component of what the other one linked.
        Target::Wasi => vec![
            format!("-Clinker={}", tool("wasm-component-ld")?.display()),
            format!("-Clink-arg=--wasm-ld-path={}", tool("gcc-ld/wasm-ld")?.display()),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_target_uses_what_was_built_for_another() {
        let [bare, wasi] = [Target::Bare, Target::Wasi].map(|it| sysroot_name(it, "1.96.0-1"));
        assert_eq!(bare, format!("wasm32-unknown-unknown-std-1.96.0-1-{RECIPE}"));
        assert_ne!(bare, wasi);
    }

    #[test]
    fn an_older_compiler_is_not_enough() {
        assert!(is_new_enough("1.96.0+dfsg1-1~deb12u2"));
        assert!(is_new_enough(RUST_VERSION));
        assert!(is_new_enough("2.0.0"));
        assert!(!is_new_enough("1.85.0+dfsg3-1~deb12u3"));
        assert!(!is_new_enough("unknown"));
    }
}
