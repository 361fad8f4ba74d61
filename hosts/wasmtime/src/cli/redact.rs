//! `redact`: takes a value out of everything that keeps it.

use serde_json::json;

use super::{
    caller::AnyoneArgs,
    client::parse,
    confirm::confirm,
    output::{BOLD, Output, YELLOW, plain},
    problem::Problem,
    reply::{Human, Redacted},
    server::ServerArgs,
};

/// Take a value out of everything that keeps it, for good
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context redact ticket-7 scope --reason 'held a password'   asks first
  shared-context redact ticket-7 scope --reason 'held a password' --yes
  shared-context redact ticket-7 scope --revision 12 --reason 'a name' --yes

Every version that is kept is replaced, in the history and in snapshots too, by
the digest of what it was and the reason. Documents that were exported keep it.")]
pub(crate) struct Arguments {
    /// The session
    session: String,
    /// The key
    key: String,
    /// Why, in a line; it is kept, so it must not repeat the value
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Only the value that was written at this revision
    #[arg(long, value_name = "REVISION")]
    revision: Option<u64>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    anyone: AnyoneArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `redact`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let Arguments { session, key, reason, revision, yes, anyone, server } = arguments;
    let server = server.server()?;
    let bearer = anyone.bearer(&server, session)?;
    confirm(*yes, "redacting a value", || {
        let which = revision.map_or("all versions".to_owned(), |it| format!("revision {it}"));
        let (key, session) = (plain(key), plain(session));
        Ok(format!("{YELLOW}Redact{YELLOW:#} {which} of {BOLD}{key}{BOLD:#} in {session}?"))
    })?;
    let request = json!({"action": "redact", "key": key, "revision": revision, "reason": reason});
    let reply = server.tool(session, &bearer, request.to_string())?;
    output.answer(&reply, || Ok(parse::<Redacted>(&reply, &server.client)?.human(output)))
}
