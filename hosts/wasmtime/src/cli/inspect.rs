//! `inspect`: the whole of a session on one screen.

use serde_json::json;

use super::{
    argument::SessionName,
    client::parse,
    output::Output,
    problem::Problem,
    reply::{AuditPage, Human, Inspection},
    server::ServerArgs,
};

/// The number of past revisions whose changes are shown.
const REVISIONS_SHOWN: u64 = 10;

/// Show all of a session: entries with values, snapshots, history, last changes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context inspect ticket-7
  shared-context inspect ticket-7 --json | jq '.entries[] | {key, value}'

Long values are cut; `get`, `history` and --json print them whole.")]
pub(crate) struct Arguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `inspect`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let Arguments { session, server } = arguments;
    let server = server.server()?;
    let session = &server.session(session)?;
    let admin = server.admin()?;
    let reply = server.tool(session, &admin, json!({"action": "inspect"}).to_string())?;
    output.answer(&reply, || {
        let inspection: Inspection = parse(&reply, &server.client)?;
        let after = inspection.session.revision.saturating_sub(REVISIONS_SHOWN);
        let request = json!({"action": "audit", "after": after, "limit": 1_000});
        let changes = server.tool(session, &admin, request.to_string())?;
        let changes: AuditPage = parse(&changes, &server.client)?;
        Ok(format!("{}\n{}", inspection.human(output), changes.human(output)))
    })
}
