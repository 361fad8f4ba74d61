//! The commands `context generate`, `preview`, `stats`, `clear` and `checkpoint`: what a worker gets
//! to know.
//!
//! # Invariant
//!
//! Standard output has the page and nothing else, so that it can be a prompt. What is in it, and what
//! is not, goes to standard error.

mod checkpoint;
mod material;

use std::io::{self, IsTerminal};

use serde_json::{Map, Value, json};

use super::{
    argument::{SessionName, number, switch},
    caller::CallerArgs,
    client::{Bearer, parse},
    output::{Output, note, plain},
    problem::{Kind, Problem},
    reply::{self, PacketRead, PacketWritten},
    server::{Server, ServerArgs},
};

pub(crate) use self::checkpoint::{CheckpointArguments, checkpoint};
use self::material::Material;

/// Generate a packet: the context of a worker for its task
#[derive(Debug, clap::Args)]
#[command(
    allow_missing_positional = true,
    after_help = "\
Examples:
  shared-context context generate 'Add JWT auth' --for subagent:impl
  shared-context context generate ticket-7 'Add JWT auth' --for subagent:impl \\
    --conversation transcript.jsonl --files src/auth.rs src/user.rs
  shared-context context generate ticket-7 'Add JWT auth' --for subagent:impl \\
    --depth deep --budget 1200 --form yaml > packet.yaml
  shared-context context generate ticket-7 'Add JWT auth' --dry-run --json

Standard output has the page and nothing else. Entries that the worker may read
are used, too. Without a credential and without --as the orchestrator calls."
)]
pub(crate) struct GenerateArguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    /// What the worker is to do
    task: String,
    #[command(flatten)]
    address: AddressArg,
    /// How much it tells: minimal, standard or deep [default: that of the session]
    #[arg(long, env = "SHARED_CONTEXT_DEPTH", value_name = "DEPTH")]
    depth: Option<String>,
    /// The most tokens, 50 to 8000 [default: that of the depth]
    #[arg(
        long,
        env = "SHARED_CONTEXT_GENERATE_BUDGET",
        value_name = "N",
        value_parser = number
    )]
    budget: Option<u64>,
    /// The type of the task, for statistics, such as implementation
    #[arg(long = "type", env = "SHARED_CONTEXT_GENERATE_TYPE", value_name = "NAME")]
    task_type: Option<String>,
    #[command(flatten)]
    material: Material,
    /// Keys that the packet may use although its receiver may not read them
    #[arg(long, env = "SHARED_CONTEXT_GENERATE_KEYS", value_name = "KEYS", value_delimiter = ',')]
    keys: Vec<String>,
    /// Store nothing
    #[arg(long, env = "SHARED_CONTEXT_GENERATE_DRY_RUN", value_parser = switch)]
    dry_run: bool,
    #[command(flatten)]
    form: FormArg,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Print the packet of a worker as the worker reads it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context context preview ticket-7 --for subagent:impl
  shared-context context preview ticket-7 --for shared --form json

Reading as the orchestrator does not count as reading by the worker.")]
pub(crate) struct PreviewArguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    #[command(flatten)]
    address: AddressArg,
    /// An earlier version [default: the newest]
    #[arg(long, value_name = "N", value_parser = number)]
    version: Option<u64>,
    #[command(flatten)]
    form: FormArg,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Show statistics of packets: sizes, outcomes, gaps and unused parts
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context context stats ticket-7
  shared-context context stats ticket-7 --type implementation --json

Workers report with the action context_feedback at the end of their task.")]
pub(crate) struct StatsArguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    /// Only tasks of this type
    #[arg(long = "type", env = "SHARED_CONTEXT_STATS_TYPE", value_name = "NAME")]
    task_type: Option<String>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Remove the packet of a worker, with all its versions
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  shared-context context clear ticket-7 --for subagent:impl

Statistics stay.")]
pub(crate) struct ClearArguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    /// Whom it is for
    #[arg(long = "for", value_name = "PARTICIPANT")]
    address: String,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// The option that names a packet.
#[derive(Debug, clap::Args)]
struct AddressArg {
    /// Whom it is for: a participant, a pattern such as 'subagent:impl:*', or
    /// shared, which everyone reads
    #[arg(long = "for", value_name = "PARTICIPANT", default_value = "shared")]
    address: String,
}

/// The option that names a form.
#[derive(Debug, clap::Args)]
struct FormArg {
    /// The form of the page: markdown, yaml or json
    #[arg(long, env = "SHARED_CONTEXT_FORM", value_name = "FORM", default_value = "markdown")]
    form: String,
}

/// Runs `context generate`.
pub(crate) fn generate(arguments: &GenerateArguments, output: Output) -> Result<(), Problem> {
    let server = arguments.server.server()?;
    let request = Value::Object(arguments.request()?).to_string();
    let session = &server.session(&arguments.session).map_err(|problem| match problem.code() {
        // A single argument is the task, also if a session was meant.
        "NO_SESSION" => Problem::new(
            Kind::Usage,
            "NO_SESSION",
            format!("no session is named: {:?} is the task", arguments.task),
        )
        .next(
            "write `shared-context context generate SESSION TASK`, or set SHARED_CONTEXT_SESSION",
        ),
        _ => problem,
    })?;
    let bearer = arguments.caller.orchestrator_bearer(&server, session)?;
    let reply = post(&server, session, &bearer, request)?;
    if output.is_json {
        return output.answer(&reply, || Ok(String::new()));
    }
    let generated: PacketWritten = parse(&reply, &server.client)?;
    page(&generated.page(), output)?;
    note(&generated.summary(output));
    Ok(())
}

/// Runs `context preview`.
pub(crate) fn preview(arguments: &PreviewArguments, output: Output) -> Result<(), Problem> {
    let PreviewArguments { session, address, version, form, caller, server } = arguments;
    let server = server.server()?;
    let session = &server.session(session)?;
    let bearer = caller.orchestrator_bearer(&server, session)?;
    let request = json!({
        "action": "context_read", "address": address.address, "version": version,
        "form": form.form,
    });
    let reply = server.tool(session, &bearer, request.to_string())?;
    if output.is_json {
        return output.answer(&reply, || Ok(String::new()));
    }
    let read: PacketRead = parse(&reply, &server.client)?;
    page(&read.page(), output)?;
    note(&read.summary());
    Ok(())
}

/// Runs `context stats`.
pub(crate) fn stats(arguments: &StatsArguments, output: Output) -> Result<(), Problem> {
    let StatsArguments { session, task_type, caller, server } = arguments;
    let server = server.server()?;
    let session = &server.session(session)?;
    let bearer = caller.orchestrator_bearer(&server, session)?;
    let request = json!({"action": "context_stats", "task_type": task_type}).to_string();
    let reply = server.tool(session, &bearer, request.as_str())?;
    output.answer(&reply, || reply::human(request.as_bytes(), &reply, output))
}

/// Runs `context clear`.
pub(crate) fn clear(arguments: &ClearArguments, output: Output) -> Result<(), Problem> {
    let ClearArguments { session, address, caller, server } = arguments;
    let server = server.server()?;
    let session = &server.session(session)?;
    let bearer = caller.orchestrator_bearer(&server, session)?;
    let request = json!({"action": "context_clear", "address": address}).to_string();
    let reply = server.tool(session, &bearer, request.as_str())?;
    output.answer(&reply, || reply::human(request.as_bytes(), &reply, output))
}

/// Sends a request for a packet. The route of the JSON tool takes less than the texts of many files.
fn post(
    server: &Server,
    session: &str,
    bearer: &Bearer,
    request: String,
) -> Result<Vec<u8>, Problem> {
    let path = ["v1", "sessions", session, "packets"];
    let sent = server.send(&server.client.post(&path, request), Some(bearer));
    sent.map_err(|it| it.with_options(&[("max_tokens", "--budget")]))
}

/// Prints a page byte for byte, or safely on a terminal.
fn page(text: &str, output: Output) -> Result<(), Problem> {
    if io::stdout().is_terminal() { output.text(&plain(text)) } else { Output::raw(text) }
}

impl GenerateArguments {
    /// Returns the request for the packet.
    fn request(&self) -> Result<Map<String, Value>, Problem> {
        let text = |it: &Option<String>| it.clone().map(Value::from);
        let members = [
            ("task", Some(self.task.clone().into())),
            ("address", Some(self.address.address.clone().into())),
            ("task_type", text(&self.task_type)),
            ("depth", text(&self.depth)),
            ("max_tokens", self.budget.map(Value::from)),
            ("form", Some(self.form.form.clone().into())),
            ("keys", (!self.keys.is_empty()).then(|| json!(self.keys))),
            ("preview", self.dry_run.then_some(Value::Bool(true))),
        ];
        let members = members.into_iter();
        let mut request: Map<String, Value> =
            members.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        request.extend(self.material.members()?);
        Ok(request)
    }
}
