//! `snapshot`: labelled copies of a session's entries.

use clap::Subcommand;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    argument::SessionName,
    caller::CallerArgs,
    client::{Bearer, parse},
    confirm::confirm,
    output::{BOLD, Output, YELLOW, plain},
    problem::Problem,
    reply::{
        DeleteSnapshotReply, Diff, Human, ReadReply, ReadSnapshotReply, RestoreReply, SnapshotInfo,
        Snapshots,
    },
    server::{Server, ServerArgs},
};

/// Take, list, read, compare, restore and delete snapshots
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  shared-context snapshot take ticket-7 before-review --as orchestrator
  shared-context snapshot list ticket-7
  shared-context snapshot diff ticket-7 before-review
  shared-context snapshot restore ticket-7 before-review --as orchestrator

A snapshot keeps all entries as they are, under a label. Taking one copies no
value, and what it keeps does not count toward the session's tokens."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Save all entries as they are, under a label
    #[command(after_help = "\
Examples:
  shared-context snapshot take ticket-7 before-review --as orchestrator
  shared-context snapshot take ticket-7 v2 --note 'all experts done' \\
    --as orchestrator")]
    Take {
        /// The session; . is the default one
        session: SessionName,
        /// 1 to 64 of A-Z a-z 0-9 . _ - starting with a letter or digit
        label: String,
        /// What to remember about it
        #[arg(long, env = "SHARED_CONTEXT_NOTE", value_name = "TEXT")]
        note: Option<String>,
        #[command(flatten)]
        caller: CallerArgs,
    },
    /// List the snapshots, oldest first
    #[command(
        alias = "ls",
        after_help = "\
Examples:
  shared-context snapshot list ticket-7
  shared-context snapshot list ticket-7 --json | jq -r '.snapshots[].label'"
    )]
    List {
        /// The session; . is the default one
        session: SessionName,
        #[command(flatten)]
        caller: CallerArgs,
    },
    /// Show what a snapshot holds, or one entry of it
    #[command(after_help = "\
Examples:
  shared-context snapshot read ticket-7 before-review
  shared-context snapshot read ticket-7 before-review scope")]
    Read {
        /// The session; . is the default one
        session: SessionName,
        /// The snapshot
        label: String,
        /// Only this entry
        key: Option<String>,
        #[command(flatten)]
        caller: CallerArgs,
    },
    /// Show what differs between two snapshots, or between one and now
    #[command(after_help = "\
Examples:
  shared-context snapshot diff ticket-7 before-review
  shared-context snapshot diff ticket-7 before-review after-review

A line per key: + added, - removed, ~ changed, with its gain or loss of tokens.")]
    Diff {
        /// The session; . is the default one
        session: SessionName,
        /// The earlier snapshot
        from: String,
        /// The later one [default: the entries as they are now]
        to: Option<String>,
        #[command(flatten)]
        caller: CallerArgs,
    },
    /// Restore all entries to those of a snapshot, in one change
    #[command(after_help = "\
Example:
  shared-context snapshot restore ticket-7 before-review --as orchestrator

Entries that differ get a new version, and entries that the snapshot lacks are
deleted. The history keeps the replaced versions.")]
    Restore {
        /// The session; . is the default one
        session: SessionName,
        /// The snapshot
        label: String,
        #[command(flatten)]
        caller: CallerArgs,
    },
    /// Delete a snapshot
    #[command(
        alias = "rm",
        after_help = "\
Examples:
  shared-context snapshot delete ticket-7 v1 --as orchestrator   asks first
  shared-context snapshot delete ticket-7 v1 --as orchestrator --yes"
    )]
    Delete {
        /// The session; . is the default one
        session: SessionName,
        /// The snapshot
        label: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        caller: CallerArgs,
    },
}

/// Runs `snapshot`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let server = arguments.server.server()?;
    match &arguments.command {
        Command::Take { session, label, note, caller } => {
            let session = &server.session(session)?;
            let request = json!({"action": "snapshot", "label": label, "note": note});
            let bearer = caller.participant_bearer(&server, session)?;
            answer::<SnapshotInfo>(&server, session, &bearer, &request, output)
        }
        Command::List { session, caller } => {
            let session = &server.session(session)?;
            let request = json!({"action": "list_snapshots"});
            let bearer = caller.bearer(&server, session)?;
            answer::<Snapshots>(&server, session, &bearer, &request, output)
        }
        Command::Read { session, label, key, caller } => {
            let session = &server.session(session)?;
            let request = json!({"action": "read_snapshot", "label": label, "key": key});
            let bearer = caller.bearer(&server, session)?;
            match key {
                Some(_) => answer::<ReadReply>(&server, session, &bearer, &request, output),
                None => answer::<ReadSnapshotReply>(&server, session, &bearer, &request, output),
            }
        }
        Command::Diff { session, from, to, caller } => {
            let session = &server.session(session)?;
            let request = json!({"action": "diff_snapshots", "from": from, "to": to});
            let bearer = caller.bearer(&server, session)?;
            answer::<Diff>(&server, session, &bearer, &request, output)
        }
        Command::Restore { session, label, caller } => {
            let session = &server.session(session)?;
            let request = json!({"action": "restore_snapshot", "label": label});
            let bearer = caller.participant_bearer(&server, session)?;
            answer::<RestoreReply>(&server, session, &bearer, &request, output)
        }
        Command::Delete { session, label, yes, caller } => {
            let session = &server.session(session)?;
            let bearer = caller.participant_bearer(&server, session)?;
            confirm(*yes, "deleting a snapshot", || {
                let (label, session) = (plain(label), plain(session));
                Ok(format!("{YELLOW}Delete{YELLOW:#} snapshot {BOLD}{label}{BOLD:#} of {session}?"))
            })?;
            let request = json!({"action": "delete_snapshot", "label": label});
            answer::<DeleteSnapshotReply>(&server, session, &bearer, &request, output)
        }
    }
}

/// Sends `request` and prints the reply, which is a `T`.
fn answer<T: DeserializeOwned + Human>(
    server: &Server,
    session: &str,
    bearer: &Bearer,
    request: &Value,
    output: Output,
) -> Result<(), Problem> {
    let reply = server.tool(session, bearer, request.to_string())?;
    output.answer(&reply, || Ok(parse::<T>(&reply, &server.client)?.human(output)))
}
