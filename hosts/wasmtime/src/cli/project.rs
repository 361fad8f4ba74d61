//! `project`: creates, shows, lists, watches, moves, archives and deletes projects.

use clap::Subcommand;
use serde_json::Value;

use super::{
    argument::number,
    caller::ProjectCallerArgs,
    client::{Call, parse},
    confirm::confirm,
    memory::present,
    move_project,
    output::{BOLD, GREEN, Output, YELLOW, plain, remark},
    problem::Problem,
    reply::{ChangesPage, Human, Project, ProjectSessions, Projects, memories},
    server::{Server, ServerArgs},
    watch::{Feed, watch},
};

/// Create, show, list, move, archive and delete projects: what sessions share
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  shared-context project create webshop
  shared-context session create ticket-7 --config '{\"project\":\"webshop\"}'
  shared-context project list
  shared-context project delete webshop --yes

A project outlives the sessions that name it. It keeps memories, see
`shared-context memory`."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a project
    #[command(after_help = "\
Examples:
  shared-context project create webshop
  shared-context project create webshop --memories-max 50000

A session belongs to the project that its configuration names:
  shared-context session create ticket-7 --config '{\"project\":\"webshop\"}'")]
    Create {
        /// 1 to 128 of A-Z a-z 0-9 . _ - starting with a letter or digit
        project: String,
        /// The most memories, 1 to 50000 [default: 10000]
        #[arg(
            long,
            env = "SHARED_CONTEXT_MEMORIES_MAX",
            value_name = "N",
            value_parser = number
        )]
        memories_max: Option<u64>,
        /// The token counter: approximate, or an encoding of the host [default: approximate]
        #[arg(long, env = "SHARED_CONTEXT_ESTIMATOR", value_name = "NAME")]
        estimator: Option<String>,
    },
    /// List the sessions that worked on a project, the latest first
    #[command(after_help = "\
Examples:
  shared-context project sessions webshop
  shared-context project sessions webshop --limit 10 --json")]
    Sessions {
        /// The project
        project: String,
        /// At most this many, up to 1000 [default: 100]
        #[arg(long, env = "SHARED_CONTEXT_LIMIT", value_name = "N", value_parser = number)]
        limit: Option<u64>,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    Export(move_project::ExportArguments),
    Import(move_project::ImportArguments),
    /// List projects, in the order of their ids
    #[command(
        alias = "ls",
        after_help = "\
Examples:
  shared-context project list
  shared-context project list --after webshop --limit 20
  shared-context project list --json | jq -r '.projects[].project_id'"
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
        /// Only those whose id starts with this
        #[arg(long, env = "SHARED_CONTEXT_PREFIX", value_name = "TEXT")]
        prefix: Option<String>,
    },
    /// Show a project's memories, sessions and limits in numbers
    #[command(after_help = "\
Examples:
  shared-context project show webshop
  shared-context project show webshop --json | jq .memory_count")]
    Show {
        /// The project
        project: String,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Make a project read-only, for good
    #[command(after_help = "Example:\n  shared-context project archive webshop")]
    Archive {
        /// The project
        project: String,
    },
    /// Delete a project and all it holds; sessions that name it stay
    #[command(
        alias = "rm",
        after_help = "\
Examples:
  shared-context project delete webshop         asks first
  shared-context project delete webshop --yes   for scripts"
    )]
    Delete {
        /// The project
        project: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Show who changed what and when, without contents
    #[command(after_help = "\
Examples:
  shared-context project changes webshop
  shared-context project changes webshop --since 12 --limit 1000")]
    Changes {
        /// The project
        project: String,
        /// Begin after this revision [default: with the oldest that is kept]
        #[arg(long, env = "SHARED_CONTEXT_SINCE", value_name = "REVISION", value_parser = number)]
        since: Option<u64>,
        /// At most this many commits, up to 1000
        #[arg(long, env = "SHARED_CONTEXT_LIMIT", value_name = "N", value_parser = number)]
        limit: Option<u64>,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    /// Show changes as they happen, until Ctrl-C
    #[command(after_help = "\
Examples:
  shared-context project watch webshop
  shared-context project watch webshop --as subagent:impl --in ticket-7
  shared-context project watch webshop --since 0
  shared-context project watch webshop --json | jq -r '.changes[].action'

After a restart of the server the command continues where it was. It never
shows contents. With --json each line is one JSON document: a revision and its
changes.")]
    Watch {
        /// The project
        project: String,
        /// Begin after this revision; 0 shows all that is kept [default: now]
        #[arg(long, env = "SHARED_CONTEXT_SINCE", value_name = "REVISION", value_parser = number)]
        since: Option<u64>,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
}

/// Runs `project`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let server = arguments.server.server()?;
    match &arguments.command {
        Command::Create { project, memories_max, estimator } => {
            let members = present([
                ("memories_max", memories_max.map(Value::from)),
                ("estimator", estimator.clone().map(Value::from)),
            ]);
            let body = (!members.is_empty()).then(|| Value::from(members).to_string().into());
            let call = server.client.put(&["v1", "projects", project], body);
            let reply = server.send(&call, Some(&server.admin()?))?;
            output.answer(&reply, || {
                let made: Project = parse(&reply, &server.client)?;
                Ok(format!("{GREEN}✓{GREEN:#} created {}", made.human(output)))
            })
        }
        Command::Sessions { project, limit, caller } => {
            let query: Vec<_> = limit.iter().map(|it| ("limit", it.to_string())).collect();
            let call = server.client.get(&["v1", "projects", project, "sessions"], &query);
            let reply = server.send(&call, Some(&caller.bearer(&server)?))?;
            output.answer(&reply, || {
                Ok(parse::<ProjectSessions>(&reply, &server.client)?.human(output))
            })
        }
        Command::Export(arguments) => move_project::export(&server, arguments, output),
        Command::Import(arguments) => move_project::import(&server, arguments, output),
        Command::List { after, limit, prefix } => {
            list(&server, after.as_deref(), *limit, prefix.as_deref(), output)
        }
        Command::Show { project, caller } => {
            let call = server.client.get(&["v1", "projects", project], &[]);
            let reply = server.send(&call, Some(&caller.bearer(&server)?))?;
            output.answer(&reply, || Ok(parse::<Project>(&reply, &server.client)?.human(output)))
        }
        Command::Archive { project } => {
            let call = server.client.post(&["v1", "projects", project, "archive"], "{}");
            archive(&server, &call, output)
        }
        Command::Delete { project, yes } => delete(&server, project, *yes, output),
        Command::Changes { project, since, limit, caller } => {
            changes(&server, project, *since, *limit, caller, output)
        }
        Command::Watch { project, since, caller } => {
            let feed = Feed::Project { id: project.clone(), caller: caller.clone() };
            watch(feed, *since, &arguments.server, server, output)
        }
    }
}

fn list(
    server: &Server,
    after: Option<&str>,
    limit: u64,
    prefix: Option<&str>,
    output: Output,
) -> Result<(), Problem> {
    let mut query = vec![("limit", limit.to_string())];
    query.extend(after.map(|it| ("after", it.to_owned())));
    query.extend(prefix.map(|it| ("prefix", it.to_owned())));
    let is_all = query.len() == 1;
    let call = server.client.get(&["v1", "projects"], &query);
    let reply = server.send(&call, Some(&server.admin()?))?;
    output.answer(&reply, || {
        let page: Projects = parse(&reply, &server.client)?;
        if let Some(last) = &page.next_after {
            remark(&format!("there are more: --after {last}"));
        }
        Ok(match (page.projects.is_empty(), is_all) {
            (false, _) => page.human(output),
            (true, true) => {
                "no projects yet; `shared-context project create PROJECT` makes one\n".to_owned()
            }
            (true, false) => "no such projects on this page\n".to_owned(),
        })
    })
}

fn archive(server: &Server, call: &Call, output: Output) -> Result<(), Problem> {
    let reply = server.send(call, Some(&server.admin()?))?;
    output.answer(&reply, || {
        let project: Project = parse(&reply, &server.client)?;
        let id = plain(&project.id);
        Ok(format!(
            "{GREEN}✓{GREEN:#} {BOLD}{id}{BOLD:#} is archived: it can be read, not changed\n"
        ))
    })
}

fn delete(server: &Server, project: &str, yes: bool, output: Output) -> Result<(), Problem> {
    let admin = server.admin()?;
    confirm(yes, "deleting a project", || {
        let call = server.client.get(&["v1", "projects", project], &[]);
        let shown: Project = parse(&server.send(&call, Some(&admin))?, &server.client)?;
        let memories = memories(shown.memory_count);
        Ok(format!("{YELLOW}Delete{YELLOW:#} {BOLD}{project}{BOLD:#} with {memories}?"))
    })?;
    let reply = server.send(&server.client.delete(&["v1", "projects", project]), Some(&admin))?;
    output.answer(&reply, || {
        Ok(format!("{GREEN}✓{GREEN:#} {BOLD}{project}{BOLD:#} and all it held are deleted\n"))
    })
}

fn changes(
    server: &Server,
    project: &str,
    since: Option<u64>,
    limit: Option<u64>,
    caller: &ProjectCallerArgs,
    output: Output,
) -> Result<(), Problem> {
    let query: Vec<(&str, String)> = [("since", since), ("limit", limit)]
        .into_iter()
        .filter_map(|(name, number)| Some((name, number?.to_string())))
        .collect();
    let call = server.client.get(&["v1", "projects", project, "changes"], &query);
    let reply = server.send(&call, Some(&caller.bearer(server)?))?;
    output.answer(&reply, || {
        let page: ChangesPage = parse(&reply, &server.client)?;
        if let Some(next) = page.next() {
            remark(&format!("there are more: --since {next}"));
        }
        Ok(page.human(output))
    })
}
