//! `export` and `import`: a session as a document.
//!
//! # Invariant
//!
//! A file is written whole or not at all. Only its owner may read it, because it contains
//! every value.

use std::{
    io::{self, IsTerminal, Write},
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

The document holds the configuration, all entries, their history and the
snapshots, each with its digest; no credentials and no audit log.")]
pub(crate) struct ExportArguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    /// Write to this file [default: standard output]
    #[arg(long, short, env = "SHARED_CONTEXT_OUTPUT", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Make a session of a document
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context import ticket-7.json
  shared-context import ticket-7.json --as ticket-7-again
  shared-context export ticket-7 | shared-context import - --as copy

A document that was altered is refused, and where it was altered is told.
Credentials of the session it was made of are not good for the new one.")]
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
    let Some(path) = path else {
        // The document is JSON with and without `--json`.
        return Output::exact(&document);
    };
    write_file(path, &document)?;
    let bytes = u64::try_from(document.len()).unwrap_or(u64::MAX);
    let done = json!({"session_id": session, "file": path, "bytes": bytes});
    output.answer(done.to_string().as_bytes(), || {
        Ok(format!(
            "{GREEN}✓{GREEN:#} {BOLD}{session}{BOLD:#} exported to {}, {}\n",
            path.display(),
            counted(bytes, "byte")
        ))
    })
}

/// Writes `document` and a line break to the file at `path`.
///
/// # Errors
///
/// The file cannot be written.
pub(crate) fn write_file(path: &Path, document: &[u8]) -> Result<(), Problem> {
    write(path, document).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        Problem::new(Kind::Usage, "FILE_NOT_WRITTEN", message)
            .next("name a file in a folder that can be written to")
    })
}

/// Writes `document` and a line break to the file at `path`.
fn write(path: &Path, document: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let mut unfinished = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    unfinished.write_all(document)?;
    unfinished.write_all(b"\n")?;
    unfinished.as_file().sync_all()?;
    unfinished.persist(path)?;
    Ok(())
}

/// Runs `import`.
pub(crate) fn import(arguments: &ImportArguments, output: Output) -> Result<(), Problem> {
    let ImportArguments { file, session, server } = arguments;
    let server = server.server()?;
    let admin = server.admin()?;
    if file == Path::new("-") && io::stdin().is_terminal() {
        return Err(Problem::usage("a document is to be read from standard input, a terminal")
            .next("name a file, or send one with `shared-context export ID | …`"));
    }
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
