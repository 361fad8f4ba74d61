//! `history`: the versions of one entry.

use serde_json::json;

use super::{
    argument::{SessionName, number},
    caller::CallerArgs,
    client::parse,
    output::Output,
    problem::Problem,
    reply::{History, Human},
    server::ServerArgs,
};

/// Show the versions of an entry, oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context history ticket-7 scope
  shared-context history ticket-7 scope --versions 1,2
  shared-context history ticket-7 scope --json | jq -r '.versions[].value'

A session keeps the last versions of each key, as many as its configuration
says; those of entries that were deleted or expired as well.")]
pub(crate) struct Arguments {
    /// The session; . is the default one
    session: SessionName,
    /// The key
    key: String,
    /// Only these
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = number)]
    versions: Vec<u64>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `history`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let Arguments { session, key, versions, caller, server } = arguments;
    let server = server.server()?;
    let session = &server.session(session)?;
    let versions = (!versions.is_empty()).then_some(versions);
    let request = json!({"action": "read_history", "key": key, "versions": versions});
    let bearer = caller.bearer(&server, session)?;
    let reply = server.tool(session, &bearer, request.to_string())?;
    output.answer(&reply, || {
        let history: History = parse(&reply, &server.client)?;
        if versions.is_some() && history.is_empty() {
            return Ok(
                "none of these versions is kept; without --versions, all that are kept are \
                       shown\n"
                    .to_owned(),
            );
        }
        Ok(history.human(output))
    })
}
