//! `handoff`: passes work on from one agent to another.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::{
    answer::answer,
    argument::number,
    caller::ProjectCallerArgs,
    client::{Bearer, Call},
    confirm::confirm,
    file,
    output::{BOLD, Output, YELLOW, plain},
    problem::Problem,
    reply::{DecisionTrace, HandoffRead, HandoffReply, Handoffs},
    server::{Server, ServerArgs},
};

/// Pass work on: offer, accept, decline, take over, list and show handoffs
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  shared-context handoff offer webshop --to subagent:impl --type complete \\
    --summary 'Login works; refunds are next.' --as subagent:plan --in ticket-7
  shared-context handoff accept webshop HND-1 --as subagent:impl --in ticket-7
  shared-context handoff list webshop
  shared-context handoff show webshop HND-1 --json | jq .package

A participant of one of the project's sessions calls: by its credential, or with
--as and --in. The operator lists, shows, traces and redacts."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Offer your work to another agent
    #[command(
        override_usage = "\
shared-context handoff offer <PROJECT> --to <WHO> --type <TYPE>
                                    --summary <TEXT> [OPTIONS]",
        after_help = "\
Examples:
  shared-context handoff offer webshop --to subagent:impl --type complete \\
    --summary 'Login works.' --section §2.3 --as subagent:plan --in ticket-7
  shared-context handoff offer webshop --to subagent:dba --type specialist \\
    --summary 'Schema design' --file offer.json --as subagent:plan --in ticket-7

  complete      the task is done; up to 25000 tokens
  specialist    a part for a specialist; up to 10000
  continuation  a fresh agent goes on; up to 40000
  emergency     accepted with the offer; up to 15000

--file has further members of the request, such as completed, immediate,
known_pitfalls, packet and items."
    )]
    Offer {
        /// The project
        project: String,
        /// The participant that receives
        #[arg(long, value_name = "WHO")]
        to: String,
        /// complete, specialist, continuation or emergency
        #[arg(long = "type", env = "SHARED_CONTEXT_OFFER_TYPE", value_name = "TYPE")]
        handoff_type: String,
        /// What the work is, and how far it is
        #[arg(long, env = "SHARED_CONTEXT_OFFER_SUMMARY", value_name = "TEXT")]
        summary: String,
        /// The marker of a section that you own; may be repeated
        #[arg(long, value_name = "MARKER")]
        section: Vec<String>,
        /// A JSON object with further members of the request
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// The most tokens of the package
        #[arg(long, env = "SHARED_CONTEXT_MAX_TOKENS", value_name = "N", value_parser = number)]
        max_tokens: Option<u64>,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Accept a handoff to you
    #[command(after_help = "\
Example:
  shared-context handoff accept webshop HND-1 --as subagent:impl --in ticket-7")]
    Accept {
        /// The project
        project: String,
        /// The id of the handoff
        #[arg(value_name = "ID")]
        handoff: String,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Decline a handoff to you, or withdraw one of yours
    #[command(after_help = "\
Example:
  shared-context handoff decline webshop HND-1 --reason 'no time' \\
    --as subagent:impl --in ticket-7")]
    Decline {
        /// The project
        project: String,
        /// The id of the handoff
        #[arg(value_name = "ID")]
        handoff: String,
        /// Why, in a line
        #[arg(long, env = "SHARED_CONTEXT_REASON", value_name = "TEXT")]
        reason: String,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Take sections over from an agent that does not answer
    #[command(after_help = "\
Example:
  shared-context handoff take-over webshop --from subagent:impl \\
    --section §2.3 --as orchestrator --in ticket-7

The former owner is told with its next call, and cannot write any more.")]
    TakeOver {
        /// The project
        project: String,
        /// The participant that does not answer
        #[arg(long, value_name = "PARTICIPANT")]
        from: String,
        /// The participant that receives [default: the orchestrator]
        #[arg(long, value_name = "PARTICIPANT")]
        to: Option<String>,
        /// The marker of a section; may be repeated [default: all that it owns]
        #[arg(long, value_name = "MARKER")]
        section: Vec<String>,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// List handoffs, the newest first
    #[command(after_help = "\
Examples:
  shared-context handoff list webshop
  shared-context handoff list webshop --state offered --agent subagent:impl")]
    List {
        /// The project
        project: String,
        /// Only offered, accepted, declined or expired ones
        #[arg(long, env = "SHARED_CONTEXT_LIST_STATE", value_name = "STATE")]
        state: Option<String>,
        /// Only those from or to this participant
        #[arg(long, env = "SHARED_CONTEXT_LIST_AGENT", value_name = "PARTICIPANT")]
        agent: Option<String>,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Show a handoff and what its package says; with --json all of the package
    #[command(after_help = "\
Examples:
  shared-context handoff show webshop HND-1
  shared-context handoff show webshop HND-1 --json | jq .package")]
    Show {
        /// The project
        project: String,
        /// The id of the handoff
        #[arg(value_name = "ID")]
        handoff: String,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Show what a decision is linked with: what it replaced, what replaced it, and
    /// the handoffs and sessions that had it
    #[command(after_help = "\
Example:
  shared-context handoff trace webshop DEC-2026-03-02-001")]
    Trace {
        /// The project
        project: String,
        /// The id of a memory; of a decision also such as DEC-2026-03-02-001
        #[arg(value_name = "ID")]
        memory: String,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Remove the package of a handoff, for good
    #[command(after_help = "\
Examples:
  shared-context handoff redact webshop HND-1 --reason 'held a password'
  shared-context handoff redact webshop HND-1 --reason 'held a password' --yes

The operator calls, or an orchestrator.")]
    Redact {
        /// The project
        project: String,
        /// The id of the handoff
        #[arg(value_name = "ID")]
        handoff: String,
        /// Why, in a line; it is kept, so it must not repeat the package
        #[arg(long, env = "SHARED_CONTEXT_REASON", value_name = "TEXT")]
        reason: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
}

/// Runs `handoff`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let server = arguments.server.server()?;
    let post = |project: &str, path: &[&str], body: Value| {
        let path = [&["v1", "projects", project, "handoffs"], path].concat();
        server.client.post(&path, body.to_string())
    };
    match &arguments.command {
        Command::Offer {
            project,
            to,
            handoff_type,
            summary,
            section,
            file,
            max_tokens,
            caller,
        } => {
            let mut request = further(file.as_ref())?;
            for (name, value) in [
                ("to_agent", Some(json!(to))),
                ("handoff_type", Some(json!(handoff_type))),
                ("summary", Some(json!(summary))),
                ("sections", (!section.is_empty()).then(|| json!(section))),
                ("max_tokens", max_tokens.map(Value::from)),
            ] {
                request.extend(value.map(|it| (name.to_owned(), it)));
            }
            let bearer = caller.participant_bearer(&server)?;
            handoff(&server, &post(project, &[], request.into()), &bearer, output)
        }
        Command::Accept { project, handoff: id, caller } => {
            let bearer = caller.participant_bearer(&server)?;
            let call = post(project, &[id, "accept"], json!({}));
            answer::<HandoffRead>(&server, &call, &bearer, output)
        }
        Command::Decline { project, handoff: id, reason, caller } => {
            let bearer = caller.participant_bearer(&server)?;
            let call = post(project, &[id, "decline"], json!({"reason": reason}));
            handoff(&server, &call, &bearer, output)
        }
        Command::TakeOver { project, from, to, section, caller } => {
            let mut request = json!({"from_agent": from, "to_agent": to, "sections": section});
            if let Some(members) = request.as_object_mut() {
                members.retain(|_, it| !it.is_null() && *it != json!([]));
            }
            let bearer = caller.participant_bearer(&server)?;
            handoff(&server, &post(project, &["take-over"], request), &bearer, output)
        }
        Command::List { project, state, agent, caller } => {
            let query: Vec<_> = [("state", state), ("agent_id", agent)]
                .into_iter()
                .filter_map(|(name, text)| Some((name, text.clone()?)))
                .collect();
            let call = server.client.get(&["v1", "projects", project, "handoffs"], &query);
            answer::<Handoffs>(&server, &call, &caller.bearer(&server)?, output)
        }
        Command::Show { project, handoff: id, caller } => {
            let call = server.client.get(&["v1", "projects", project, "handoffs", id], &[]);
            answer::<HandoffRead>(&server, &call, &caller.bearer(&server)?, output)
        }
        Command::Trace { project, memory, caller } => {
            let path = ["v1", "projects", project, "decisions", memory, "trace"];
            let call = server.client.get(&path, &[]);
            answer::<DecisionTrace>(&server, &call, &caller.bearer(&server)?, output)
        }
        Command::Redact { project, handoff: id, reason, yes, caller } => {
            let bearer = caller.bearer(&server)?;
            confirm(*yes, "redacting a handoff", || {
                let (id, project) = (plain(id), plain(project));
                Ok(format!("{YELLOW}Redact{YELLOW:#} {BOLD}{id}{BOLD:#} of {project}?"))
            })?;
            let call = post(project, &[id, "redact"], json!({"reason": reason}));
            handoff(&server, &call, &bearer, output)
        }
    }
}

/// Reads further members of a request.
fn further(file: Option<&PathBuf>) -> Result<Map<String, Value>, Problem> {
    let Some(path) = file else { return Ok(Map::new()) };
    let text = file::read(path, "the members of the request")?;
    serde_json::from_str(&text).map_err(|error| {
        Problem::usage(format!("{} is no JSON object: {error}", file::name(path)))
            .next("send an object with members such as completed, immediate and packet")
    })
}

/// Sends `call` and prints the handoff that it returns.
fn handoff(server: &Server, call: &Call, bearer: &Bearer, output: Output) -> Result<(), Problem> {
    answer::<HandoffReply>(server, call, bearer, output)
}
