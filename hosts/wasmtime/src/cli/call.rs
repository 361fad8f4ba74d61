//! The commands for participants: `call`, `token` and `prompt`.
//!
//! # Invariant
//!
//! `token` prints only the credential on standard output, so that it can be assigned to a
//! variable. `prompt` and `context` in a pipe print their text byte for byte.

use std::{
    io::{self, IsTerminal},
    path::Path,
};

use serde::Deserialize;

use super::{
    argument::{SessionName, number, seconds},
    caller::{Caller, CallerArgs, mint},
    client::parse,
    compact, file,
    output::{Output, remark},
    packets,
    problem::Problem,
    reply::{self, IssuedCredential, PromptReply},
    server::{Server, ServerArgs},
};

/// Mint a participant's credential
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context token ticket-7 orchestrator
  shared-context token ticket-7 subagent:analysis --ttl 1h
  shared-context token ticket-7 subagent:review --keys 'inv_*,scope'
  export SHARED_CONTEXT_TOKEN=$(shared-context token ticket-7 orchestrator)

Only the credential is printed on standard output.")]
pub(crate) struct TokenArguments {
    /// The session; . is the default one
    session: SessionName,
    /// orchestrator, subagent:TASK or subagent:TASK:ID
    participant: String,
    /// How long it is valid: 90s, 15m, 1h, 30d [default: an orchestrator's 30d, a
    /// subagent's 1d]
    #[arg(long, env = "SHARED_CONTEXT_TOKEN_TTL", value_name = "TIME", value_parser = seconds)]
    ttl: Option<u64>,
    /// The only keys a subagent can read and write, up to 16 patterns; * stands
    /// for any text [default: all keys]
    #[arg(long, env = "SHARED_CONTEXT_TOKEN_KEYS", value_name = "KEYS", value_delimiter = ',')]
    keys: Vec<String>,
    /// The only sets of tools it gets in MCP besides the working memory, such as
    /// `delta_rounds` [default: those of the session]
    #[arg(long, env = "SHARED_CONTEXT_TOOLS", value_name = "SETS", value_delimiter = ',')]
    tools: Option<Vec<String>>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Send one request of the JSON tool
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context call ticket-7 '{\"action\":\"list_keys\"}' --as orchestrator
  shared-context call ticket-7 --as subagent:analysis \\
    '{\"action\":\"write\",\"key\":\"findings_summary\",\"value\":\"Too few.\"}'
  echo '{\"action\":\"read\",\"key\":\"scope\"}' | shared-context call ticket-7 - --json

Actions: list_keys, read, read_batch, write, write_batch, delete, set_access,
read_history, changes, snapshot, list_snapshots, read_snapshot, diff_snapshots,
restore_snapshot, delete_snapshot, open_round, propose_deltas, withdraw_deltas,
reject_deltas, close_round, read_state, read_deltas, convergence, redact_rounds,
redact, prompt, render_context, plan_window, assemble_context, read_envelope,
export_evidence, record_injection, report_missing, answer_missing, list_missing,
extract, compact, check_summary, context_generate, context_edit, context_read,
context_query, context_feedback, context_stats, context_clear, list_packets,
show_session; with `--as admin` also audit and inspect.")]
pub(crate) struct Arguments {
    /// The session; . is the default one
    session: SessionName,
    /// The request, or - for standard input
    #[arg(value_name = "JSON")]
    request: String,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Print the text for a participant's system prompt
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context prompt ticket-7 --as subagent:analysis
  shared-context prompt ticket-7 --as orchestrator --max-tokens 300 > prompt
  shared-context prompt ticket-7 --project webshop --task 'Add refunds'

In a pipe or a file the text is printed byte for byte.")]
pub(crate) struct PromptArguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    /// Its budget
    #[arg(long, env = "SHARED_CONTEXT_MAX_TOKENS", value_name = "N", value_parser = number)]
    max_tokens: Option<u64>,
    /// What this project knows, in place of the conventions of the session
    #[arg(long, env = "SHARED_CONTEXT_PROMPT_PROJECT", value_name = "PROJECT")]
    project: Option<String>,
    /// With --project: the task
    #[arg(long, env = "SHARED_CONTEXT_PROMPT_TASK", value_name = "TEXT", requires = "project")]
    task: Option<String>,
    /// With --project: the sections of the task [default: those that have words in
    /// common with it]
    #[arg(
        long,
        env = "SHARED_CONTEXT_FOCUS",
        value_name = "MARKERS",
        value_delimiter = ',',
        requires = "project"
    )]
    focus: Vec<String>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Print what a participant may read, as text for a prompt; write packets for
/// workers, compact transcripts
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  shared-context context ticket-7 --max-tokens 2000 --as orchestrator
  shared-context context ticket-7 --task 'Which limit?' --as subagent:review
  shared-context context ticket-7 --as subagent:review > context.md

With --task, what matters most for it comes first; otherwise decisions and
constraints, then the rest, each newest first. Each entry has its writer and
stands between fences. What does not fit is named. In a pipe or a file the text
is printed byte for byte.

`generate`, `preview`, `stats`, `clear` and `checkpoint` are about packets: what
a worker gets to know. `compact`, `extract` and `check` need no server: they
read a transcript."
)]
pub(crate) struct ContextArguments {
    #[command(subcommand)]
    command: Option<ContextCommand>,
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    /// Begin with what matters most for this task
    #[arg(long, env = "SHARED_CONTEXT_CONTEXT_TASK", value_name = "TEXT")]
    task: Option<String>,
    /// Its budget [default: 2000]
    #[arg(long, env = "SHARED_CONTEXT_MAX_TOKENS", value_name = "N", value_parser = number)]
    max_tokens: Option<u64>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// A command on packets or on a transcript.
#[derive(Debug, clap::Subcommand)]
enum ContextCommand {
    Generate(Box<packets::GenerateArguments>),
    Preview(packets::PreviewArguments),
    Stats(packets::StatsArguments),
    Clear(packets::ClearArguments),
    Checkpoint(packets::CheckpointArguments),
    Compact(Box<compact::CompactArguments>),
    Extract(compact::ExtractArguments),
    Check(compact::CheckArguments),
}

/// Runs `token`.
pub(crate) fn token(arguments: &TokenArguments, output: Output) -> Result<(), Problem> {
    let TokenArguments { session, participant, ttl, keys, tools, server } = arguments;
    let server = server.server()?;
    let session = &server.session(session)?;
    let keys: Vec<String> = keys.iter().map(|it| it.trim().to_owned()).collect();
    let reply = mint(&server, session, participant, *ttl, &keys, tools.as_deref())?;
    output.answer(&reply, || {
        let IssuedCredential { credential, expires_at } = parse(&reply, &server.client)?;
        if io::stderr().is_terminal() {
            let keys = if keys.is_empty() { "all keys".to_owned() } else { keys.join(", ") };
            remark(&format!("{participant} of {session}, until {expires_at}, for {keys}"));
        }
        Ok(credential)
    })
}

/// Runs `call`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let server = arguments.server.server()?;
    let request = match arguments.request.as_str() {
        "-" => file::read(Path::new("-"), "the request")?,
        request => request.to_owned(),
    };
    let session = &server.session(&arguments.session)?;
    let bearer = arguments.caller.participant_bearer(&server, session)?;
    let reply = server.tool(session, &bearer, request.as_str())?;
    output.answer(&reply, || reply::human(request.as_bytes(), &reply, output))
}

/// Runs `prompt`.
pub(crate) fn prompt(arguments: &PromptArguments, output: Output) -> Result<(), Problem> {
    let PromptArguments { session, max_tokens, project, caller, server, .. } = arguments;
    let server = server.server()?;
    if let Some(project) = project {
        return project_prompt(&server, project, arguments, output);
    }
    let session = &server.session(session)?;
    let bearer = caller.bearer(&server, session)?;
    // Without a named participant, the prompt is the orchestrator's; `--as admin` names the
    // operator.
    let is_unnamed = caller.caller(&server) == Caller::Operator && !caller.is_named();
    let participant = is_unnamed.then(|| "orchestrator".to_owned());
    let mut query = Vec::new();
    query.extend(participant.map(|it| ("participant", it)));
    query.extend(max_tokens.map(|it| ("max_tokens", it.to_string())));
    let call = server.client.get(&["v1", "sessions", session, "prompt"], &query);
    let reply = server.send(&call, Some(&bearer))?;
    if output.is_json {
        return output.answer(&reply, || Ok(String::new()));
    }
    let PromptReply { text, tokens, max_tokens, left_out } = parse(&reply, &server.client)?;
    if !left_out.is_empty() {
        let left_out = left_out.join(", ");
        remark(&format!("{tokens} of {max_tokens} tokens; left out: {left_out}"));
    }
    output.exact_text(&text)
}

/// Prints the system prompt of a project.
fn project_prompt(
    server: &Server,
    project: &str,
    arguments: &PromptArguments,
    output: Output,
) -> Result<(), Problem> {
    #[derive(Deserialize)]
    struct ProjectPromptReply {
        text: String,
        tokens: u64,
        max_tokens: u64,
        omitted: Vec<serde_json::Value>,
    }
    let bearer = match arguments.caller.caller(server) {
        Caller::Operator => {
            let admin = server.admin()?;
            // The prompt is of no session, but one that is named must exist.
            if let Some(id) = arguments.session.id() {
                server.send(&server.client.get(&["v1", "sessions", id], &[]), Some(&admin))?;
            }
            admin
        }
        _ => arguments.caller.bearer(server, &server.session(&arguments.session)?)?,
    };
    let mut query = Vec::new();
    query.extend(arguments.task.clone().map(|it| ("task", it)));
    let focus = arguments.focus.join(" ");
    query.extend((!focus.is_empty()).then_some(("focus", focus)));
    query.extend(arguments.max_tokens.map(|it| ("max_tokens", it.to_string())));
    let call = server.client.get(&["v1", "projects", project, "prompt"], &query);
    let reply = server.send(&call, Some(&bearer))?;
    if output.is_json {
        return output.answer(&reply, || Ok(String::new()));
    }
    let it: ProjectPromptReply = parse(&reply, &server.client)?;
    if !it.omitted.is_empty() {
        let (tokens, most, out) = (it.tokens, it.max_tokens, it.omitted.len());
        remark(&format!("{tokens} of {most} tokens; {out} did not fit, --json names them"));
    }
    output.exact_text(&it.text)
}

/// Runs `context`.
pub(crate) fn context(arguments: &ContextArguments, output: Output) -> Result<(), Problem> {
    #[derive(Deserialize)]
    struct ContextReply {
        text: String,
    }
    let ContextArguments { command, session, task, max_tokens, caller, server } = arguments;
    match command {
        Some(ContextCommand::Generate(it)) => return packets::generate(it, output),
        Some(ContextCommand::Preview(it)) => return packets::preview(it, output),
        Some(ContextCommand::Stats(it)) => return packets::stats(it, output),
        Some(ContextCommand::Clear(it)) => return packets::clear(it, output),
        Some(ContextCommand::Checkpoint(it)) => return packets::checkpoint(it, output),
        Some(ContextCommand::Compact(it)) => return compact::compact(it, output),
        Some(ContextCommand::Extract(it)) => return compact::extract(it, output),
        Some(ContextCommand::Check(it)) => return compact::check(it, output),
        None => {}
    }
    let server = server.server()?;
    let session = &server.session(session)?;
    let bearer = caller.participant_bearer(&server, session)?;
    let mut query = Vec::new();
    query.extend(task.iter().map(|it| ("task", it.clone())));
    query.extend(max_tokens.map(|it| ("max_tokens", it.to_string())));
    let call = server.client.get(&["v1", "sessions", session, "context"], &query);
    let reply = server.send(&call, Some(&bearer));
    let reply = reply.map_err(|it| it.with_options(&[("max_tokens", "--max-tokens")]))?;
    if output.is_json {
        return output.answer(&reply, || Ok(String::new()));
    }
    let ContextReply { text } = parse(&reply, &server.client)?;
    output.exact_text(&text)
}
