//! `outline`: the map of a project, and who owns its sections.
//!
//! `put` writes sections, `own` changes who owns them, `coordination` is what the team shares about
//! its work.
//!
//! # Invariant
//!
//! `index` prints its text and nothing else on standard output.

mod coordination;
mod own;
mod put;

use clap::Subcommand;
use serde_json::{Value, json};

use super::{
    answer::answer,
    argument::number,
    caller::ProjectCallerArgs,
    client::{Bearer, Call, parse},
    confirm::confirm,
    memory::present,
    output::{BOLD, Output, YELLOW, plain, remark},
    problem::Problem,
    reply::{DeletedSection, Human, OutlineFindings, OutlineIndex, ReadSections, RedactedSection},
    server::{Server, ServerArgs},
};

/// The section that is shown if none is named: the summary.
const SUMMARY: &str = "1.0";

/// Read, write, check and own the sections of a project's map
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  shared-context outline index webshop
  shared-context outline show webshop 2.1 --level 3
  shared-context outline acquire webshop 2.1 --as subagent:impl --in ticket-7
  shared-context outline put webshop 2.1 --status 'IN PROGRESS' --progress 60 \\
    --as subagent:impl --in ticket-7
  shared-context outline check webshop

A marker names a section: its level, 1 to 4, and its parts, as in 2.1, 3.1.2 and
4.services.auth; the sign § may be left out. The operator reads, checks and
redacts. A participant of one of the project's sessions does the rest: by its
credential, or with --as and --in."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show a section, or the sections of another level that it links to
    #[command(after_help = "\
Examples:
  shared-context outline show webshop                   the summary
  shared-context outline show webshop 2.1
  shared-context outline show webshop 2.1 --level 3     its details
  shared-context outline show webshop 2.1 --version 4
  shared-context outline show webshop 2.1 --json | jq -r '.sections[0].content'

A section that is not loaded is shown with its own level.")]
    Show {
        /// The project
        project: String,
        /// The marker of a section
        #[arg(default_value = SUMMARY)]
        marker: String,
        /// The sections of this level that it leads to, 1 to 4
        #[arg(long, value_name = "N", value_parser = number)]
        level: Option<u64>,
        /// An earlier version [default: the newest]
        #[arg(long, value_name = "N", value_parser = number)]
        version: Option<u64>,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Print the index: the sections, and where to find each topic
    #[command(after_help = "\
Examples:
  shared-context outline index webshop
  shared-context outline index webshop --budget 2000 > index.md

A small budget leaves out files first, then details, shortcuts and parts.
In a pipe or a file the text is printed byte for byte.")]
    Index {
        /// The project
        project: String,
        /// The most tokens, 50 to 20000 [default: 500]
        #[arg(
            long,
            env = "SHARED_CONTEXT_INDEX_BUDGET",
            value_name = "N",
            value_parser = number
        )]
        budget: Option<u64>,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Find broken links, missing details, replaced decisions and more
    #[command(after_help = "\
Examples:
  shared-context outline check webshop
  shared-context outline check webshop --json | jq -r '.findings[].code'

The operator calls, or an orchestrator.")]
    Check {
        /// The project
        project: String,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    Put(Box<put::Arguments>),
    /// Remove a section with its versions
    #[command(after_help = "\
Examples:
  shared-context outline delete webshop 3.1 \\
    --as subagent:impl --in ticket-7               asks first
  shared-context outline delete webshop 3.1 --yes --if-version 4 \\
    --as subagent:impl --in ticket-7")]
    Delete {
        /// The project
        project: String,
        /// The marker of the section
        marker: String,
        /// Only if the section has this version
        #[arg(long, value_name = "N", value_parser = number)]
        if_version: Option<u64>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    Acquire(own::AcquireArguments),
    Renew(own::RenewArguments),
    Release(own::ReleaseArguments),
    Transfer(own::TransferArguments),
    Coordination(coordination::Arguments),
    /// Remove the content of a section from all its versions, for good
    #[command(
        override_usage = "\
shared-context outline redact <PROJECT> <MARKER> --reason <TEXT> [--yes]",
        after_help = "\
Examples:
  shared-context outline redact webshop 3.1 \\
    --reason 'held a password'                     asks first
  shared-context outline redact webshop 3.1 --reason 'held a password' --yes

The operator calls, or an orchestrator."
    )]
    Redact {
        /// The project
        project: String,
        /// The marker of the section
        marker: String,
        /// Why, in a line; it is kept, so it must not repeat the content
        #[arg(long, env = "SHARED_CONTEXT_REASON", value_name = "TEXT")]
        reason: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
}

/// Runs `outline`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let server = arguments.server.server()?;
    match &arguments.command {
        Command::Show { project, marker, level, version, caller } => {
            let query: Vec<_> = [("level", level), ("version", version)]
                .into_iter()
                .filter_map(|(name, number)| Some((name, number.as_ref()?.to_string())))
                .collect();
            let call = server.client.get(&section(project, marker), &query);
            show(&server, &call, &caller.bearer(&server)?, output)
        }
        Command::Index { project, budget, caller } => {
            let query: Vec<_> = budget.iter().map(|it| ("max_tokens", it.to_string())).collect();
            let call = server.client.get(&["v1", "projects", project, "outline"], &query);
            index(&server, &call, &caller.bearer(&server)?, output)
        }
        Command::Check { project, caller } => {
            let call = server.client.get(&["v1", "projects", project, "outline", "check"], &[]);
            answer::<OutlineFindings>(&server, &call, &caller.bearer(&server)?, output)
        }
        Command::Put(it) => put::run(it, &server, output),
        Command::Delete { project, marker, if_version, yes, caller } => {
            let bearer = caller.participant_bearer(&server)?;
            confirm(*yes, "deleting a section", || {
                let (marker, project) = (plain(marker), plain(project));
                Ok(format!("{YELLOW}Delete{YELLOW:#} {BOLD}{marker}{BOLD:#} of {project}?"))
            })?;
            // A condition is a member of the request, and a DELETE has no body.
            let request = present([
                ("action", Some(json!("delete_section"))),
                ("marker", Some(json!(marker))),
                ("if_version", if_version.map(Value::from)),
            ]);
            let path = ["v1", "projects", project, "shared_context"];
            let call = server.client.post(&path, Value::Object(request).to_string());
            answer::<DeletedSection>(&server, &call, &bearer, output)
        }
        Command::Acquire(it) => own::acquire(it, &server, output),
        Command::Renew(it) => own::renew(it, &server, output),
        Command::Release(it) => own::release(it, &server, output),
        Command::Transfer(it) => own::transfer(it, &server, output),
        Command::Coordination(it) => coordination::run(it, &server, output),
        Command::Redact { project, marker, reason, yes, caller } => {
            let bearer = caller.bearer(&server)?;
            confirm(*yes, "redacting a section", || {
                let (marker, project) = (plain(marker), plain(project));
                Ok(format!("{YELLOW}Redact{YELLOW:#} {BOLD}{marker}{BOLD:#} of {project}?"))
            })?;
            let path = [&section(project, marker)[..], &["redact"]].concat();
            let call = server.client.post(&path, json!({"reason": reason}).to_string());
            answer::<RedactedSection>(&server, &call, &bearer, output)
        }
    }
}

/// Returns the path of a section. A marker has no sign there.
fn section<'a>(project: &'a str, marker: &'a str) -> [&'a str; 5] {
    ["v1", "projects", project, "outline", marker.strip_prefix('§').unwrap_or(marker)]
}

/// Prints sections, and on standard error the markers of those that did not fit.
fn show(server: &Server, call: &Call, bearer: &Bearer, output: Output) -> Result<(), Problem> {
    let reply = server.send(call, Some(bearer))?;
    output.answer(&reply, || {
        let read: ReadSections = parse(&reply, &server.client)?;
        if !read.more.is_empty() {
            remark(&format!("there are more, show them one by one: {}", read.more.join(", ")));
        }
        Ok(read.human(output))
    })
}

/// Prints the index, and on standard error how to see more of it.
fn index(server: &Server, call: &Call, bearer: &Bearer, output: Output) -> Result<(), Problem> {
    let reply = server.send(call, Some(bearer))?;
    if output.is_json {
        return output.answer(&reply, || Ok(String::new()));
    }
    let index: OutlineIndex = parse(&reply, &server.client)?;
    output.exact_text(&index.text)?;
    if let Some(omitted) = index.omitted() {
        remark(&format!("{omitted} did not fit; --budget takes more"));
    }
    Ok(())
}
