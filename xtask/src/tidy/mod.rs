//! `cargo xtask tidy`: the rules of this repository that no compiler checks.
//!
//! One file per kind of rule; each rule is a function from texts to findings and reads no file
//! itself. A finding names the file, the line and the remedy.

mod citations;
mod crates;
mod errors;
mod links;
mod modules;
mod order;
mod paths;
mod rust_files;
mod tokens;
mod wit;
mod wording;

use std::{fmt, fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use crate::{console, process, workspace::Workspace};

/// A file of the repository.
#[derive(Debug)]
struct File {
    /// Its path from the root.
    path: String,
    text: String,
}

impl File {
    fn is_of(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

/// Something that is not as it should be.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    line: usize,
    /// The problem, and what to do.
    message: String,
    /// True if it is only a warning.
    is_warning: bool,
}

impl Finding {
    fn fault(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into(), is_warning: false }
    }

    fn warning(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { is_warning: true, ..Self::fault(path, line, message) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Checks every rule and prints what was found.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let files = files(workspace)?;
    let mut findings = crates::check(&workspace.packages, &files);
    findings.extend(modules::check(&files));
    findings.extend(order::check(&files));
    findings.extend(citations::check(&files));
    findings.extend(errors::check(&files));
    findings.extend(files.iter().flat_map(|file| {
        let mut findings = paths::check(file);
        if file.is_of("rs") {
            findings.extend(rust_files::check(file));
            findings.extend(wording::check_functions(file));
            findings.extend(wording::check_test_names(file));
        } else if file.is_of("md") {
            findings.extend(wording::check_words(file));
            findings.extend(links::check(file, |path| workspace.root.join(path).exists()));
        }
        findings
    }));
    findings.extend(wit::check(&workspace.root)?);
    findings.extend(wording::check_subjects(&subjects(workspace)));
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));

    for finding in &findings {
        let text = finding.to_string();
        if finding.is_warning { console::warning(&text) } else { console::failure(&text) }
    }
    let faults = findings.iter().filter(|finding| !finding.is_warning).count();
    if faults > 0 {
        bail!("{faults} of the rules above broken; the rules stand in xtask/src/tidy");
    }
    console::done(&format!("{} files are tidy", files.len()));
    Ok(())
}

/// Returns every text file of the repository that git knows or would take.
fn files(workspace: &Workspace) -> Result<Vec<File>> {
    let listed = process::read(Command::new("git").current_dir(&workspace.root).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))
    .context("tidy asks git which files belong to the repository")?;
    let read = |path: &str| {
        // Not there: deleted, and not yet in git. Not text: nothing to check.
        let text = String::from_utf8(fs::read(workspace.root.join(path)).ok()?).ok()?;
        Some(File { path: path.to_owned(), text })
    };
    Ok(listed.split_terminator('\0').filter_map(read).collect())
}

/// Returns the hashes and subjects of the last commits, a line each; nothing outside a
/// clone.
fn subjects(workspace: &Workspace) -> String {
    let log = ["log", "--no-merges", "--max-count=100", "--format=%h %s"];
    process::read(Command::new("git").current_dir(&workspace.root).args(log)).unwrap_or_default()
}

/// Returns the messages of `findings` with their lines, for tests.
#[cfg(test)]
fn seen(findings: &[Finding]) -> Vec<(usize, &str)> {
    findings.iter().map(|finding| (finding.line, finding.message.as_str())).collect()
}

#[cfg(test)]
fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}
