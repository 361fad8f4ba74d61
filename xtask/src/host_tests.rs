//! The tests of a host in a separate program: a crate, and targets of the conformance suite, which
//! find the host by variables.
//!
//! Not here: the installation of the host ([`crate::workerd`], [`crate::spin`]).

use std::ffi::OsString;

use anyhow::{Result, ensure};

use crate::{
    compile::{self, Compiled, TestProgram},
    console, process,
    workspace::Workspace,
};

/// The folder of the conformance suite, and the name of its tests.
const SUITE: (&str, &str) = ("tests/conformance", "conformance");

/// Variables for tests.
pub(crate) type Variables = Vec<(&'static str, OsString)>;

/// The tests of a host.
#[derive(Debug)]
pub(crate) struct HostTests {
    /// The folder of the crate of the tests, from the root.
    pub(crate) folder: &'static str,
    /// The prefixes of its targets in the conformance suite.
    pub(crate) targets: &'static [&'static str],
}

impl HostTests {
    /// Runs all. Everything runs, whichever fails: one run shows everything.
    pub(crate) fn all(
        &self,
        workspace: &Workspace,
        variables: &Variables,
    ) -> Result<Vec<Result<()>>> {
        let compiled = compile::all(workspace)?;
        let files = compiled.files_of(workspace, self.folder);
        let mut results: Vec<_> = files.map(|it| test(it, variables, &[])).collect();
        for target in self.targets {
            results.push(suite(workspace, &compiled, variables, &[target.into()]));
        }
        Ok(results)
    }

    /// Returns the names of the hosts in [`Self::targets`], as names of tests start with them.
    fn hosts(&self) -> impl Iterator<Item = &'static str> {
        self.targets.iter().filter_map(|it| it.split_inclusive("::").next())
    }

    /// Runs what `arguments` choose: names of files of tests and parts of names of tests,
    /// or parts of names of the conformance suite if the first begins with a target.
    pub(crate) fn chosen(
        &self,
        workspace: &Workspace,
        variables: &Variables,
        arguments: &[OsString],
    ) -> Result<()> {
        let compiled = compile::all(workspace)?;
        let first = arguments.first().map(|it| it.to_string_lossy()).unwrap_or_default();
        if self.hosts().any(|it| first.starts_with(it)) {
            return suite(workspace, &compiled, variables, arguments);
        }
        let files: Vec<_> = compiled.files_of(workspace, self.folder).collect();
        let (chosen, names) = choose(&files, arguments);
        conclude(chosen.into_iter().map(|it| test(it, variables, &names)).collect())
    }
}

/// Returns the files that `arguments` name, or all if they name none, and the other
/// arguments.
fn choose<'a>(
    files: &[&'a TestProgram],
    arguments: &[OsString],
) -> (Vec<&'a TestProgram>, Vec<OsString>) {
    let is = |file: &TestProgram, it: &OsString| **it == *file.name;
    let is_file = |it: &OsString| files.iter().any(|file| is(file, it));
    let (named, names): (Vec<_>, Vec<_>) = arguments.iter().cloned().partition(is_file);
    let is_chosen = |file: &TestProgram| named.is_empty() || named.iter().any(|it| is(file, it));
    (files.iter().copied().filter(|it| is_chosen(it)).collect(), names)
}

/// Runs the tests of a file; they get `variables` and `arguments`.
fn test(file: &TestProgram, variables: &Variables, arguments: &[OsString]) -> Result<()> {
    process::run(file.command().args(arguments).envs(variables.clone()))
}

/// Runs the part of the conformance suite that `arguments` name.
fn suite(
    workspace: &Workspace,
    compiled: &Compiled,
    variables: &Variables,
    arguments: &[OsString],
) -> Result<()> {
    let (folder, name) = SUITE;
    test(compiled.file(workspace, folder, name)?, variables, arguments)
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
    use super::*;

    #[test]
    fn files_are_chosen_by_name_and_tests_within_them() {
        let [race, kill] = ["race", "kill"].map(TestProgram::named);
        let choose = |arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
            let (files, names) = choose(&[&race, &kill], &arguments);
            (files.into_iter().map(|it| it.name.clone()).collect::<Vec<_>>(), names)
        };
        assert_eq!(choose(&[]), (vec!["race".into(), "kill".into()], vec![]));
        assert_eq!(choose(&["kill"]), (vec!["kill".into()], vec![]));
        assert_eq!(choose(&["kill", "tied"]), (vec!["kill".into()], vec!["tied".into()]));
        assert_eq!(choose(&["tied"]), (vec!["race".into(), "kill".into()], vec!["tied".into()]));
    }

    #[test]
    fn any_case_of_a_host_can_be_chosen() {
        let tests = HostTests { folder: "tests/a", targets: &["spin::", "jco::store/"] };
        assert_eq!(tests.hosts().collect::<Vec<_>>(), ["spin::", "jco::"]);
    }

    #[test]
    fn a_failure_is_counted() {
        assert!(conclude(vec![Ok(()), Ok(())]).is_ok());
        let failed = || Err(anyhow::anyhow!("it does not answer"));
        let error = conclude(vec![failed(), Ok(()), failed()]).unwrap_err();
        assert_eq!(error.to_string(), "2 of the parts above failed");
    }
}
