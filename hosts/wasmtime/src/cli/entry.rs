//! The commands for single entries: `ls`, `get`, `set` and `rm`.
//!
//! # Invariant
//!
//! A piped `get` prints the value byte for byte, without an added line break, and a piped `set`
//! stores its input unchanged. So a value that is read and written back stays the same.

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    argument::{SessionName, number, seconds, text},
    caller::CallerArgs,
    client::{Bearer, parse},
    file,
    output::Output,
    problem::Problem,
    reply::{self, ReadReply},
    server::{Server, ServerArgs},
};

/// List the keys of a session
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context ls ticket-7
  shared-context ls ticket-7 --as subagent:analysis --json | jq -r '.keys[].key'")]
pub(crate) struct ListArguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Print the value of an entry
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context get ticket-7 scope
  shared-context get ticket-7 scope > scope.txt

In a pipe or a file only the value is printed, without a line break.")]
pub(crate) struct GetArguments {
    /// The session; . is the default one
    session: SessionName,
    /// The key
    key: String,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Write an entry
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context set ticket-7 scope 'Find the parameter.' --as orchestrator
  shared-context set ticket-7 scope --file scope.txt --as orchestrator
  git diff --stat | shared-context set ticket-7 changed --as subagent:review
  shared-context set ticket-7 lease 'review runs' --ttl 15m --as subagent:review")]
pub(crate) struct SetArguments {
    /// The session; . is the default one
    session: SessionName,
    /// The key
    key: String,
    /// The value, or - for standard input [default: standard input]
    #[arg(allow_hyphen_values = true, value_parser = text)]
    value: Option<String>,
    /// Read the value from this file
    #[arg(long, value_name = "FILE", conflicts_with = "value")]
    file: Option<PathBuf>,
    /// How long it is kept: 90s, 15m, 1h, 30d [default: as long as the session]
    #[arg(long, env = "SHARED_CONTEXT_SET_TTL", value_name = "TIME", value_parser = seconds)]
    ttl: Option<u64>,
    /// Only if the entry is at this version
    #[arg(long, value_name = "N", value_parser = number)]
    if_version: Option<u64>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Delete an entry
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context rm ticket-7 lease --as orchestrator
  shared-context rm ticket-7 lease --if-version 3 --as orchestrator

Its history keeps the last versions; `redact` removes a value everywhere.")]
pub(crate) struct RemoveArguments {
    /// The session; . is the default one
    session: SessionName,
    /// The key
    key: String,
    /// Only if the entry is at this version
    #[arg(long, value_name = "N", value_parser = number)]
    if_version: Option<u64>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `ls`.
pub(crate) fn list(arguments: &ListArguments, output: Output) -> Result<(), Problem> {
    let ListArguments { session, caller, server } = arguments;
    let server = server.server()?;
    let session = &server.session(session)?;
    let bearer = caller.bearer(&server, session)?;
    answer(&server, session, &bearer, &json!({"action": "list_keys"}), output)
}

/// Runs `get`.
pub(crate) fn get(arguments: &GetArguments, output: Output) -> Result<(), Problem> {
    let GetArguments { session, key, caller, server } = arguments;
    let server = server.server()?;
    let session = &server.session(session)?;
    let bearer = caller.bearer(&server, session)?;
    let request = json!({"action": "read", "key": key});
    if output.is_json || io::stdout().is_terminal() {
        return answer(&server, session, &bearer, &request, output);
    }
    let reply = server.tool(session, &bearer, request.to_string())?;
    let ReadReply { value, .. } = parse(&reply, &server.client)?;
    Output::raw(&value)
}

/// Runs `set`.
pub(crate) fn set(arguments: &SetArguments, output: Output) -> Result<(), Problem> {
    let server = arguments.server.server()?;
    let value = arguments.value()?;
    let SetArguments { session, key, ttl, if_version, caller, .. } = arguments;
    let session = &server.session(session)?;
    let bearer = caller.participant_bearer(&server, session)?;
    let mut request = json!({"action": "write", "key": key, "value": value});
    if let Some(members) = request.as_object_mut() {
        members.extend(ttl.map(|it| ("ttl_seconds".to_owned(), it.into())));
        members.extend(if_version.map(|it| ("if_version".to_owned(), it.into())));
    }
    answer(&server, session, &bearer, &request, output)
}

/// Runs `rm`.
pub(crate) fn remove(arguments: &RemoveArguments, output: Output) -> Result<(), Problem> {
    let RemoveArguments { session, key, if_version, caller, server } = arguments;
    let server = server.server()?;
    let session = &server.session(session)?;
    let bearer = caller.participant_bearer(&server, session)?;
    let mut request = json!({"action": "delete", "key": key});
    if let Some(members) = request.as_object_mut() {
        members.extend(if_version.map(|it| ("if_version".to_owned(), it.into())));
    }
    answer(&server, session, &bearer, &request, output)
}

impl SetArguments {
    /// Returns the value from the argument, the file or standard input.
    fn value(&self) -> Result<String, Problem> {
        let path = match (&self.value, &self.file) {
            (Some(value), _) if value != "-" => return Ok(value.clone()),
            (None, Some(path)) => path,
            (None, None) if io::stdin().is_terminal() => {
                return Err(Problem::usage("there is no value to write")
                    .next("add it as an argument, name a file with --file, or pipe it in"));
            }
            _ => Path::new("-"),
        };
        let value = file::read(path, "the value")?;
        if value.is_empty() && path == Path::new("-") {
            // A command before the pipe that failed must not erase the entry.
            return Err(Problem::usage("standard input is empty, and the entry would be too")
                .next("to write an empty value, add it as an argument: ''"));
        }
        Ok(value)
    }
}

/// Sends `request` and prints the answer.
fn answer(
    server: &Server,
    session: &str,
    bearer: &Bearer,
    request: &serde_json::Value,
    output: Output,
) -> Result<(), Problem> {
    let request = request.to_string();
    let reply = server.tool(session, bearer, request.as_str())?;
    output.answer(&reply, || reply::human(request.as_bytes(), &reply, output))
}
