//! Compiles all programs and tests in one pass that also lints: Clippy replaces the compiler for
//! the crates of this repository.
//!
//! `cargo clippy` would check all third-party libraries again, only to lint ours. Every command
//! here that builds or runs tests uses [`cargo`]: with another compiler, cargo would compile the
//! crates of this repository again.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{console, process, workspace::Workspace};

/// The compiler that also lints. Cargo uses it for the members of the workspace.
const COMPILER: &str = "RUSTC_WORKSPACE_WRAPPER";
/// Options of the lints, separated as Clippy requires. A lint that is denied must not end
/// the compilation: the tests run anyway, and [`Compiled::ensure_no_warning`] counts it.
const LINT_OPTIONS: (&str, &str) =
    ("CLIPPY_ARGS", "--cap-lints__CLIPPY_HACKERY__warn__CLIPPY_HACKERY__");

/// The result of a compilation.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    /// The programs of tests.
    tests: Vec<TestProgram>,
    /// The messages of the compiler and Clippy, as text.
    messages: BTreeSet<String>,
}

/// A program that runs the tests of one file, or those inside of a crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestProgram {
    /// The name of the file, or of the crate.
    pub(crate) name: String,
    /// True if it is a file in the folder `tests` of its crate.
    is_file: bool,
    /// The folder of its crate. The tests run in it, as with `cargo test`.
    folder: PathBuf,
    program: PathBuf,
}

/// Returns cargo, as it compiles programs and tests.
pub(crate) fn cargo(workspace: &Workspace) -> Result<Command> {
    let mut rustc = Command::new("rustc");
    let root = process::read(rustc.current_dir(&workspace.root).args(["--print", "sysroot"]))?;
    let driver = Path::new(root.trim()).join("bin/clippy-driver");
    let driver = if driver.exists() { driver } else { "clippy-driver".into() };
    let mut cargo = workspace.cargo();
    cargo.env(COMPILER, driver).env(LINT_OPTIONS.0, LINT_OPTIONS.1);
    Ok(cargo)
}

/// Compiles everything that tests are and start. Does nothing the second time; cargo then
/// repeats the warnings of the first.
pub(crate) fn all(workspace: &Workspace) -> Result<Compiled> {
    let mut cargo = cargo(workspace)?;
    // With the tests, so that the libraries have the same features as in the tests.
    cargo.args(["build", "--workspace", "--bins", "--tests", "--message-format=json"]);
    let (printed, result) = process::run_and_read(&mut cargo)?;
    let compiled = Compiled::read(&printed);
    if result.is_err() {
        compiled.print_messages();
    }
    result.map(|()| compiled)
}

impl Compiled {
    /// Reads cargo's messages, each a line of JSON.
    fn read(messages: &str) -> Self {
        let mut compiled = Self::default();
        for message in messages.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok()) {
            if let Some(program) = TestProgram::from_message(&message) {
                compiled.tests.push(program);
            }
            let rendered = message.pointer("/message/rendered").and_then(Value::as_str);
            compiled.messages.extend(rendered.map(str::to_owned));
        }
        compiled
    }

    /// Fails if the compiler or Clippy warned of anything, and prints what.
    pub(crate) fn ensure_no_warning(&self) -> Result<()> {
        self.print_messages();
        let count = self.messages.len();
        ensure!(count == 0, "compiler and Clippy warn {count} times; what they said stands above");
        Ok(())
    }

    fn print_messages(&self) {
        for message in &self.messages {
            console::text(message);
        }
    }

    /// Returns the files of tests of the crate in `folder`, a path from the root.
    pub(crate) fn files_of(
        &self,
        workspace: &Workspace,
        folder: &str,
    ) -> impl Iterator<Item = &TestProgram> {
        let folder = workspace.root.join(folder);
        self.tests.iter().filter(move |it| it.is_file && it.folder == folder)
    }

    /// Returns the program of the file of tests `name` in `folder`.
    pub(crate) fn file(
        &self,
        workspace: &Workspace,
        folder: &str,
        name: &str,
    ) -> Result<&TestProgram> {
        let found = self.files_of(workspace, folder).find(|it| it.name == name);
        found.with_context(|| format!("no tests {name} in {folder}"))
    }
}

impl TestProgram {
    /// Returns the program that cargo reports with `message`, if it reports one.
    fn from_message(message: &Value) -> Option<Self> {
        let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
        let program = text("/executable").map(PathBuf::from)?;
        let is_test = message.pointer("/profile/test").and_then(Value::as_bool);
        is_test.filter(|it| *it)?;
        Some(Self {
            name: text("/target/name")?.to_owned(),
            is_file: text("/target/kind/0") == Some("test"),
            folder: Path::new(text("/manifest_path")?).parent()?.to_owned(),
            program,
        })
    }

    /// Returns the command that runs its tests.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder);
        command
    }
}

#[cfg(test)]
impl TestProgram {
    /// Returns a program of this name that does not exist.
    pub(crate) fn named(name: &str) -> Self {
        let (name, nowhere) = (name.to_owned(), PathBuf::new());
        Self { name, is_file: true, folder: nowhere.clone(), program: nowhere }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = r#"
{"reason":"compiler-artifact","manifest_path":"/w/tests/a/Cargo.toml","target":{"kind":["test"],"name":"race"},"profile":{"test":true},"executable":"/t/race-1"}
{"reason":"compiler-artifact","manifest_path":"/w/tests/a/Cargo.toml","target":{"kind":["lib"],"name":"a"},"profile":{"test":true},"executable":"/t/a-1"}
{"reason":"compiler-artifact","manifest_path":"/w/tests/b/Cargo.toml","target":{"kind":["bin"],"name":"b"},"profile":{"test":false},"executable":"/t/b"}
{"reason":"compiler-message","message":{"level":"warning","rendered":"warning: unused\n"}}
{"reason":"compiler-message","message":{"level":"warning","rendered":"warning: unused\n"}}
{"reason":"build-finished","success":true}
"#;

    #[test]
    fn programs_of_tests_are_found_by_file() {
        let workspace =
            Workspace { root: "/w".into(), target: "/w/target".into(), packages: Vec::new() };
        let compiled = Compiled::read(MESSAGES);
        let race = compiled.file(&workspace, "tests/a", "race").unwrap();
        assert_eq!(race.command().get_program(), "/t/race-1");
        assert_eq!(race.command().get_current_dir(), Some(Path::new("/w/tests/a")));
        assert_eq!(compiled.files_of(&workspace, "tests/a").count(), 1);
        assert!(compiled.file(&workspace, "tests/b", "b").is_err());
    }

    #[test]
    fn a_warning_fails_once() {
        assert!(Compiled::default().ensure_no_warning().is_ok());
        let error = Compiled::read(MESSAGES).ensure_no_warning().unwrap_err().to_string();
        assert!(error.contains("warn 1 times"), "{error}");
    }
}
