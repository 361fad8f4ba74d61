//! Asks for confirmation before an irreversible operation.
//!
//! # Invariant
//!
//! Without a terminal, the operation is rejected.

use std::io::{self, BufRead, IsTerminal, Write};

use super::problem::Problem;

/// Asks the question that `question` builds, unless `yes` is set. `doing` names the
/// operation, such as "deleting a session".
///
/// # Errors
///
/// The answer is not yes, standard input is not a terminal, or `question` fails.
pub(crate) fn confirm(
    yes: bool,
    doing: &str,
    question: impl FnOnce() -> Result<String, Problem>,
) -> Result<(), Problem> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        let message = format!("{doing} cannot be undone, and nobody can be asked");
        return Err(Problem::usage(message).next("add --yes when that is meant"));
    }
    let question = question()?;
    let mut terminal = anstream::stderr();
    let mut answer = String::new();
    let read = write!(terminal, "{question} This cannot be undone. [y/N] ")
        .and_then(|()| terminal.flush())
        .and_then(|()| io::stdin().lock().read_line(&mut answer));
    match read {
        Ok(_) if matches!(answer.trim(), "y" | "Y" | "yes") => Ok(()),
        _ => Err(Problem::usage("nothing was changed").next("answer y when it is meant")),
    }
}
