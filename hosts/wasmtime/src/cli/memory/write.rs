//! The commands `memory add` and `memory update`.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use shared_context_core::memories::Kind;

use super::{
    super::{
        answer::answer_as,
        argument::number,
        caller::ProjectCallerArgs,
        file,
        output::Output,
        problem::Problem,
        reply::{AddedMemories, UpdatedMemory},
        server::Server,
    },
    answer,
    content::ContentArgs,
};

/// What is written to `--expires` for a memory that does not expire.
const NEVER: &str = "never";

/// Add a memory, or those in a file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context memory add webshop --type decision --title 'PostgreSQL' \\
    --set decision='Orders are in PostgreSQL.' --set rationale='Transactions.' \\
    --set alternatives_considered=SQLite --tag storage --importance 8
  shared-context memory add webshop --type issue --title 'Slow checkout' \\
    --set description='The pool is exhausted.' --set severity=high
  shared-context memory add webshop --type learning --title 'Retries' \\
    --content '{\"lesson\":\"Retry with backoff.\"}'
  shared-context memory add webshop --file memories.json

The members of the content; [] marks lists, * what is needed:
  decision  decision*, rationale, alternatives_considered[], expected_impact,
            validation_criteria, context
  issue     description*, severity* (low, medium, high, critical),
            reproduction_steps, investigation_status, attempted_fixes[],
            next_actions
  state     task_description*, completion_percentage* (0 to 100),
            substeps_completed[], substeps_remaining[], blockers[],
            next_actions[]
  learning  lesson*, context, applicability, evidence
  handoff   summary*, from_agent, to_agent, work_products[], next_actions[],
            notes

A memory with the same words as an existing one is not added again. With --file
all memories are added, or none.")]
pub(super) struct AddArguments {
    /// The project
    project: String,
    /// decision, issue, state, learning or handoff
    #[arg(
        long = "type",
        env = "SHARED_CONTEXT_ADD_TYPE",
        value_name = "TYPE",
        required_unless_present = "file"
    )]
    memory_type: Option<String>,
    /// What it is, in one line of up to 100 characters
    #[arg(long, value_name = "TEXT", required_unless_present = "file")]
    title: Option<String>,
    #[command(flatten)]
    content: ContentArgs,
    /// Words to find it by, up to 16
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    tag: Vec<String>,
    /// 1 to 10 [default: 5]; from 8 on it is kept for ever
    #[arg(long, value_name = "N", value_parser = number)]
    importance: Option<u64>,
    /// Of an issue: open, or resolved [default: open]
    #[arg(long, env = "SHARED_CONTEXT_ADD_STATUS", value_name = "STATUS")]
    status: Option<String>,
    /// When it ends, in RFC 3339
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    /// The memories that it replaces
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    supersedes: Vec<String>,
    /// Instead of all these: a file with a request, {"memories": […]}, or with
    /// the list; - for standard input
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["title", "set", "content", "tag", "importance", "expires", "supersedes"]
    )]
    file: Option<PathBuf>,
    #[command(flatten)]
    caller: ProjectCallerArgs,
}

/// Change a memory; omitted members stay
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context memory update webshop DEC-2026-03-02-001 --importance 9
  shared-context memory update webshop \\
    e2f1c0aa-51d4-8c1e-9a3b-000000000007 --status resolved
  shared-context memory update webshop DEC-2026-03-02-001 \\
    --set rationale='It is there already.' --unset context --if-version 2")]
pub(super) struct UpdateArguments {
    /// The project
    project: String,
    /// The id of the memory; of a decision also such as DEC-2026-03-02-001
    #[arg(value_name = "ID")]
    memory: String,
    /// Only if the memory has this version
    #[arg(long, value_name = "N", value_parser = number)]
    if_version: Option<u64>,
    /// What it is, in one line of up to 100 characters
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    content: ContentArgs,
    /// A member of the content to remove
    #[arg(long, value_name = "MEMBER", value_delimiter = ',')]
    unset: Vec<String>,
    /// All its tags from now on; '' for none
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    tag: Option<Vec<String>>,
    /// 1 to 10; from 8 on it is kept for ever
    #[arg(long, value_name = "N", value_parser = number)]
    importance: Option<u64>,
    /// Of an issue: open or resolved
    #[arg(long, env = "SHARED_CONTEXT_UPDATE_STATUS", value_name = "STATUS")]
    status: Option<String>,
    /// When it ends, in RFC 3339, or never
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    #[command(flatten)]
    caller: ProjectCallerArgs,
}

/// Runs `memory add`.
pub(super) fn add(
    arguments: &AddArguments,
    server: &Server,
    output: Output,
) -> Result<(), Problem> {
    let AddArguments { project, caller, .. } = arguments;
    let request = arguments.request()?;
    let call = server.client.post(&["v1", "projects", project, "memories"], request);
    answer::<AddedMemories>(server, &call, caller, output)
}

/// Runs `memory update`.
pub(super) fn update(
    arguments: &UpdateArguments,
    server: &Server,
    output: Output,
) -> Result<(), Problem> {
    let UpdateArguments { project, memory, caller, .. } = arguments;
    let request = Value::Object(arguments.request()?).to_string();
    let call = server.client.patch(&["v1", "projects", project, "memories", memory], request);
    let bearer = caller.bearer(server)?;
    answer_as(server, &call, &bearer, output, |it| UpdatedMemory::name(it, memory))
}

impl AddArguments {
    fn request(&self) -> Result<String, Problem> {
        if let Some(path) = &self.file {
            let text = file::read(path, "the memories")?;
            let is_list = text.trim_start().starts_with('[');
            return Ok(if is_list { format!(r#"{{"memories":{text}}}"#) } else { text });
        }
        // The server says which types there are.
        let kind = self.memory_type.as_deref().and_then(|it| Kind::parse(it).ok());
        let content = self.content.content(kind)?.unwrap_or_default();
        let list = |it: &Vec<String>| (!it.is_empty()).then(|| json!(it));
        let memory = present([
            ("memory_type", self.memory_type.clone().map(Value::from)),
            ("title", self.title.clone().map(Value::from)),
            ("content", Some(content.into())),
            ("tags", list(&self.tag)),
            ("importance", self.importance.map(Value::from)),
            ("status", self.status.clone().map(Value::from)),
            ("expires_at", self.expires.clone().map(Value::from)),
            ("supersedes", list(&self.supersedes)),
        ]);
        Ok(json!({"memories": [memory]}).to_string())
    }
}

impl UpdateArguments {
    fn request(&self) -> Result<Map<String, Value>, Problem> {
        let mut content = self.content.content(None)?.unwrap_or_default();
        content.extend(self.unset.iter().map(|it| (it.clone(), Value::Null)));
        let tags = self.tag.as_ref().map(|all| all.iter().filter(|it| !it.is_empty()).collect());
        let is_never = self.expires.as_deref() == Some(NEVER);
        Ok(present([
            ("if_version", self.if_version.map(Value::from)),
            ("title", self.title.clone().map(Value::from)),
            ("content", (!content.is_empty()).then(|| content.into())),
            ("tags", tags.map(|it: Vec<&String>| json!(it))),
            ("importance", self.importance.map(Value::from)),
            ("status", self.status.clone().map(Value::from)),
            ("expires_at", self.expires.clone().filter(|_| !is_never).map(Value::from)),
            ("keeps_forever", is_never.then_some(Value::Bool(true))),
        ]))
    }
}

/// Returns the members that have a value.
pub(in super::super) fn present<const N: usize>(
    members: [(&str, Option<Value>); N],
) -> Map<String, Value> {
    let members = members.into_iter();
    members.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
