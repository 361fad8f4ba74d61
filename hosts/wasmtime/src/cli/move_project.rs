//! `project export` and `project import`: a project as a file of documents, one a line.
//!
//! # Invariant
//!
//! A file is written whole or not at all.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::json;

use super::{
    client::{Bearer, parse},
    file,
    output::{BOLD, GREEN, Output, counted, remark},
    portable::write_file,
    problem::Problem,
    reply::{Human, Project},
    server::Server,
};

/// Write a project to a file of documents, one a line
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context project export webshop > webshop.jsonl
  shared-context project export webshop --output webshop.jsonl

Most projects have one document. It holds the memories with their versions,
links and uses, each with its digest; no credentials and no changes.")]
pub(crate) struct ExportArguments {
    /// The project
    project: String,
    /// Write to this file; - is standard output [default: standard output]
    #[arg(long, short, env = "SHARED_CONTEXT_OUTPUT", value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Create a project from a file that `project export` wrote
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context project import webshop webshop.jsonl
  shared-context project export webshop | shared-context project import copy -

An altered document is rejected, and the error names the altered part. The
project is read-only until its last document was imported. An import that was
interrupted goes on where it was when the command is repeated.")]
pub(crate) struct ImportArguments {
    /// The id of the new project
    project: String,
    /// The file, or - for standard input
    file: PathBuf,
}

/// The member that leads to the next document.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    next: Option<u64>,
}

/// Runs `project export`.
pub(crate) fn export(
    server: &Server,
    arguments: &ExportArguments,
    output: Output,
) -> Result<(), Problem> {
    let ExportArguments { project, output: path } = arguments;
    let admin = server.admin()?;
    let (mut documents, mut after) = (Vec::new(), None);
    loop {
        let query: Vec<_> = after.iter().map(|it: &u64| ("after", it.to_string())).collect();
        let call = server.client.get(&["v1", "projects", project, "export"], &query);
        let document = server.send(&call, Some(&admin))?;
        let page: Page = parse(&document, &server.client)?;
        if after.is_some() {
            documents.push(b'\n');
        }
        documents.extend_from_slice(&document);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let Some(path) = path.as_deref().filter(|it| !file::is_standard(it)) else {
        return Output::exact(&documents);
    };
    let bytes = write_file(path, &documents)?;
    let done = json!({"project_id": project, "file": path, "bytes": bytes});
    output.answer(done.to_string().as_bytes(), || {
        Ok(format!(
            "{GREEN}✓{GREEN:#} {BOLD}{project}{BOLD:#} exported to {}, {}\n",
            path.display(),
            counted(bytes, "byte")
        ))
    })
}

/// Returns how many of `documents` an earlier import of the project, which was interrupted, has
/// imported.
fn imported(
    server: &Server,
    project: &str,
    documents: &[&str],
    admin: &Bearer,
) -> Result<usize, Problem> {
    let call = server.client.get(&["v1", "projects", project], &[]);
    let shown = match server.send(&call, Some(admin)) {
        Ok(shown) => shown,
        Err(problem) if problem.code() == "PROJECT_NOT_FOUND" => return Ok(0),
        Err(problem) => return Err(problem),
    };
    let shown: Project = parse(&shown, &server.client)?;
    let Some(after) = shown.import_after else { return Ok(0) };
    // A document that is no JSON is rejected by the server.
    let next = |it: &&str| serde_json::from_str::<Page>(it).ok()?.next;
    let place = documents.iter().position(|it| next(it) == Some(after));
    if let Some(place) = place {
        remark(&format!("goes on after document {}: those before are imported", place + 1));
    }
    Ok(place.map_or(0, |it| it + 1))
}

/// Runs `project import`.
pub(crate) fn import(
    server: &Server,
    arguments: &ImportArguments,
    output: Output,
) -> Result<(), Problem> {
    let ImportArguments { project, file } = arguments;
    let admin = server.admin()?;
    let documents = file::read(file, "the documents")?;
    let mut last = None;
    let documents: Vec<&str> = documents.lines().filter(|it| !it.trim().is_empty()).collect();
    let done = imported(server, project, &documents, &admin)?;
    for document in documents.into_iter().skip(done) {
        let path = ["v1", "projects", project, "import"];
        let call = server.client.post(&path, document.to_owned());
        last = Some(server.send(&call, Some(&admin))?);
    }
    let Some(reply) = last else {
        return Err(Problem::usage("the file has no document")
            .next("name a file that `shared-context project export` wrote"));
    };
    output.answer(&reply, || {
        let made: Project = parse(&reply, &server.client)?;
        Ok(format!("{GREEN}✓{GREEN:#} imported {}", made.human(output)))
    })
}
