//! Asks for confirmation before an irreversible operation.
//!
//! # Invariant
//!
//! Without a terminal, the operation is rejected.

use std::io::{self, BufRead, IsTerminal, Write};

use super::problem::{Kind, Problem};

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
        let message =
            format!("{doing} cannot be undone, and without a terminal it cannot be confirmed");
        return Err(Problem::usage(message).next("add --yes to do it"));
    }
    let question = question()?;
    let mut terminal = anstream::stderr();
    let mut answer = String::new();
    let read = write!(terminal, "{question} This cannot be undone. [y/N] ")
        .and_then(|()| terminal.flush())
        .and_then(|()| io::stdin().lock().read_line(&mut answer));
    match read {
        Ok(_) if is_yes(&answer) => Ok(()),
        _ => Err(Problem::new(Kind::Usage, "NOT_CONFIRMED", "nothing was changed")),
    }
}

/// Returns true if `answer` confirms.
fn is_yes(answer: &str) -> bool {
    ["y", "yes"].iter().any(|it| answer.trim().eq_ignore_ascii_case(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `YES` was once answered with the advice to answer y.
    #[test]
    fn yes_may_be_written_in_capitals() {
        assert!(["y", "Y", "yes", "Yes", "YES\n"].iter().all(|it| is_yes(it)));
        assert!(["", "n", "no", "yess", "yes please"].iter().all(|it| !is_yes(it)));
    }
}
