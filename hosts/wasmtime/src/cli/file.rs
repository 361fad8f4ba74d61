//! Files that commands read, by name, or standard input as `-`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::problem::Problem;

/// Returns the name of the file at `path` for a message.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Rejects several of `paths` that stand for standard input: it can be read once.
///
/// # Errors
///
/// There are several.
pub(crate) fn check_standard_input<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), Problem> {
    if paths.into_iter().filter(|it| it.as_path() == Path::new("-")).count() > 1 {
        return Err(Problem::usage("standard input is named several times")
            .next("write - once, and name files for the others"));
    }
    Ok(())
}

/// Reads `what` from the file at `path`.
///
/// # Errors
///
/// The file cannot be read, or is not UTF-8.
pub(crate) fn read(path: &Path, what: &str) -> Result<String, Problem> {
    let read = if path == Path::new("-") {
        io::read_to_string(io::stdin())
    } else {
        fs::read_to_string(path)
    };
    read.map_err(|error| {
        if error.kind() == io::ErrorKind::InvalidData {
            return Problem::usage(format!("{what} from {} is not text in UTF-8", name(path)))
                .next("convert it to UTF-8; bytes that are no text cannot be stored");
        }
        Problem::usage(format!("cannot read {what} from {}: {error}", name(path)))
            .next("name a file with it, or - and send it to standard input")
    })
}
