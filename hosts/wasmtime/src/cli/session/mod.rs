//! `session`: creates, lists, updates, archives and deletes sessions, for the operator. `close` also
//! keeps what a session came to.

mod close;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::{error::Category, value::RawValue};

pub(crate) use self::close::summarize;
use super::{
    argument::{SessionName, number},
    caller::CallerArgs,
    client::{Call, parse},
    confirm::confirm,
    file,
    output::{BOLD, GREEN, Output, YELLOW, counted, remark},
    problem::Problem,
    reply::{AuditPage, CreatedSession, Human, Session, Sessions},
    server::{Server, ServerArgs},
};

/// Create, show, update, close and delete sessions
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  shared-context session create ticket-7
  shared-context session list
  shared-context session audit ticket-7 --after 12
  shared-context session close ticket-7 --remember
  shared-context session delete ticket-7 --yes"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a session and get its orchestrator's credential
    #[command(after_help = "\
Examples:
  shared-context session create ticket-7
  shared-context session create ticket-7 --config limits.json
  shared-context session create small --config '{\"keys_max\":50}'
  echo '{\"keys_max\":50}' | shared-context session create tiny --config -

The configuration is JSON. Members that are left out have these defaults:
  {\"value_tokens_max\":1000, \"store_tokens_max\":10000, \"keys_max\":1000,
   \"history_versions_max\":10, \"history_bytes_max\":1048576,
   \"snapshots_max\":32, \"changes_max\":1000, \"ttl_seconds_default\":null,
   \"allows_prefixes\":false, \"access\":[{\"keys\":\"findings_*\",
   \"writable_by\":[\"subagent:analysis:*\"]}], \"estimator\":\"approximate\",
   \"namespace\":{\"keys\":[{\"key\":\"scope\", \"group\":\"Problem\",
   \"purpose\":\"boundaries of the work\"}]}}

With \"estimator\":\"o200k_base\" or \"cl100k_base\" tokens are counted exactly, as
models do that use it. A session never changes how it counts.")]
    Create {
        /// 1 to 128 of A-Z a-z 0-9 . _ - starting with a letter or digit
        id: String,
        /// The configuration: JSON, a file with JSON, or - for standard input
        #[arg(long, env = "SHARED_CONTEXT_CONFIG", value_name = "JSON|FILE")]
        config: Option<PathBuf>,
    },
    /// List sessions, in the order of their ids
    #[command(
        alias = "ls",
        after_help = "\
Examples:
  shared-context session list
  shared-context session list --after ticket-7 --limit 20
  shared-context session list --status active --prefix ticket-
  shared-context session list --changed-before 2026-10-01T00:00:00Z
  shared-context session list --json | jq -r '.sessions[].session_id'"
    )]
    List {
        /// Only those after this id
        #[arg(long, env = "SHARED_CONTEXT_AFTER", value_name = "ID")]
        after: Option<String>,
        /// At most this many, up to 1000
        #[arg(
            long,
            env = "SHARED_CONTEXT_LIMIT",
            value_name = "N",
            default_value_t = 100,
            value_parser = number
        )]
        limit: u64,
        #[command(flatten)]
        filter: Filter,
    },
    /// Show a session's status, totals and limits
    #[command(after_help = "\
Examples:
  shared-context session show ticket-7
  shared-context session show ticket-7 --json | jq .config")]
    Show {
        /// The session; . is the default one
        id: SessionName,
        #[command(flatten)]
        caller: CallerArgs,
    },
    /// Change a session's configuration
    #[command(after_help = "\
Examples:
  shared-context session update ticket-7 --config '{\"keys_max\":2000}'
  shared-context session update ticket-7 --config limits.json

Members that are left out stay unchanged, and null restores a default.
`shared-context session create --help` shows every member. All can change except
how tokens are counted. Entries above a lowered limit stay; history above a
lowered limit is removed at once.")]
    Update {
        /// The session; . is the default one
        id: SessionName,
        /// What changes: JSON, a file with JSON, or - for standard input
        #[arg(long, env = "SHARED_CONTEXT_CONFIG", value_name = "JSON|FILE")]
        config: PathBuf,
    },
    /// Make a session read-only, for good
    #[command(after_help = "Example:\n  shared-context session archive ticket-7")]
    Archive {
        /// The session; . is the default one
        id: SessionName,
    },
    Summary(close::SummaryArguments),
    Close(close::CloseArguments),
    /// Delete a session and all it holds
    #[command(
        alias = "rm",
        after_help = "\
Examples:
  shared-context session delete ticket-7         asks first
  shared-context session delete ticket-7 --yes   for scripts"
    )]
    Delete {
        /// The session; . is the default one
        id: SessionName,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Make every credential of a session void
    #[command(after_help = "\
Example:
  shared-context session revoke ticket-7
  shared-context token ticket-7 orchestrator   a new one")]
    Revoke {
        /// The session; . is the default one
        id: SessionName,
    },
    /// Show who changed what and when, without values; the last 4096 changes are
    /// kept, or more
    #[command(after_help = "\
Examples:
  shared-context session audit ticket-7
  shared-context session audit ticket-7 --after 12 --limit 1000")]
    Audit {
        /// The session; . is the default one
        id: SessionName,
        /// Only changes after this revision
        #[arg(long, env = "SHARED_CONTEXT_AUDIT_AFTER", value_name = "REVISION", value_parser = number)]
        after: Option<u64>,
        /// At most this many, up to 1000
        #[arg(long, env = "SHARED_CONTEXT_LIMIT", value_name = "N", value_parser = number)]
        limit: Option<u64>,
    },
}

/// The filters of a listing.
#[derive(Debug, clap::Args)]
struct Filter {
    /// Only the active, or only the archived ones
    #[arg(
        long,
        env = "SHARED_CONTEXT_STATUS",
        value_name = "active|archived",
        value_parser = ["active", "archived"],
        hide_possible_values = true
    )]
    status: Option<String>,
    /// Only those whose id starts with this
    #[arg(long, env = "SHARED_CONTEXT_PREFIX", value_name = "TEXT")]
    prefix: Option<String>,
    /// Only those that last changed before, in RFC 3339
    #[arg(long, env = "SHARED_CONTEXT_CHANGED_BEFORE", value_name = "TIME")]
    changed_before: Option<String>,
    /// Only those that changed after, in RFC 3339
    #[arg(long, env = "SHARED_CONTEXT_CHANGED_AFTER", value_name = "TIME")]
    changed_after: Option<String>,
}

/// Runs `session`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let server = arguments.server.server()?;
    match &arguments.command {
        Command::Create { id, config } => create(&server, id, config.as_deref(), output),
        Command::List { after, limit, filter } => {
            list(&server, after.as_deref(), *limit, filter, output)
        }
        Command::Show { id, caller } => show(&server, &server.session(id)?, caller, output),
        Command::Update { id, config } => update(&server, &server.session(id)?, config, output),
        Command::Archive { id } => {
            let id = &server.session(id)?;
            let call = server.client.post(&["v1", "sessions", id, "archive"], "{}");
            step(&server, &call, output, "is archived: it can be read, not changed")
        }
        Command::Revoke { id } => {
            let id = &server.session(id)?;
            let call = server.client.post(&["v1", "sessions", id, "revoke"], "{}");
            step(&server, &call, output, "takes none of the credentials issued so far any more")
        }
        Command::Summary(it) => close::summary(it, &server, output),
        Command::Close(it) => close::close(it, &server, output),
        Command::Delete { id, yes } => delete(&server, &server.session(id)?, *yes, output),
        Command::Audit { id, after, limit } => {
            audit(&server, &server.session(id)?, *after, *limit, output)
        }
    }
}

fn create(server: &Server, id: &str, config: Option<&Path>, output: Output) -> Result<(), Problem> {
    #[derive(serde::Serialize)]
    struct Body<'a> {
        session_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        config: Option<Box<RawValue>>,
    }
    let body = Body { session_id: id, config: config.map(read_config).transpose()? };
    let body = serde_json::to_vec(&body).map_err(|error| Problem::usage(error.to_string()))?;
    let call = server.client.post(&["v1", "sessions"], body);
    let reply = server.send(&call, Some(&server.admin()?))?;
    output.answer(&reply, || {
        let made: CreatedSession = parse(&reply, &server.client)?;
        Ok(format!("{GREEN}✓{GREEN:#} created {}", made.human(output)))
    })
}

fn update(server: &Server, id: &str, config: &Path, output: Output) -> Result<(), Problem> {
    let body = format!(r#"{{"config":{}}}"#, read_config(config)?);
    let call = server.client.patch(&["v1", "sessions", id], body);
    let reply = server.send(&call, Some(&server.admin()?))?;
    output.answer(&reply, || {
        let session: Session = parse(&reply, &server.client)?;
        Ok(format!("{GREEN}✓{GREEN:#} updated {}", session.human(output)))
    })
}

/// Reads a configuration. Only the JSON syntax is checked here; the server validates the
/// rest.
fn read_config(path: &Path) -> Result<Box<RawValue>, Problem> {
    // No file that anybody would name begins so.
    let inline = path.to_str().filter(|it| it.trim_start().starts_with('{'));
    let text = match inline {
        Some(text) => text.to_owned(),
        None => file::read(path, "the configuration")?,
    };
    let place = if inline.is_some() { "--config".to_owned() } else { file::name(path) };
    RawValue::from_string(text.trim().to_owned()).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let message = match error.classify() {
            Category::Eof => {
                format!(
                    "the configuration in {place} is not JSON: it ends too early, in line {line}"
                )
            }
            _ => format!(
                "the configuration in {place} is not JSON: see line {line}, at character {column}"
            ),
        };
        Problem::usage(message).next(
            "write it like {\"keys_max\": 50}, with quotes around names and commas between \
             them; `shared-context session create --help` shows more",
        )
    })
}

fn list(
    server: &Server,
    after: Option<&str>,
    limit: u64,
    filter: &Filter,
    output: Output,
) -> Result<(), Problem> {
    let Filter { status, prefix, changed_before, changed_after } = filter;
    let chosen: Vec<(&str, String)> = [
        ("status", status),
        ("prefix", prefix),
        ("changed_before", changed_before),
        ("changed_after", changed_after),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value.clone()?)))
    .collect();
    let is_all = chosen.is_empty() && after.is_none();
    let mut query = vec![("limit", limit.to_string())];
    query.extend(after.map(|it| ("after", it.to_owned())));
    query.extend(chosen);
    let call = server.client.get(&["v1", "sessions"], &query);
    let reply = server.send(&call, Some(&server.admin()?))?;
    output.answer(&reply, || {
        let page: Sessions = parse(&reply, &server.client)?;
        if let Some(last) = &page.next_after {
            remark(&format!("there are more: --after {last}"));
        }
        Ok(match (page.sessions.is_empty(), is_all) {
            (false, _) => page.human(output),
            (true, true) => {
                "no sessions yet; `shared-context session create ID` makes one\n".to_owned()
            }
            (true, false) => "no such sessions on this page\n".to_owned(),
        })
    })
}

fn show(server: &Server, id: &str, caller: &CallerArgs, output: Output) -> Result<(), Problem> {
    let call = server.client.get(&["v1", "sessions", id], &[]);
    let reply = server.send(&call, Some(&caller.bearer(server, id)?))?;
    output.answer(&reply, || Ok(parse::<Session>(&reply, &server.client)?.human(output)))
}

/// Performs a step in the life of a session and prints the result.
fn step(server: &Server, call: &Call, output: Output, done: &str) -> Result<(), Problem> {
    let reply = server.send(call, Some(&server.admin()?))?;
    output.answer(&reply, || {
        let session: Session = parse(&reply, &server.client)?;
        Ok(format!("{GREEN}✓{GREEN:#} {BOLD}{}{BOLD:#} {done}\n", session.id))
    })
}

fn delete(server: &Server, id: &str, yes: bool, output: Output) -> Result<(), Problem> {
    let admin = server.admin()?;
    confirm(yes, "deleting a session", || {
        let call = server.client.get(&["v1", "sessions", id], &[]);
        let session: Session = parse(&server.send(&call, Some(&admin))?, &server.client)?;
        let (keys, tokens) =
            (counted(session.key_count, "key"), counted(session.total_tokens, "token"));
        Ok(format!("{YELLOW}Delete{YELLOW:#} {BOLD}{id}{BOLD:#} with {keys}, {tokens}?"))
    })?;
    let reply = server.send(&server.client.delete(&["v1", "sessions", id]), Some(&admin))?;
    output.answer(&reply, || {
        Ok(format!("{GREEN}✓{GREEN:#} {BOLD}{id}{BOLD:#} and all it held are deleted\n"))
    })
}

fn audit(
    server: &Server,
    id: &str,
    after: Option<u64>,
    limit: Option<u64>,
    output: Output,
) -> Result<(), Problem> {
    let query: Vec<(&str, String)> = [("after", after), ("limit", limit)]
        .into_iter()
        .filter_map(|(name, number)| Some((name, number?.to_string())))
        .collect();
    let call = server.client.get(&["v1", "sessions", id, "audit"], &query);
    let reply = server.send(&call, Some(&server.admin()?))?;
    output.answer(&reply, || {
        let page: AuditPage = parse(&reply, &server.client)?;
        if let Some(next) = page.next_after {
            remark(&format!("there are more: --after {next}"));
        }
        Ok(page.human(output))
    })
}
