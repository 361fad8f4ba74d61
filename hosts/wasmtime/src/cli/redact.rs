//! `redact`: removes a value, or a text in rounds, wherever it is stored.

use std::path::PathBuf;

use serde_json::json;

use super::{
    argument::{SessionName, number},
    caller::CallerArgs,
    client::parse,
    confirm::confirm,
    file,
    output::{BOLD, Output, YELLOW, plain},
    problem::Problem,
    reply::{Human, RedactReply, RedactRoundsReply},
    server::ServerArgs,
};

/// Remove a value from everything that stores it, for good
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context redact ticket-7 scope --reason 'held a password'   asks first
  shared-context redact ticket-7 scope --reason 'held a password' --yes
  shared-context redact ticket-7 scope --revision 12 --reason 'a name' --yes
  shared-context redact ticket-7 --in-rounds key.txt --reason 'an API key' --yes

Every stored version of the value, also in the history and in snapshots, is
replaced by its digest and the reason. In delta rounds, every string that
contains the text of the file is replaced: values, names, paths and reasons, in
states and deltas. Documents that were exported earlier still contain it.")]
pub(crate) struct Arguments {
    /// The session; . is the default one
    session: SessionName,
    /// The key
    #[arg(required_unless_present = "in_rounds")]
    key: Option<String>,
    /// Instead of a key: redact the text in this file from delta rounds; - for
    /// standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "revision"])]
    in_rounds: Option<PathBuf>,
    /// Why, in a line; it is kept, so it must not repeat the value
    #[arg(long, env = "SHARED_CONTEXT_REASON", value_name = "TEXT")]
    reason: String,
    /// Only the value that was written at this revision
    #[arg(long, value_name = "REVISION", value_parser = number)]
    revision: Option<u64>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `redact`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let Arguments { session, key, in_rounds, reason, revision, yes, caller, server } = arguments;
    let server = server.server()?;
    let session = &server.session(session)?;
    let bearer = caller.bearer(&server, session)?;
    if let Some(path) = in_rounds {
        let text = file::read(path, "the text")?;
        // An editor adds a line break, which is not part of the secret.
        let text = text.trim_end_matches(['\r', '\n']);
        confirm(*yes, "redacting a text of rounds", || {
            let session = plain(session);
            Ok(format!("{YELLOW}Redact{YELLOW:#} the text in all rounds of {session}?"))
        })?;
        let request = json!({"action": "redact_rounds", "text": text, "reason": reason});
        let reply = server.tool(session, &bearer, request.to_string())?;
        return output.answer(&reply, || {
            Ok(parse::<RedactRoundsReply>(&reply, &server.client)?.human(output))
        });
    }
    let key = key.as_deref().unwrap_or_default();
    confirm(*yes, "redacting a value", || {
        let which = revision.map_or("all versions".to_owned(), |it| format!("revision {it}"));
        let (key, session) = (plain(key), plain(session));
        Ok(format!("{YELLOW}Redact{YELLOW:#} {which} of {BOLD}{key}{BOLD:#} in {session}?"))
    })?;
    let request = json!({"action": "redact", "key": key, "revision": revision, "reason": reason});
    let reply = server.tool(session, &bearer, request.to_string())?;
    output.answer(&reply, || Ok(parse::<RedactReply>(&reply, &server.client)?.human(output)))
}
