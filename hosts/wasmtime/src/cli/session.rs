//! `session`: the life of sessions, for the operator.
//!
//! # Invariant
//!
//! What cannot be undone asks first, unless it was told not to; where nobody can
//! be asked it is refused.

use std::{
    fs,
    io::{self, BufRead, IsTerminal, Read, Write},
    path::{Path, PathBuf},
};

use clap::Subcommand;
use serde_json::value::RawValue;

use super::{
    client::{Bearer, Call, parse},
    output::{BOLD, DIMMED, GREEN, Output, YELLOW, remark},
    problem::Problem,
    reply::{AuditPage, Issued, Session, Sessions},
    server::{Server, ServerArgs},
};

/// Create, show, archive and delete sessions
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  shared-context session create ticket-7
  shared-context session list
  shared-context session audit ticket-7 --since 12
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
  echo '{\"keys_max\":50}' | shared-context session create small --config -

A configuration is JSON; what it leaves out has the default:
  {\"value_tokens_max\":1000, \"store_tokens_max\":10000, \"keys_max\":1000,
   \"estimator\":\"approximate\", \"namespace\":{\"keys\":[{\"key\":\"scope\",
   \"group\":\"Problem\", \"purpose\":\"boundaries of the work\"}]}}")]
    Create {
        /// 1 to 128 of A-Z a-z 0-9 . _ - starting with a letter or digit
        id: String,
        /// The configuration: a file with JSON, or - for standard input
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// List sessions, in the order of their ids
    #[command(after_help = "\
Examples:
  shared-context session list
  shared-context session list --after ticket-7 --limit 20
  shared-context session list --json | jq -r '.sessions[].session_id'")]
    List {
        /// Only those after this id
        #[arg(long, value_name = "ID")]
        after: Option<String>,
        /// At most this many, up to 1000
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u64,
    },
    /// Show a session's status, totals and limits
    #[command(after_help = "\
Examples:
  shared-context session show ticket-7
  shared-context session show ticket-7 --json | jq .config")]
    Show {
        /// The session
        id: String,
    },
    /// Make a session read-only, for good
    #[command(after_help = "Example:\n  shared-context session archive ticket-7")]
    Archive {
        /// The session
        id: String,
    },
    /// Delete a session and all it holds
    #[command(after_help = "\
Examples:
  shared-context session delete ticket-7         asks first
  shared-context session delete ticket-7 --yes   for scripts")]
    Delete {
        /// The session
        id: String,
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
        /// The session
        id: String,
    },
    /// Show who changed what and when, without values; the last 1000 changes are kept
    #[command(after_help = "\
Examples:
  shared-context session audit ticket-7
  shared-context session audit ticket-7 --since 12 --limit 1000")]
    Audit {
        /// The session
        id: String,
        /// Only changes after this revision
        #[arg(long, value_name = "REVISION")]
        since: Option<u64>,
        /// At most this many, up to 1000
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
    },
}

/// Runs `session`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let server = arguments.server.server()?;
    match &arguments.command {
        Command::Create { id, config } => create(&server, id, config.as_deref(), output),
        Command::List { after, limit } => list(&server, after.as_deref(), *limit, output),
        Command::Show { id } => show(&server, id, output),
        Command::Archive { id } => {
            let call = server.client.post(&["v1", "sessions", id, "archive"], "{}");
            step(&server, &call, output, "is archived: it can be read, not changed")
        }
        Command::Revoke { id } => {
            let call = server.client.post(&["v1", "sessions", id, "revoke"], "{}");
            step(&server, &call, output, "takes none of the credentials issued so far any more")
        }
        Command::Delete { id, yes } => delete(&server, id, *yes, output),
        Command::Audit { id, since, limit } => audit(&server, id, *since, *limit, output),
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
        let session: Session = parse(&reply, &server.client)?;
        let Issued { credential, expires_at } = parse(&reply, &server.client)?;
        Ok(format!(
            "{GREEN}✓{GREEN:#} created {}\n{DIMMED}The orchestrator's credential, until \
             {expires_at}; it is not shown again:{DIMMED:#}\n  export \
             SHARED_CONTEXT_TOKEN={BOLD}{credential}{BOLD:#}\n",
            session.human(),
        ))
    })
}

/// Reads a configuration: any JSON; what is in it the server checks.
fn read_config(path: &Path) -> Result<Box<RawValue>, Problem> {
    let mut text = String::new();
    let (name, read) = if path == Path::new("-") {
        ("standard input".to_owned(), io::stdin().read_to_string(&mut text).map(drop))
    } else {
        (path.display().to_string(), fs::read_to_string(path).map(|it| text = it))
    };
    read.map_err(|error| {
        Problem::usage(format!("cannot read the configuration from {name}: {error}"))
            .next("name a file with JSON, or - and send it to standard input")
    })?;
    RawValue::from_string(text.trim().to_owned()).map_err(|error| {
        Problem::usage(format!("the configuration in {name} is not JSON: {error}"))
            .next("`shared-context session create --help` shows one")
    })
}

fn list(server: &Server, after: Option<&str>, limit: u64, output: Output) -> Result<(), Problem> {
    let mut query = vec![("limit", limit.to_string())];
    query.extend(after.map(|it| ("after", it.to_owned())));
    let call = server.client.get(&["v1", "sessions"], &query);
    let reply = server.send(&call, Some(&server.admin()?))?;
    output.answer(&reply, || {
        let page: Sessions = parse(&reply, &server.client)?;
        if let Some(last) = &page.next_after {
            remark(&format!("there are more: --after {last}"));
        }
        Ok(page.human(output))
    })
}

fn show(server: &Server, id: &str, output: Output) -> Result<(), Problem> {
    let call = server.client.get(&["v1", "sessions", id], &[]);
    let reply = server.send(&call, Some(&anyone(server)?))?;
    output.answer(&reply, || Ok(parse::<Session>(&reply, &server.client)?.human()))
}

/// The admin key, or else the credential of a participant.
fn anyone(server: &Server) -> Result<Bearer, Problem> {
    match (server.admin(), Server::participant()) {
        (Err(_), Some(credential)) => Ok(credential),
        (admin, _) => admin,
    }
}

/// Takes a session one step further in its life.
fn step(server: &Server, call: &Call, output: Output, done: &str) -> Result<(), Problem> {
    let reply = server.send(call, Some(&server.admin()?))?;
    output.answer(&reply, || {
        let session: Session = parse(&reply, &server.client)?;
        Ok(format!("{GREEN}✓{GREEN:#} {BOLD}{}{BOLD:#} {done}\n", session.id))
    })
}

fn delete(server: &Server, id: &str, yes: bool, output: Output) -> Result<(), Problem> {
    let admin = server.admin()?;
    if !yes {
        confirm(server, id, &admin)?;
    }
    let reply = server.send(&server.client.delete(&["v1", "sessions", id]), Some(&admin))?;
    output.answer(&reply, || {
        Ok(format!("{GREEN}✓{GREEN:#} {BOLD}{id}{BOLD:#} and all it held are deleted\n"))
    })
}

/// Asks whether the session `id` may go.
///
/// # Errors
///
/// No, or nobody there to ask.
fn confirm(server: &Server, id: &str, admin: &Bearer) -> Result<(), Problem> {
    if !io::stdin().is_terminal() {
        let message = "deleting a session cannot be undone, and nobody can be asked";
        return Err(Problem::usage(message).next("add --yes when that is meant"));
    }
    let reply = server.send(&server.client.get(&["v1", "sessions", id], &[]), Some(admin))?;
    let session: Session = parse(&reply, &server.client)?;
    let mut terminal = anstream::stderr();
    let asked = write!(
        terminal,
        "{YELLOW}Delete{YELLOW:#} {BOLD}{id}{BOLD:#} with {} keys, {} tokens? This cannot be \
         undone. [y/N] ",
        session.key_count, session.total_tokens
    );
    let mut answer = String::new();
    let read = asked
        .and_then(|()| terminal.flush())
        .and_then(|()| io::stdin().lock().read_line(&mut answer));
    match read {
        Ok(_) if matches!(answer.trim(), "y" | "Y" | "yes") => Ok(()),
        _ => Err(Problem::usage("nothing was deleted").next("answer y to delete it")),
    }
}

fn audit(
    server: &Server,
    id: &str,
    since: Option<u64>,
    limit: Option<u64>,
    output: Output,
) -> Result<(), Problem> {
    let query: Vec<(&str, String)> = [("since", since), ("limit", limit)]
        .into_iter()
        .filter_map(|(name, number)| Some((name, number?.to_string())))
        .collect();
    let call = server.client.get(&["v1", "sessions", id, "audit"], &query);
    let reply = server.send(&call, Some(&server.admin()?))?;
    output.answer(&reply, || {
        let page: AuditPage = parse(&reply, &server.client)?;
        if let Some(next) = page.next_since {
            remark(&format!("there are more: --since {next}"));
        }
        Ok(page.human(output))
    })
}
