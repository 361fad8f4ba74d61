//! Files that commands read, by name, or standard input as `-`.

use std::{
    fs,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
};

use super::problem::Problem;

/// Returns true if `path` is `-`: standard input, or standard output for a file to write.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Returns the name of the file at `path` for a message.
pub(crate) fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Rejects several of `paths` that stand for standard input: it can be read once.
///
/// # Errors
///
/// There are several.
pub(crate) fn check_standard_input<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), Problem> {
    if paths.into_iter().filter(|it| is_standard(it)).count() > 1 {
        return Err(Problem::usage("standard input is named several times")
            .next("write - once, and name files for the others"));
    }
    Ok(())
}

/// Reads `what` from the file at `path`.
///
/// # Errors
///
/// The file cannot be read, or is not UTF-8. Standard input is a terminal, where the command
/// would seem to hang.
pub(crate) fn read(path: &Path, what: &str) -> Result<String, Problem> {
    if is_standard(path) && io::stdin().is_terminal() {
        let message = format!("{what} is read from standard input, which is a terminal");
        return Err(Problem::usage(message).next("name a file with it, or send it through a pipe"));
    }
    let read =
        if is_standard(path) { io::read_to_string(io::stdin()) } else { fs::read_to_string(path) };
    read.map_err(|error| {
        if error.kind() == io::ErrorKind::InvalidData {
            return Problem::usage(format!("{what} from {} is not text in UTF-8", name(path)))
                .next("convert it to UTF-8; other bytes cannot be stored");
        }
        Problem::usage(format!("cannot read {what} from {}: {error}", name(path)))
            .next("name a file with it, or - and send it to standard input")
    })
}
