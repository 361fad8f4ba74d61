//! The path of the program.
//!
//! Cargo does not pass it to tests of other packages. So the program is searched for in cargo's
//! target folder, and built if it is missing or older than its sources.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

const NAME: &str = "shared-context";

/// Returns the program to test: `SHARED_CONTEXT_BIN`, or the one built with the profile
/// of this test.
pub fn path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match env::var_os("SHARED_CONTEXT_BIN") {
        Some(path) => PathBuf::from(path),
        None => built("shared-context-wasmtime", NAME),
    })
}

/// Runs the program with `arguments` and waits for its end. It sees no setting
/// of this process's environment.
pub fn run<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    command(path()).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// `program`, to be started without what may be set for it here.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("SHARED_CONTEXT_") {
            command.env_remove(name);
        }
    }
    // The profiles of whoever runs the tests are not read.
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command.env_remove("RUST_LOG").env("NO_COLOR", "1").env("COLUMNS", "100");
    command
}

/// Returns the program `name` of the workspace's package `package`, built with the profile of
/// this test.
pub fn built(package: &str, name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    // Tests lie in `deps` beside the programs; a program that tests is one of them.
    let folder = test.ancestors().skip(1).find(|it| !it.ends_with("deps")).unwrap();
    let program = folder.join(name);
    if is_current(&program) {
        return program;
    }
    let profile = match folder.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        name => name,
    };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--package", package, "--bin", name])
        .args(["--profile", profile])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .unwrap();
    assert!(status.success(), "{name} could not be built");
    program
}

/// Returns whether the program exists and is newer than all sources that cargo built it from.
fn is_current(program: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|it| it.modified()).ok();
    let Some(built) = changed(program) else { return false };
    let sources = fs::read_to_string(program.with_extension("d")).unwrap_or_default();
    // `program: source source …`, spaces in names escaped.
    let sources = sources.split_once(": ").map_or("", |(_, sources)| sources).replace("\\ ", "\0");
    sources
        .split_ascii_whitespace()
        .all(|source| changed(Path::new(&source.replace('\0', " "))).is_some_and(|it| it <= built))
}
