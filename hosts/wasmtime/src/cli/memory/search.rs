//! The command `memory search`.

use serde_json::{Value, json};

use super::{
    super::{
        argument::{number, switch},
        caller::ProjectCallerArgs,
        client::parse,
        output::{Output, remark},
        problem::Problem,
        reply::{FoundMemories, Human},
        server::Server,
    },
    write::present,
};

/// Find memories, without their content
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context memory search webshop 'connection pool size'
  shared-context memory search webshop --type issue --status open
  shared-context memory search webshop --tag storage --importance-gte 8
  shared-context memory search webshop --after 2026-03-01T00:00:00Z --archived
  shared-context memory search webshop --json | jq -r '.memories[].memory_id'

With a query the best match comes first, otherwise the newest memory.
`memory show` prints the content.")]
pub(super) struct Arguments {
    /// The project
    project: String,
    /// What is looked for, in a few words
    query: Option<String>,
    /// Only decision, issue, state, learning or handoff
    #[arg(long = "type", env = "SHARED_CONTEXT_SEARCH_TYPE", value_name = "TYPE")]
    memory_type: Option<String>,
    /// Only with all of these tags
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    tag: Vec<String>,
    /// Only of this importance or a higher one
    #[arg(
        long,
        env = "SHARED_CONTEXT_SEARCH_IMPORTANCE_GTE",
        value_name = "N",
        value_parser = number
    )]
    importance_gte: Option<u64>,
    /// Only what happened after, in RFC 3339
    #[arg(long, env = "SHARED_CONTEXT_SEARCH_AFTER", value_name = "TIME")]
    after: Option<String>,
    /// Only what happened before, in RFC 3339
    #[arg(long, env = "SHARED_CONTEXT_SEARCH_BEFORE", value_name = "TIME")]
    before: Option<String>,
    /// Only issues that are open, or resolved
    #[arg(long, env = "SHARED_CONTEXT_SEARCH_STATUS", value_name = "STATUS")]
    status: Option<String>,
    /// Archived memories, in place of the others
    #[arg(long, env = "SHARED_CONTEXT_SEARCH_ARCHIVED", value_parser = switch)]
    archived: bool,
    /// Only what was added in this session
    #[arg(long, env = "SHARED_CONTEXT_SEARCH_SESSION", value_name = "ID")]
    session: Option<String>,
    /// Only what this participant added
    #[arg(long, env = "SHARED_CONTEXT_SEARCH_AGENT", value_name = "PARTICIPANT")]
    agent: Option<String>,
    /// By relevance, importance, timestamp, severity or access
    #[arg(long, env = "SHARED_CONTEXT_SEARCH_SORT", value_name = "BY")]
    sort: Option<String>,
    /// At most this many, up to 100 [default: 10]
    #[arg(long, env = "SHARED_CONTEXT_LIMIT", value_name = "N", value_parser = number)]
    limit: Option<u64>,
    /// The cursor of the next page, which the page before printed
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    caller: ProjectCallerArgs,
}

/// Runs `memory search`.
pub(super) fn run(arguments: &Arguments, server: &Server, output: Output) -> Result<(), Problem> {
    let Arguments { project, caller, .. } = arguments;
    let path = ["v1", "projects", project, "memories", "search"];
    let call = server.client.post(&path, arguments.request());
    let reply = server.send(&call, Some(&caller.bearer(server)?))?;
    output.answer(&reply, || {
        let page: FoundMemories = parse(&reply, &server.client)?;
        if let Some(next) = &page.next_cursor {
            remark(&format!("there are more: --cursor {next}"));
        }
        Ok(page.human(output))
    })
}

impl Arguments {
    fn request(&self) -> String {
        let text = |it: &Option<String>| it.clone().map(Value::from);
        let request = present([
            ("query", text(&self.query)),
            ("memory_type", text(&self.memory_type)),
            ("tags", (!self.tag.is_empty()).then(|| json!(self.tag))),
            ("importance_gte", self.importance_gte.map(Value::from)),
            ("timestamp_after", text(&self.after)),
            ("timestamp_before", text(&self.before)),
            ("status", text(&self.status)),
            ("is_archived", self.archived.then_some(Value::Bool(true))),
            ("session_id", text(&self.session)),
            ("agent_id", text(&self.agent)),
            ("sort_by", text(&self.sort)),
            ("limit", self.limit.map(Value::from)),
            ("cursor", text(&self.cursor)),
        ]);
        Value::Object(request).to_string()
    }
}
