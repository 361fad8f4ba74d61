//! What tests a host in a program of its own: a crate, and targets of the conformance
//! suite, which find the host by variables.
//!
//! Not here: what brings the host ([`crate::workerd`], [`crate::spin`]).

use std::{
    ffi::{OsStr, OsString},
    fs,
};

use anyhow::{Context, Result, ensure};

use crate::{console, process, workspace::Workspace};

/// Variables for tests.
pub(crate) type Variables = Vec<(&'static str, OsString)>;

/// What tests a host.
#[derive(Debug)]
pub(crate) struct HostTests {
    /// The crate of the tests.
    pub(crate) package: &'static str,
    /// The folder of the crate, from the root.
    pub(crate) folder: &'static str,
    pub(crate) built: Built,
    /// How the names of what is tested start in the conformance suite.
    pub(crate) targets: &'static [&'static str],
}

/// How the crate of the tests is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Built {
    /// By itself.
    Alone,
    /// As the workspace is: alone its libraries would have other features, and wasmtime
    /// would be compiled anew.
    AsTheWorkspace,
}

impl HostTests {
    /// Runs all. Everything runs, whichever fails: one run shows everything.
    pub(crate) fn all(
        &self,
        workspace: &Workspace,
        variables: &Variables,
    ) -> Result<Vec<Result<()>>> {
        let files = self.files(workspace)?;
        let mut results = vec![test(workspace, variables, &self.selection(&files, &[]), &[])];
        results.extend(self.targets.iter().map(|it| suite(workspace, variables, &[it.into()])));
        Ok(results)
    }

    /// Runs what `arguments` choose: names of files of tests and parts of names of tests,
    /// or parts of names of the conformance suite if the first begins with a target.
    pub(crate) fn chosen(
        &self,
        workspace: &Workspace,
        variables: &Variables,
        arguments: &[OsString],
    ) -> Result<()> {
        let first = arguments.first().map(|it| it.to_string_lossy()).unwrap_or_default();
        if self.targets.iter().any(|it| first.starts_with(it)) {
            return suite(workspace, variables, arguments);
        }
        let files = self.files(workspace)?;
        let is_file = |it: &OsString| files.iter().any(|file| **it == **file);
        let (chosen, names): (Vec<_>, Vec<_>) = arguments.iter().cloned().partition(is_file);
        let chosen: Vec<_> = chosen.iter().map(|it| it.display().to_string()).collect();
        test(workspace, variables, &self.selection(&files, &chosen), &names)
    }

    /// Returns the arguments by which cargo tests the crate, which has `files`: `chosen`, or all.
    fn selection(&self, files: &[String], chosen: &[String]) -> Vec<String> {
        let (of, all) = match self.built {
            Built::Alone => (vec!["--package", self.package], &[][..]),
            Built::AsTheWorkspace => (vec!["--workspace"], files),
        };
        let files = if chosen.is_empty() { all } else { chosen };
        let files = files.iter().map(|file| format!("--test={file}"));
        let of = of.into_iter().chain(["--no-fail-fast"]).map(str::to_owned);
        of.chain(files).collect()
    }

    /// Returns the files of tests, by name; a folder with a `main.rs` is one of them.
    fn files(&self, workspace: &Workspace) -> Result<Vec<String>> {
        let folder = workspace.root.join(self.folder).join("tests");
        let entries = fs::read_dir(&folder);
        let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
        let mut files: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|it| it.extension() == Some(OsStr::new("rs")) || it.join("main.rs").exists())
            .filter_map(|it| Some(it.file_stem()?.to_str()?.to_owned()))
            .collect();
        files.sort();
        Ok(files)
    }
}

/// Runs cargo with these arguments; the tests get `variables` and `passed`.
fn test(
    workspace: &Workspace,
    variables: &Variables,
    told: &[String],
    passed: &[OsString],
) -> Result<()> {
    let mut cargo = workspace.cargo();
    cargo.arg("test").args(told).arg("--").args(passed);
    process::run(cargo.envs(variables.clone()))
}

/// Runs the part of the conformance suite that `passed` names. Not by its package: see
/// [`Built::AsTheWorkspace`].
fn suite(workspace: &Workspace, variables: &Variables, passed: &[OsString]) -> Result<()> {
    let told = ["--workspace", "--test", "conformance"].map(str::to_owned);
    test(workspace, variables, &told, passed)
}

/// Names what failed of all that ran.
pub(crate) fn conclude(results: Vec<Result<()>>) -> Result<()> {
    let failures: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    for failure in &failures {
        console::failure(&format!("{failure:#}"));
    }
    ensure!(failures.is_empty(), "{} of the parts above failed", failures.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::Path};

    use super::*;

    fn tests(built: Built) -> HostTests {
        HostTests { package: "some-tests", folder: "tests/some", built, targets: &["some::"] }
    }

    fn selection(built: Built, chosen: &[&str]) -> String {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        tests(built).selection(&names(&["race", "kill"]), &names(chosen)).join(" ")
    }

    #[test]
    fn a_crate_is_tested_alone_or_as_the_workspace_is_built() {
        assert_eq!(selection(Built::Alone, &[]), "--package some-tests --no-fail-fast");
        assert_eq!(
            selection(Built::Alone, &["kill"]),
            "--package some-tests --no-fail-fast --test=kill"
        );
        assert_eq!(
            selection(Built::AsTheWorkspace, &[]),
            "--workspace --no-fail-fast --test=race --test=kill"
        );
        assert_eq!(
            selection(Built::AsTheWorkspace, &["race"]),
            "--workspace --no-fail-fast --test=race"
        );
    }

    #[test]
    fn a_failure_is_counted() {
        assert!(conclude(vec![Ok(()), Ok(())]).is_ok());
        let failed = || Err(anyhow::anyhow!("it does not answer"));
        let error = conclude(vec![failed(), Ok(()), failed()]).unwrap_err();
        assert_eq!(error.to_string(), "2 of the parts above failed");
    }

    /// What is chosen by name in the whole workspace would run another crate's file of
    /// that name as well.
    #[test]
    fn files_of_tests_chosen_by_name_have_unique_names() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let workspace = Workspace { root, target: "target".into(), packages: Vec::new() };
        let mut files = BTreeMap::new();
        for folder in ["tests/spin", "tests/system", "tests/workers", "tests/conformance"] {
            let tests = HostTests { folder, ..tests(Built::Alone) };
            for file in tests.files(&workspace).unwrap() {
                files.entry(file).or_insert_with(Vec::new).push(folder);
            }
        }
        let shared = files.iter().filter(|(_, of)| of.len() > 1 && of.contains(&"tests/spin"));
        assert_eq!(shared.collect::<Vec<_>>(), Vec::new(), "give the file another name");
    }
}
