//! The command `outline put`.

use std::{
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde_json::{Map, Value, json};
use shared_context_core::{digest::sha256, time::Timestamp};

use super::{
    super::{
        answer::answer,
        argument::{number, text},
        caller::ProjectCallerArgs,
        file,
        output::Output,
        problem::Problem,
        reply::WrittenSection,
        server::Server,
    },
    present, section,
};

/// Write a section, or its next version; omitted members stay
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context outline put webshop 1.0 --title 'Web shop' --file summary.md \\
    --shortcut 'Open issues=2.3' --as orchestrator --in ticket-7
  shared-context outline put webshop 2.1 --status 'IN PROGRESS' --progress 60 \\
    --change progress_update --as orchestrator --in ticket-7
  shared-context outline put webshop 3.1 'One charge an order.' --title Pay \\
    --reader 'subagent:impl*' --as subagent:plan --in ticket-7
  shared-context outline put webshop 4.src.pay --title Payment \\
    --reference src/pay.rs --purpose 'Charges cards' \\
    --as subagent:impl --in ticket-7
  shared-context outline put webshop 3.1 'PRUNE: paid in 2027' \\
    --as subagent:impl --in ticket-7

A new section needs a title, and a content or a reference. Links are markers in
the text, such as §3.1. --change is code_change, bug_fix, config_change,
new_feature, progress_update or decision_made: with it the reply names other
sections to change.")]
pub(super) struct Arguments {
    /// The project
    project: String,
    /// The marker of the section
    marker: String,
    /// The content, or - for standard input
    #[arg(allow_hyphen_values = true, value_parser = text)]
    content: Option<String>,
    /// Read the content from this file
    #[arg(long, value_name = "FILE", conflicts_with = "content")]
    file: Option<PathBuf>,
    /// What it is, in one line of up to 100 characters
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Its description in the index, in one line of up to 200 characters
    #[arg(long, env = "SHARED_CONTEXT_PUT_SUMMARY", value_name = "TEXT")]
    summary: Option<String>,
    /// Its tag in the index, such as DONE; '' removes it
    #[arg(long, env = "SHARED_CONTEXT_PUT_STATUS", value_name = "STATUS")]
    status: Option<String>,
    /// How much of it is done, 0 to 100 percent
    #[arg(long, value_name = "N", value_parser = number)]
    progress: Option<u64>,
    /// At level 1: where to find what, as in 'Open issues=2.3' or, with the name of
    /// the place, 'Open issues=2.3 Payment'; may be repeated
    #[arg(long, value_name = "NEED=MARKER", value_parser = shortcut)]
    shortcut: Vec<Shortcut>,
    /// At level 4: the file that it refers to; size, time and digest are read here
    #[arg(long, value_name = "FILE", requires = "purpose")]
    reference: Option<PathBuf>,
    /// With --reference: what the file is for, in one line
    #[arg(long, env = "SHARED_CONTEXT_PUT_PURPOSE", value_name = "TEXT", requires = "reference")]
    purpose: Option<String>,
    /// At levels 3 and 4: who else may read it, as patterns; '' for nobody
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    reader: Option<Vec<String>>,
    /// The kind of the change, so that the reply names other sections to update
    #[arg(long, value_name = "KIND")]
    change: Option<String>,
    /// Only if the section has this version; 0 if it must not exist
    #[arg(long, value_name = "N", value_parser = number)]
    if_version: Option<u64>,
    #[command(flatten)]
    caller: ProjectCallerArgs,
}

/// A shortcut of the index: what is needed, where it is, and the name of the place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shortcut {
    need: String,
    marker: String,
    label: Option<String>,
}

/// Parses a shortcut.
fn shortcut(text: &str) -> Result<Shortcut, String> {
    let (need, place) = text.rsplit_once('=').unwrap_or_default();
    let (marker, label) = place.split_once(' ').map_or((place, None), |(it, label)| {
        (it, Some(label.trim().to_owned()).filter(|it| !it.is_empty()))
    });
    if need.is_empty() || marker.is_empty() {
        return Err("write what is needed and a marker, such as 'Open issues=2.3'".to_owned());
    }
    Ok(Shortcut { need: need.to_owned(), marker: marker.to_owned(), label })
}

/// Runs `outline put`.
pub(super) fn run(arguments: &Arguments, server: &Server, output: Output) -> Result<(), Problem> {
    let Arguments { project, marker, caller, .. } = arguments;
    let request = Value::Object(arguments.request()?).to_string();
    let bearer = caller.participant_bearer(server)?;
    let call = server.client.put(&section(project, marker), Some(request.into()));
    answer::<WrittenSection>(server, &call, &bearer, output)
}

impl Arguments {
    fn request(&self) -> Result<Map<String, Value>, Problem> {
        let text = |it: &Option<String>| it.clone().map(Value::from);
        let shortcuts: Vec<Value> = self
            .shortcut
            .iter()
            .map(|Shortcut { need, marker, label }| {
                present([
                    ("need", Some(json!(need))),
                    ("marker", Some(json!(marker))),
                    ("label", text(label)),
                ])
                .into()
            })
            .collect();
        let readers =
            self.reader.as_ref().map(|all| all.iter().filter(|it| !it.is_empty()).collect());
        Ok(present([
            ("title", text(&self.title)),
            ("content", self.content()?.map(Value::from)),
            ("summary", text(&self.summary)),
            ("status", text(&self.status)),
            ("progress", self.progress.map(Value::from)),
            ("shortcuts", (!shortcuts.is_empty()).then(|| shortcuts.into())),
            ("file", self.reference.as_deref().map(|it| self.reference(it)).transpose()?),
            ("readers", readers.map(|it: Vec<&String>| json!(it))),
            ("change", text(&self.change)),
            ("if_version", self.if_version.map(Value::from)),
        ]))
    }

    /// Returns the content from the argument, the file or standard input.
    fn content(&self) -> Result<Option<String>, Problem> {
        let path = match (&self.content, &self.file) {
            (Some(content), _) if content != "-" => return Ok(Some(content.clone())),
            (Some(_), _) => Path::new("-"),
            (None, Some(path)) => path,
            (None, None) => return Ok(None),
        };
        file::read(path, "the content").map(Some)
    }

    /// Returns what the section says of a file.
    fn reference(&self, path: &Path) -> Result<Value, Problem> {
        let unread = |error| {
            Problem::usage(format!("cannot read the file {}: {error}", path.display()))
                .next("name a file that is there, relative to this folder")
        };
        let bytes = fs::read(path).map_err(unread)?;
        let modified = fs::metadata(path).and_then(|it| it.modified()).ok();
        let modified = modified.and_then(|it| it.duration_since(UNIX_EPOCH).ok());
        let modified = modified.and_then(|it| u64::try_from(it.as_millis()).ok());
        Ok(present([
            ("path", Some(json!(path.display().to_string()))),
            ("size", Some(json!(bytes.len()))),
            ("purpose", self.purpose.clone().map(Value::from)),
            ("modified_at", modified.map(|it| Timestamp(it).to_string().into())),
            ("digest", Some(sha256(&bytes).into())),
        ])
        .into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortcut_names_a_need_a_place_and_maybe_its_name() {
        let parsed = |text: &str| {
            let it = shortcut(text).unwrap();
            (it.need, it.marker, it.label)
        };
        let (need, marker) = ("Open issues".to_owned(), "2.3".to_owned());
        assert_eq!(parsed("Open issues=2.3"), (need.clone(), marker.clone(), None));
        let label = Some("In payment".to_owned());
        assert_eq!(parsed("Open issues=2.3 In payment"), (need, marker, label));
        for text in ["", "2.3", "=2.3", "Open issues="] {
            assert!(shortcut(text).is_err(), "{text}");
        }
    }
}
