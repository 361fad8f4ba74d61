//! `export` and `import`: a session as a document.
//!
//! # Invariant
//!
//! A file is written whole or not at all. Only its owner may read it, because it contains
//! every value. What is at its path and is not a file, such as a pipe, is written to.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde_json::json;
use tempfile::NamedTempFile;

use super::{
    argument::SessionName,
    client::parse,
    file,
    output::{BOLD, GREEN, Output, counted},
    problem::{Kind, Problem},
    progress::{Progress, size},
    reply::{CreatedSession, Human},
    server::ServerArgs,
};

/// Write a session to a document
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context export ticket-7 > ticket-7.json
  shared-context export ticket-7 --output ticket-7.json
  shared-context export ticket-7 | jq -r '.entries[].key'

The document has the configuration, all entries, their history and the
snapshots, each with its digest. It has no credentials and no audit log.")]
pub(crate) struct ExportArguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    /// Write to this file; - is standard output [default: standard output]
    #[arg(long, short, env = "SHARED_CONTEXT_OUTPUT", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Create a session from an exported document
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context import ticket-7.json
  shared-context import ticket-7.json --as ticket-7-again
  shared-context export ticket-7 | shared-context import - --as copy

An altered document is rejected, and the error names the altered part. The
credentials of the exported session are not valid for the new one.")]
pub(crate) struct ImportArguments {
    /// The document, or - for standard input
    file: PathBuf,
    /// The new session's id [default: the one it had]
    #[arg(long = "as", env = "SHARED_CONTEXT_IMPORT_AS", value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `export`.
pub(crate) fn export(arguments: &ExportArguments, output: Output) -> Result<(), Problem> {
    let ExportArguments { session, output: path, server } = arguments;
    let server = server.server()?;
    let session = &server.session(session)?;
    let call = server.client.get(&["v1", "sessions", session, "export"], &[]);
    let admin = server.admin()?;
    let progress = Progress::start(&format!("exporting {session}"));
    let document = server.send(&call, Some(&admin))?;
    drop(progress);
    let Some(path) = path.as_deref().filter(|it| !file::is_standard(it)) else {
        // The document is JSON with and without `--json`.
        return Output::exact(&document);
    };
    let bytes = write_file(path, &document)?;
    let done = json!({"session_id": session, "file": path, "bytes": bytes});
    output.answer(done.to_string().as_bytes(), || {
        Ok(format!(
            "{GREEN}✓{GREEN:#} {BOLD}{session}{BOLD:#} exported to {}, {}\n",
            path.display(),
            counted(bytes, "byte")
        ))
    })
}

/// Writes `document` and a line break to the file at `path`; returns the number of bytes.
///
/// # Errors
///
/// The file cannot be written.
pub(crate) fn write_file(path: &Path, document: &[u8]) -> Result<u64, Problem> {
    let line = [document, b"\n"].concat();
    write(path, &line).map(|()| u64::try_from(line.len()).unwrap_or(u64::MAX)).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        Problem::new(Kind::Usage, "FILE_NOT_WRITTEN", message)
            .next("name a file in a folder that can be written to")
    })
}

/// Writes `bytes` to the file at `path`, as a whole. A symbolic link stays one.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = match (fs::canonicalize(path), fs::read_link(path)) {
        (Ok(target), _) => target,
        // The link leads to a file that is not there yet.
        (Err(_), Ok(target)) => path.parent().unwrap_or(Path::new("")).join(target),
        (Err(_), Err(_)) => path.to_owned(),
    };
    if fs::metadata(&path).is_ok_and(|it| !it.is_file() && !it.is_dir()) {
        // A pipe or a device cannot be replaced.
        return OpenOptions::new().write(true).open(&path)?.write_all(bytes);
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let mut unfinished = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    unfinished.write_all(bytes)?;
    unfinished.as_file().sync_all()?;
    unfinished.persist(&path)?;
    Ok(())
}

/// Runs `import`.
pub(crate) fn import(arguments: &ImportArguments, output: Output) -> Result<(), Problem> {
    let ImportArguments { file, session, server } = arguments;
    let server = server.server()?;
    let admin = server.admin()?;
    let document = file::read(file, "the document")?;
    let query: Vec<_> = session.iter().map(|it| ("session_id", it.clone())).collect();
    let size = size(u64::try_from(document.len()).unwrap_or(u64::MAX));
    let progress = Progress::start(&format!("importing {}, {size}", file::name(file)));
    let call = server.client.post_to(&["v1", "sessions", "import"], &query, document);
    let reply = server.send(&call, Some(&admin))?;
    drop(progress);
    output.answer(&reply, || {
        let made: CreatedSession = parse(&reply, &server.client)?;
        Ok(format!("{GREEN}✓{GREEN:#} imported {}", made.human(output)))
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::{os::unix::fs::symlink, process::Command, thread};

    use super::*;

    #[test]
    fn the_size_of_a_written_file_includes_its_line_break() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        assert_eq!(write_file(&path, b"{}").unwrap(), 3);
        assert_eq!(fs::read(&path).unwrap(), b"{}\n");
    }

    /// The file once replaced the link.
    #[test]
    fn a_symbolic_link_is_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("other")).unwrap();
        for target in ["other/there", "other/new"] {
            if target == "other/there" {
                fs::write(at(target), "old").unwrap();
            }
            let link = at("link");
            symlink(target, &link).unwrap();
            write_file(&link, b"{}").unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{target}");
            assert_eq!(fs::read(at(target)).unwrap(), b"{}\n", "{target}");
            fs::remove_file(&link).unwrap();
        }
    }

    /// A pipe once became a file, and its reader got nothing.
    #[test]
    fn a_pipe_is_written_to_and_stays_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reader = thread::spawn({
            let path = path.clone();
            move || fs::read(path).unwrap()
        });
        write_file(&path, b"{}").unwrap();
        assert_eq!(reader.join().unwrap(), b"{}\n");
        assert!(!fs::metadata(&path).unwrap().is_file());
    }
}
