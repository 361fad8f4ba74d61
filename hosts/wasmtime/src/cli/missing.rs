//! The command `missing`: what agents reported to lack.

use serde_json::json;

use super::{
    argument::SessionName, caller::CallerArgs, output::Output, problem::Problem, reply,
    server::ServerArgs,
};

/// List the context that agents lack, and the answers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context missing ticket-7
  shared-context missing ticket-7 --state open --as orchestrator
  shared-context call ticket-7 --as orchestrator \\
    '{\"action\":\"answer_missing\",\"missing\":\"MIS-1\",\"answer\":\"Five.\"}'

Blockers come first, then inputs, questions and requested sources. Agents report
with the action report_missing.")]
pub(crate) struct Arguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    /// Only what is open, or only what is answered
    #[arg(long, env = "SHARED_CONTEXT_MISSING_STATE", value_name = "STATE")]
    state: Option<String>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `missing`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let Arguments { session, state, caller, server } = arguments;
    let server = server.server()?;
    let session = &server.session(session)?;
    let bearer = caller.bearer(&server, session)?;
    let request = json!({"action": "list_missing", "state": state}).to_string();
    let reply = server.tool(session, &bearer, request.as_str())?;
    output.answer(&reply, || reply::human(request.as_bytes(), &reply, output))
}
