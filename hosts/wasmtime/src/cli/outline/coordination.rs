//! The commands `outline coordination show` and `sync`: what a team shares about its work.

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::{
    super::{
        answer::answer, argument::number, caller::ProjectCallerArgs, output::Output,
        problem::Problem, reply::Coordination, server::Server,
    },
    present,
};

/// Show and change assignments, blockers and shared resources
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  shared-context outline coordination show webshop
  shared-context outline coordination sync webshop --if-version 0 \\
    --blocker 'PCI review' --as subagent:impl --in ticket-7"
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show owners, assignments, blockers and shared resources
    #[command(after_help = "\
Examples:
  shared-context outline coordination show webshop
  shared-context outline coordination show webshop --json | jq .sync_version")]
    Show {
        /// The project
        project: String,
        #[command(flatten)]
        caller: ProjectCallerArgs,
    },
    Sync(SyncArguments),
}

/// Replace assignments, blockers or shared resources; omitted lists stay
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
shared-context outline coordination sync <PROJECT> --if-version <N>
                                                [OPTIONS]",
    after_help = "\
Examples:
  shared-context outline coordination sync webshop --if-version 3 \\
    --blocker 'PCI review' --resource staging=staging.example.com \\
    --as subagent:impl --in ticket-7
  shared-context outline coordination sync webshop --if-version 4 \\
    --assign subagent:impl=Refunds --blocker '' --as orchestrator --in ticket-7

Each list is replaced as a whole; '' empties it. Only orchestrators assign.
If the state changed since, the error is VERSION_CONFLICT: show it, merge, and
send it again with the present version. Ownership of sections is separate:
`shared-context outline acquire` changes it."
)]
struct SyncArguments {
    /// The project
    project: String,
    /// The version that `coordination show` printed; 0 for the first
    #[arg(long, value_name = "N", value_parser = number)]
    if_version: u64,
    /// What a participant works on; may be repeated
    #[arg(long, value_name = "PARTICIPANT=TASK", value_parser = named)]
    assign: Vec<Named>,
    /// What blocks everyone; may be repeated
    #[arg(long, value_name = "TEXT")]
    blocker: Vec<String>,
    /// What is shared, and where it is; may be repeated
    #[arg(long, value_name = "NAME=TEXT", value_parser = named)]
    resource: Vec<Named>,
    #[command(flatten)]
    caller: ProjectCallerArgs,
}

/// A name and a text; neither empties a list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named(Option<(String, String)>);

/// Parses a name and a text, or nothing.
fn named(text: &str) -> Result<Named, String> {
    match text.split_once('=') {
        Some((name, text)) if !name.is_empty() => {
            Ok(Named(Some((name.to_owned(), text.to_owned()))))
        }
        None if text.is_empty() => Ok(Named(None)),
        _ => Err("write a name and a text, such as staging=staging.example.com".to_owned()),
    }
}

/// Runs `outline coordination`.
pub(super) fn run(arguments: &Arguments, server: &Server, output: Output) -> Result<(), Problem> {
    match &arguments.command {
        Command::Show { project, caller } => {
            let call = server.client.get(&["v1", "projects", project, "coordination"], &[]);
            answer::<Coordination>(server, &call, &caller.bearer(server)?, output)
        }
        Command::Sync(it) => {
            let request = it.request();
            if request.len() == 1 {
                return Err(Problem::usage("nothing would change")
                    .next("add --assign, --blocker or --resource; '' empties a list"));
            }
            let path = ["v1", "projects", &it.project, "coordination"];
            let bearer = it.caller.participant_bearer(server)?;
            let call = server.client.patch(&path, Value::Object(request).to_string());
            answer::<Coordination>(server, &call, &bearer, output)
        }
    }
}

impl SyncArguments {
    fn request(&self) -> Map<String, Value> {
        let blockers: Vec<&String> = self.blocker.iter().filter(|it| !it.is_empty()).collect();
        let resources: Vec<Value> = self
            .resource
            .iter()
            .filter_map(|it| it.0.as_ref())
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
        present([
            ("sync_version", Some(json!(self.if_version))),
            ("assignments", (!self.assign.is_empty()).then(|| self.assignments())),
            ("global_blockers", (!self.blocker.is_empty()).then(|| json!(blockers))),
            ("shared_resources", (!self.resource.is_empty()).then(|| resources.into())),
        ])
    }

    /// Returns the tasks, by participant in the order of their first ones.
    fn assignments(&self) -> Value {
        let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
        for (agent, task) in self.assign.iter().filter_map(|it| it.0.as_ref()) {
            match all.iter_mut().find(|it| it.0 == agent) {
                Some((_, tasks)) => tasks.push(task),
                None => all.push((agent, vec![task])),
            }
        }
        all.iter().map(|(agent, tasks)| json!({"agent_id": agent, "tasks": tasks})).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(assign: &[&str], blocker: &[&str], resource: &[&str]) -> Value {
        let all = |it: &[&str]| it.iter().map(|it| named(it).unwrap()).collect();
        let it = SyncArguments {
            project: "webshop".to_owned(),
            if_version: 3,
            assign: all(assign),
            blocker: blocker.iter().map(ToString::to_string).collect(),
            resource: all(resource),
            caller: ProjectCallerArgs::default(),
        };
        it.request().into()
    }

    #[test]
    fn tasks_are_grouped_and_lists_can_be_emptied() {
        let assign = ["subagent:a=One", "subagent:b=Two", "subagent:a=Three=3"];
        assert_eq!(
            request(&assign, &["PCI review"], &[]),
            json!({"sync_version": 3, "global_blockers": ["PCI review"], "assignments": [
                {"agent_id": "subagent:a", "tasks": ["One", "Three=3"]},
                {"agent_id": "subagent:b", "tasks": ["Two"]},
            ]})
        );
        assert_eq!(
            request(&[""], &[""], &[""]),
            json!({"sync_version": 3, "assignments": [], "global_blockers": [],
                "shared_resources": []})
        );
        assert!(named("staging").is_err() && named("=x").is_err());
    }
}
