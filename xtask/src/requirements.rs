//! Programs of this machine that a command needs. They are searched for before anything is
//! compiled, so a missing npm is reported at once and not after ten minutes.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process;

/// A program that this repository does not bring itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Requirement {
    Npm,
    Python,
    CppCompiler,
}

impl Requirement {
    /// Returns its name and how to get it.
    fn about(self) -> (&'static str, &'static str) {
        match self {
            Self::Npm => ("npm", "install Node 20 or newer with npm"),
            Self::Python => ("Python with pip", "install Python 3.11 or newer with pip"),
            Self::CppCompiler => {
                ("a C++ compiler", "install one, such as g++, or name it in the variable CXX")
            }
        }
    }

    fn is_there(self) -> bool {
        let starts = |program: &str, arguments: &[&str]| {
            process::read(Command::new(program).args(arguments)).is_ok()
        };
        match self {
            Self::Npm => starts("npm", &["--version"]),
            Self::Python => starts("python3", &["-m", "pip", "--version"]),
            Self::CppCompiler => {
                let named = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
                starts(&named, &["--version"])
            }
        }
    }
}

/// Checks that all of `needed` are on this machine.
///
/// # Errors
///
/// Some are missing: the message names all of them.
pub(crate) fn ensure(needed: impl IntoIterator<Item = Requirement>) -> Result<()> {
    let mut needed: Vec<_> = needed.into_iter().collect();
    needed.sort_unstable();
    needed.dedup();
    needed.retain(|it| !it.is_there());
    report(&needed)
}

fn report(missing: &[Requirement]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let line = |it: &Requirement| {
        let (name, remedy) = it.about();
        format!("{name} is missing on this machine: {remedy}")
    };
    bail!("{}", missing.iter().map(line).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_program_is_named_with_its_remedy() {
        assert!(report(&[]).is_ok());
        let error = report(&[Requirement::Npm, Requirement::CppCompiler]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "npm is missing on this machine: install Node 20 or newer with npm\n\
             a C++ compiler is missing on this machine: install one, such as g++, or name it in \
             the variable CXX"
        );
    }
}
