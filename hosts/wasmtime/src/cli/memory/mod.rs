//! `memory`: what the sessions of a project remember.
//!
//! `write` adds and changes memories, `content` reads what they say, `search` finds them.
//!
//! # Invariant
//!
//! `rehydrate` and `log` print their text and nothing else on standard output.

mod content;
mod search;
mod write;

use clap::Subcommand;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(super) use self::write::present;
use super::{
    answer::answer_as,
    argument::{number, switch},
    caller::ProjectCallerArgs,
    client::{Call, parse},
    confirm::confirm,
    output::{BOLD, Output, YELLOW, plain, remark},
    problem::Problem,
    reply::{
        DecisionLog, Human, Maintained, MarkedMemories, ReadMemories, RedactedMemory, Rehydrated,
        SupersededMemory,
    },
    server::{Server, ServerArgs},
};

/// Add, find, read, change and maintain the memories of a project
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  shared-context memory add webshop --type decision --title 'PostgreSQL' \\
    --set decision='Orders are in PostgreSQL.' --as orchestrator --in ticket-7
  shared-context memory search webshop 'where are orders'
  shared-context memory rehydrate webshop --task 'Add refunds'
  shared-context memory log webshop > DECISIONS.md

A memory belongs to a project, see `shared-context project`, and outlives its
sessions. The operator calls, or a participant of one of the sessions: by its
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
    Add(Box<write::AddArguments>),
    Search(Box<search::Arguments>),
    /// Print memories with their content; this counts as a read
    #[command(after_help = "\
Examples:
  shared-context memory show webshop DEC-2026-03-02-001
  shared-context memory show webshop DEC-2026-03-02-001 --json \\
    | jq '.memories[].content'")]
    Show {
        /// The project
        project: String,
        /// The ids of memories; of a decision also such as DEC-2026-03-02-001
        #[arg(value_name = "ID", required = true)]
        memories: Vec<String>,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Print the versions of a memory that are kept, the newest first
    #[command(after_help = "\
Example:
  shared-context memory history webshop DEC-2026-03-02-001")]
    History {
        /// The project
        project: String,
        /// The memory
        #[arg(value_name = "ID")]
        memory: String,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    Update(Box<write::UpdateArguments>),
    /// Replace a memory by another one that exists
    #[command(after_help = "\
Example:
  shared-context memory supersede webshop DEC-2026-03-02-001 \\
    --by DEC-2026-03-09-001

The old one is archived, and the two are linked. `memory add --supersedes` adds
a memory and replaces others in one step.")]
    Supersede {
        /// The project
        project: String,
        /// The memory that no longer holds
        #[arg(value_name = "ID")]
        memory: String,
        /// The memory that holds instead
        #[arg(long, value_name = "ID")]
        by: String,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Archive memories, restore them, confirm them, or mark them for removal
    #[command(after_help = "\
Examples:
  shared-context memory mark webshop DEC-2026-03-02-001 --as archived
  shared-context memory mark webshop DEC-2026-03-02-001 --as verified

  archived  kept, and found only with --archived
  active    not archived, not marked for removal, not replaced
  verified  confirmed: the decision of an agent counts from then on
  deleted   removed by the next `memory maintain`

The operator calls, or the orchestrator whose credential is in
`SHARED_CONTEXT_TOKEN` or in the profile.")]
    Mark {
        /// The project
        project: String,
        /// The ids of memories; of a decision also such as DEC-2026-03-02-001
        #[arg(value_name = "ID", required = true)]
        memories: Vec<String>,
        /// archived, active, verified or deleted
        #[arg(long = "as", env = "SHARED_CONTEXT_MARK_AS", value_name = "MARK")]
        mark: String,
    },
    /// Archive and remove memories by rules of age and importance
    #[command(after_help = "\
Examples:
  shared-context memory maintain webshop --dry-run
  shared-context memory maintain webshop --as orchestrator --in ticket-7

Memories of importance 8 and more are kept for ever, of 5 to 7 for at least 30
days, others for at least 7 days.")]
    Maintain {
        /// The project
        project: String,
        /// Only show what would be done
        #[arg(long, env = "SHARED_CONTEXT_MAINTAIN_DRY_RUN", value_parser = switch)]
        dry_run: bool,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Print what a new session should know, as text for a prompt
    #[command(after_help = "\
Examples:
  shared-context memory rehydrate webshop --max-tokens 4000
  shared-context memory rehydrate webshop --task 'Add JWT auth' > context.md

The newest state, important decisions, open issues and lessons; with --task also
older memories that it has words in common with. In a pipe or a file the text is
printed byte for byte.")]
    Rehydrate {
        /// The project
        project: String,
        /// What the session is about
        #[arg(long, env = "SHARED_CONTEXT_REHYDRATE_TASK", value_name = "TEXT")]
        task: Option<String>,
        /// Its budget, 500 to 200000 [default: 20000]
        #[arg(long, env = "SHARED_CONTEXT_MAX_TOKENS", value_name = "N", value_parser = number)]
        max_tokens: Option<u64>,
        /// Include memories that are not verified
        #[arg(long, env = "SHARED_CONTEXT_REHYDRATE_UNVERIFIED", value_parser = switch)]
        unverified: bool,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Print all decisions as Markdown, the newest first
    #[command(after_help = "\
Examples:
  shared-context memory log webshop > DECISIONS.md
  shared-context memory log webshop --limit 1000")]
    Log {
        /// The project
        project: String,
        /// At most this many, up to 1000 [default: 100]
        #[arg(long, env = "SHARED_CONTEXT_LIMIT", value_name = "N", value_parser = number)]
        limit: Option<u64>,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Remove the content of a memory from all its versions, for good
    #[command(after_help = "\
Examples:
  shared-context memory redact webshop DEC-2026-03-02-001 \\
    --reason 'held a password'         asks first
  shared-context memory redact webshop DEC-2026-03-02-001 \\
    --reason 'held a password' --yes")]
    Redact {
        /// The project
        project: String,
        /// The id of the memory
        #[arg(value_name = "ID")]
        memory: String,
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

/// Runs `memory`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let server = arguments.server.server()?;
    let post = |project: &str, path: &[&str], body: Value| {
        let path = [&["v1", "projects", project], path].concat();
        server.client.post(&path, body.to_string())
    };
    match &arguments.command {
        Command::Add(it) => write::add(it, &server, output),
        Command::Search(it) => search::run(it, &server, output),
        Command::Update(it) => write::update(it, &server, output),
        Command::Show { project, memories, caller } => {
            let call = post(project, &["memories", "read"], json!({"ids": memories}));
            answer::<ReadMemories>(&server, &call, caller, output)
        }
        Command::Supersede { project, memory, by, caller } => {
            let call = post(project, &["memories", memory, "supersede"], json!({"by": by}));
            let bearer = caller.bearer(&server)?;
            answer_as(&server, &call, &bearer, output, |it| {
                SupersededMemory::name(it, memory, by);
            })
        }
        Command::History { project, memory, caller } => {
            let path = ["v1", "projects", project, "memories", memory, "history"];
            let call = server.client.get(&path, &[]);
            answer::<ReadMemories>(&server, &call, caller, output)
        }
        Command::Mark { project, memories, mark } => {
            let request = json!({"ids": memories, "mark": mark});
            let call = post(project, &["memories", "marks"], request);
            let bearer = ProjectCallerArgs::default().bearer(&server)?;
            answer_as(&server, &call, &bearer, output, |it| MarkedMemories::name(it, memories))
        }
        Command::Maintain { project, dry_run, caller } => {
            let call = post(project, &["maintain"], json!({"dry_run": dry_run}));
            answer::<Maintained>(&server, &call, caller, output)
        }
        Command::Rehydrate { project, task, max_tokens, unverified, caller } => {
            let request = present([
                ("task", task.clone().map(Value::from)),
                ("max_tokens", max_tokens.map(Value::from)),
                ("include_unverified", unverified.then_some(Value::Bool(true))),
            ]);
            let call = post(project, &["rehydrate"], request.into());
            rehydrate(&server, &call, caller, output)
        }
        Command::Log { project, limit, caller } => {
            let query: Vec<_> = limit.iter().map(|it| ("limit", it.to_string())).collect();
            let call = server.client.get(&["v1", "projects", project, "decisions"], &query);
            log(&server, &call, caller, output)
        }
        Command::Redact { project, memory, reason, yes, caller } => {
            let bearer = caller.bearer(&server)?;
            confirm(*yes, "redacting a memory", || {
                let (memory, project) = (plain(memory), plain(project));
                Ok(format!("{YELLOW}Redact{YELLOW:#} {BOLD}{memory}{BOLD:#} of {project}?"))
            })?;
            let call = post(project, &["memories", memory, "redact"], json!({"reason": reason}));
            answer_as(&server, &call, &bearer, output, |it| RedactedMemory::name(it, memory))
        }
    }
}

/// Sends `call` and prints the reply, which is a `T`.
fn answer<T: DeserializeOwned + Human>(
    server: &Server,
    call: &Call,
    caller: &ProjectCallerArgs,
    output: Output,
) -> Result<(), Problem> {
    super::answer::answer::<T>(server, call, &caller.bearer(server)?, output)
}

/// Prints what a new session should know, and on standard error what is not in it.
fn rehydrate(
    server: &Server,
    call: &Call,
    caller: &ProjectCallerArgs,
    output: Output,
) -> Result<(), Problem> {
    let reply = server.send(call, Some(&caller.bearer(server)?))?;
    if output.is_json {
        return output.answer(&reply, || Ok(String::new()));
    }
    let told: Rehydrated = parse(&reply, &server.client)?;
    output.exact_text(&told.text)?;
    remark(&told.summary());
    Ok(())
}

/// Prints the log of decisions, and on standard error whether it is whole.
fn log(
    server: &Server,
    call: &Call,
    caller: &ProjectCallerArgs,
    output: Output,
) -> Result<(), Problem> {
    let reply = server.send(call, Some(&caller.bearer(server)?))?;
    if output.is_json {
        return output.answer(&reply, || Ok(String::new()));
    }
    let DecisionLog { text, count, total } = parse(&reply, &server.client)?;
    output.exact_text(&text)?;
    if count < total {
        remark(&format!("{count} of {total} decisions; --limit takes more"));
    }
    Ok(())
}
