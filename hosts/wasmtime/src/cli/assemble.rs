//! The command `assemble`: what an agent is shown for a task.
//!
//! # Invariant
//!
//! Standard output has the text and nothing else, so that it can be a prompt. The table of
//! what is in it goes to standard error.

use std::{
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde_json::{Map, Value, error::Category, json};
use shared_context_core::time::Timestamp;

use super::{
    argument::{SessionName, number, switch},
    caller::CallerArgs,
    client::parse,
    file,
    output::{Output, note},
    problem::Problem,
    reply::AssembledReply,
    server::ServerArgs,
};

/// Assemble what an agent is shown for a task, within a budget
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context assemble ticket-7 --task 'Which limit holds?' --entries '*'
  shared-context assemble ticket-7 --task-file task.md --file src/*.rs \\
    --budget 20000 --as subagent:review --keep > prompt.md
  shared-context assemble ticket-7 --task 'Go on.' --entries '*' \\
    --items messages.json --previous ENV-1 --as subagent:review --keep
  echo '[{\"id\":\"rules\",\"kind\":\"policy_note\",\"text\":\"Be brief.\"}]' |
    shared-context assemble ticket-7 --task 'Sum up.' --items -

Standard output has the text and nothing else. A table on standard error says
what is in the text, and why the rest is not. With --keep, `evidence` shows
later what the agent saw.")]
pub(crate) struct Arguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    /// The task or question
    #[arg(
        long,
        env = "SHARED_CONTEXT_ASSEMBLE_TASK",
        value_name = "TEXT",
        conflicts_with = "task_file"
    )]
    task: Option<String>,
    /// A file with the task; - for standard input
    #[arg(long, env = "SHARED_CONTEXT_ASSEMBLE_TASK_FILE", value_name = "FILE")]
    task_file: Option<PathBuf>,
    /// Entries that may be shown: a pattern of keys such as '*' or 'inv_*'
    #[arg(long, env = "SHARED_CONTEXT_ASSEMBLE_ENTRIES", value_name = "PATTERN")]
    entries: Option<String>,
    /// The state of the last closed round may be shown, too
    #[arg(long, env = "SHARED_CONTEXT_ASSEMBLE_ROUND_STATE", value_parser = switch)]
    round_state: bool,
    /// A file with a JSON list of items that may be shown; - for standard input
    #[arg(long, env = "SHARED_CONTEXT_ASSEMBLE_ITEMS", value_name = "FILE")]
    items: Option<PathBuf>,
    /// Files that may be shown; their ids are the paths as given
    #[arg(long, value_name = "PATH", num_args = 1..)]
    file: Vec<PathBuf>,
    /// The most tokens [default: 50000]
    #[arg(
        long,
        env = "SHARED_CONTEXT_ASSEMBLE_BUDGET",
        value_name = "N",
        value_parser = number
    )]
    budget: Option<u64>,
    /// The tokens of the budget that stay free [default: 0]
    #[arg(
        long,
        env = "SHARED_CONTEXT_ASSEMBLE_RESERVE",
        value_name = "N",
        value_parser = number
    )]
    reserve: Option<u64>,
    /// markdown, text or `relevant_context` [default: markdown]
    #[arg(long, env = "SHARED_CONTEXT_ASSEMBLE_FORMAT", value_name = "NAME")]
    format: Option<String>,
    /// The order in which items are taken: both, score or relevance [default: both]
    #[arg(long, env = "SHARED_CONTEXT_ASSEMBLE_RANK_BY", value_name = "NAME")]
    rank_by: Option<String>,
    /// The least relevance, 0 to 1 [default: one word in common with the task]
    #[arg(
        long,
        env = "SHARED_CONTEXT_ASSEMBLE_RELEVANCE_MIN",
        value_name = "SHARE",
        value_parser = share
    )]
    relevance_min: Option<f64>,
    /// An item that is always shown; repeat it for more
    #[arg(long, env = "SHARED_CONTEXT_ASSEMBLE_PIN", value_name = "ID")]
    pin: Vec<String>,
    /// An item that is no longer needed; repeat it for more
    #[arg(long, env = "SHARED_CONTEXT_ASSEMBLE_PRUNE", value_name = "ID")]
    prune: Vec<String>,
    /// The envelope of the assembly before, such as ENV-1: what it had keeps its place
    #[arg(long, env = "SHARED_CONTEXT_ASSEMBLE_PREVIOUS", value_name = "ENV-N")]
    previous: Option<String>,
    /// Keep the envelope, so that it can be read later
    #[arg(long, env = "SHARED_CONTEXT_ASSEMBLE_KEEP", value_parser = switch)]
    keep: bool,
    /// The viewer of the text [default: model]
    #[arg(long, env = "SHARED_CONTEXT_ASSEMBLE_TARGET", value_name = "NAME")]
    target: Option<String>,
    /// Where the text is shown [default: `message_history`]
    #[arg(long, env = "SHARED_CONTEXT_ASSEMBLE_PLACE", value_name = "NAME")]
    place: Option<String>,
    /// What the text is for [default: task]
    #[arg(long, env = "SHARED_CONTEXT_ASSEMBLE_PURPOSE", value_name = "NAME")]
    purpose: Option<String>,
    /// The tokens of the window that the text goes into [default: 200000]
    #[arg(
        long,
        env = "SHARED_CONTEXT_ASSEMBLE_WINDOW",
        value_name = "N",
        value_parser = number
    )]
    window: Option<u64>,
    /// The tokens of that window that are used [default: 0]
    #[arg(
        long,
        env = "SHARED_CONTEXT_ASSEMBLE_USED",
        value_name = "N",
        value_parser = number
    )]
    used: Option<u64>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// The options for members that messages name.
const OPTIONS: [(&str, &str); 4] = [
    ("budget.tokens", "--budget"),
    ("budget.reserved", "--reserve"),
    ("window_tokens", "--window"),
    ("used_tokens", "--used"),
];

/// Parses a share.
fn share(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "write a number from 0 to 1, such as 0.2".to_owned())
}

/// Runs `assemble`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let server = arguments.server.server()?;
    let request = Value::Object(arguments.request()?).to_string();
    let session = &server.session(&arguments.session)?;
    let bearer = if arguments.keep {
        arguments.caller.participant_bearer(&server, session)?
    } else {
        arguments.caller.bearer(&server, session)?
    };
    // The route of the JSON tool takes less than the texts of many files.
    let path = ["v1", "sessions", session, "context", "assemble"];
    let sent = server.send(&server.client.post(&path, request), Some(&bearer));
    let reply = sent.map_err(|it| it.with_options(&OPTIONS))?;
    if output.is_json {
        return output.answer(&reply, || Ok(String::new()));
    }
    let assembled: AssembledReply = parse(&reply, &server.client)?;
    output.exact_text(&assembled.text)?;
    note(&assembled.summary(output));
    Ok(())
}

impl Arguments {
    /// Returns the request for the assembly.
    fn request(&self) -> Result<Map<String, Value>, Problem> {
        file::check_standard_input(self.task_file.iter().chain(&self.items).chain(&self.file))?;
        let of_file = self.task_file.as_deref().map(|it| file::read(it, "the task")).transpose()?;
        let members = |members: &[(&str, Option<u64>)]| {
            let members =
                members.iter().filter_map(|(name, it)| Some(((*name).to_owned(), (*it)?)));
            let members: Map<String, Value> = members.map(|(name, it)| (name, it.into())).collect();
            (!members.is_empty()).then_some(Value::Object(members))
        };
        let list = |it: &[String]| (!it.is_empty()).then(|| json!(it));
        let text = |it: &Option<String>| it.clone().map(Value::from);
        let members = [
            ("task", self.task.clone().or(of_file).map(Value::from)),
            ("items", Some(self.items()?).filter(|it| !it.is_empty()).map(Value::Array)),
            ("entries", text(&self.entries)),
            ("round_state", self.round_state.then_some(Value::Bool(true))),
            ("pinned", list(&self.pin)),
            ("pruned", list(&self.prune)),
            ("budget", members(&[("tokens", self.budget), ("reserved", self.reserve)])),
            ("window", members(&[("window_tokens", self.window), ("used_tokens", self.used)])),
            ("target", text(&self.target)),
            ("place", text(&self.place)),
            ("purpose", text(&self.purpose)),
            ("rank_by", text(&self.rank_by)),
            ("relevance_min", self.relevance_min.map(|it| json!(it))),
            ("format", text(&self.format)),
            ("previous", text(&self.previous)),
            ("keep", self.keep.then_some(Value::Bool(true))),
        ];
        let members = members.into_iter();
        Ok(members.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
    }

    /// Returns the items of `--items`, then one for each file.
    fn items(&self) -> Result<Vec<Value>, Problem> {
        let mut items = match &self.items {
            Some(path) => listed(path)?,
            None => Vec::new(),
        };
        for path in &self.file {
            items.push(excerpt(path)?);
        }
        Ok(items)
    }
}

/// Reads the JSON list of items in the file at `path`.
fn listed(path: &Path) -> Result<Vec<Value>, Problem> {
    let text = file::read(path, "the items")?;
    serde_json::from_str(&text).map_err(|error| {
        let (name, line) = (file::name(path), error.line());
        let message = match error.classify() {
            Category::Data => format!("{name} is not a JSON list of items"),
            Category::Eof => {
                format!("the items in {name} are not JSON: they end too early, in line {line}")
            }
            Category::Syntax | Category::Io => {
                let column = error.column();
                format!("the items in {name} are not JSON: see line {line}, at character {column}")
            }
        };
        Problem::usage(message).next(
            r#"write them like [{"id": "rules", "kind": "policy_note", "text": "Be brief."}]"#,
        )
    })
}

/// Returns the file at `path` as an item. Its time is that of its last modification, if the
/// system knows it.
fn excerpt(path: &Path) -> Result<Value, Problem> {
    let text = file::read(path, "a file")?;
    let modified = path.metadata().and_then(|it| it.modified()).ok();
    let since = modified.and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    let at = since.and_then(|it| u64::try_from(it.as_millis()).ok());
    let id = path.to_string_lossy();
    let mut item = json!({"id": id, "kind": "file_excerpt", "text": text});
    if let (Some(at), Some(members)) = (at, item.as_object_mut()) {
        members.insert("at".to_owned(), Timestamp(at).to_string().into());
    }
    Ok(item)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn request(arguments: &[&str]) -> Result<Value, Problem> {
        let arguments = ["assemble", "s"].iter().chain(arguments);
        let command = Command::try_parse_from(arguments).unwrap();
        command.arguments.request().map(Value::Object)
    }

    #[test]
    fn options_become_the_members_of_the_action() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (notes, items) = (path("notes.md"), path("items.json"));
        std::fs::write(&notes, "Five.").unwrap();
        std::fs::write(&items, r#"[{"id":"rules","kind":"policy_note","text":"Be brief."}]"#)
            .unwrap();
        let mut request = request(&[
            "--task",
            "Go.",
            "--entries",
            "*",
            "--file",
            &notes,
            "--items",
            &items,
            "--budget",
            "900",
            "--pin",
            "rules",
            "--keep",
        ])
        .unwrap();
        let at = request["items"][1].as_object_mut().unwrap().remove("at").unwrap();
        assert!(at.as_str().unwrap().ends_with('Z'), "{at}");
        assert_eq!(
            request,
            json!({
                "task": "Go.", "entries": "*", "budget": {"tokens": 900}, "pinned": ["rules"],
                "keep": true, "items": [
                    {"id": "rules", "kind": "policy_note", "text": "Be brief."},
                    {"id": notes, "kind": "file_excerpt", "text": "Five."},
                ],
            })
        );
    }

    #[test]
    fn invalid_items_are_reported_with_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("items.json");
        for (text, part) in
            [("{}", "is not a JSON list"), ("[\n{", "in line 2"), ("[\nx]", "line 2, at character")]
        {
            std::fs::write(&path, text).unwrap();
            let problem = request(&["--items", path.to_str().unwrap()]).unwrap_err();
            assert!(problem.message().contains(part), "{}", problem.message());
        }
        let problem = request(&["--items", "-", "--task-file", "-"]).unwrap_err();
        assert!(problem.message().contains("standard input"), "{}", problem.message());
    }
}
