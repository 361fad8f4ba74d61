//! Builds the documentation of the products from the compiled tests, and fails on any warning.
//!
//! `cargo doc` would check all third-party libraries again. `cargo test --doc` calls rustdoc for
//! every library, with the paths of what is already compiled. Here it calls this program instead
//! ([`stand_in`]), which leaves out the tests and has rustdoc write pages.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::{compile, process, workspace::Workspace};

/// Names rustdoc, when this program stands in for it.
const RUSTDOC: &str = "SHARED_CONTEXT_RUSTDOC";
/// The folder of the pages.
const PAGES: &str = "SHARED_CONTEXT_PAGES";
/// The folders of products.
const PRODUCTS: [&str; 2] = ["components/", "hosts/"];

/// Builds the documentation into the folder `doc` of the target folder.
///
/// # Errors
///
/// rustdoc warns.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let this = env::current_exe().context("the path of this program is unknown")?;
    let rustdoc = env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    let mut cargo = compile::cargo(workspace)?;
    cargo.args(["test", "--doc", "--workspace", "--quiet", "--no-fail-fast"]).env("RUSTDOC", this);
    process::run(cargo.env(RUSTDOC, rustdoc).env(PAGES, workspace.target.join("doc")))
}

/// Returns true if cargo started this program as its rustdoc.
pub(crate) fn is_asked_to_stand_in() -> bool {
    env::var_os(RUSTDOC).is_some()
}

/// Runs rustdoc for cargo, which wants the tests of one library run: writes its pages instead.
pub(crate) fn stand_in() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [rustdoc, pages] = [RUSTDOC, PAGES].map(|it| env::var_os(it).unwrap_or_default());
    let mut command = Command::new(rustdoc);
    if let Some(arguments) = for_pages(&arguments) {
        command.args(arguments).args(["--deny", "warnings", "--out-dir"]).arg(pages);
    } else if arguments.iter().any(|it| it == "--test") {
        return ExitCode::SUCCESS;
    } else {
        // Cargo asks for the version.
        command.args(arguments);
    }
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Returns `arguments` without those of tests, or none if it is no product that is to be tested.
fn for_pages(arguments: &[OsString]) -> Option<Vec<&OsStr>> {
    let is_product =
        |it: &OsString| PRODUCTS.iter().any(|folder| Path::new(it).starts_with(folder));
    if !arguments.iter().any(|it| it == "--test") || !arguments.iter().any(is_product) {
        return None;
    }
    let mut kept = Vec::new();
    let mut all = arguments.iter();
    while let Some(argument) = all.next() {
        match argument.to_str() {
            Some("--test" | "--no-run" | "--nocapture") => {}
            // Each with a value.
            Some("--test-run-directory" | "--test-args" | "--test-builder") => {
                all.next();
            }
            _ => kept.push(argument.as_os_str()),
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(line: &str) -> Option<String> {
        let arguments: Vec<_> = line.split(' ').map(OsString::from).collect();
        for_pages(&arguments).map(|it| it.join(OsStr::new(" ")).into_string().unwrap_or_default())
    }

    #[test]
    fn the_arguments_of_tests_are_left_out() {
        let line = "--crate-name a --test components/a/src/lib.rs --test-run-directory /a -L b";
        assert_eq!(pages(line).unwrap(), "--crate-name a components/a/src/lib.rs -L b");
    }

    #[test]
    fn tests_are_no_products() {
        assert_eq!(pages("--test tests/a/src/lib.rs"), None);
        assert_eq!(pages("-vV"), None);
    }
}
