//! The commands `outline acquire`, `renew`, `release` and `transfer`: who owns a section.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{
    super::{
        answer::answer,
        argument::seconds,
        caller::ProjectCallerArgs,
        output::Output,
        problem::Problem,
        reply::{Human, LeasedSection, ReleasedSection},
        server::Server,
    },
    present, section,
};

/// Own a section for a time, so that nobody else writes it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context outline acquire webshop 2.1 --as subagent:impl --in ticket-7
  shared-context outline acquire webshop 2.1 --ttl 2h --reason 'PCI review' \\
    --as subagent:impl --in ticket-7
  shared-context outline acquire webshop 2.1 --ownership shared-write \\
    --as subagent:impl --in ticket-7

  exclusive     only the owner writes
  shared-write  everyone in the project writes
  read-only     nobody writes")]
pub(super) struct AcquireArguments {
    /// The project
    project: String,
    /// The marker of the section, which must exist
    marker: String,
    /// exclusive, shared-write or read-only [default: exclusive]
    #[arg(long, env = "SHARED_CONTEXT_OWNERSHIP", value_name = "KIND")]
    ownership: Option<String>,
    /// How long, 60s to 24h [default: 30m]
    #[arg(long, env = "SHARED_CONTEXT_ACQUIRE_TTL", value_name = "TIME", value_parser = seconds)]
    ttl: Option<u64>,
    /// Why, in a line; others see it
    #[arg(long, env = "SHARED_CONTEXT_REASON", value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    caller: ProjectCallerArgs,
}

/// Extend the ownership of a section
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context outline renew webshop 2.1 --as subagent:impl --in ticket-7
  shared-context outline renew webshop 2.1 --ttl 2h \\
    --as subagent:impl --in ticket-7")]
pub(super) struct RenewArguments {
    /// The project
    project: String,
    /// The marker of the section
    marker: String,
    /// How long from now, 60s to 24h [default: 30m]
    #[arg(long, env = "SHARED_CONTEXT_RENEW_TTL", value_name = "TIME", value_parser = seconds)]
    ttl: Option<u64>,
    #[command(flatten)]
    caller: ProjectCallerArgs,
}

/// Give up the ownership of a section
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  shared-context outline release webshop 2.1 --as subagent:impl --in ticket-7")]
pub(super) struct ReleaseArguments {
    /// The project
    project: String,
    /// The marker of the section
    marker: String,
    #[command(flatten)]
    caller: ProjectCallerArgs,
}

/// Hand a section over to another participant
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context outline transfer webshop 2.1 --to subagent:billing \\
    --as subagent:impl --in ticket-7
  shared-context outline transfer webshop 2.1 --to subagent:billing \\
    --reason 'impl does not answer' --as orchestrator --in ticket-7

Its owner does so, or an orchestrator in place of any owner. The former owner
gets LEASE_EXPIRED with its next change. `shared-context handoff` passes on the
work as well.")]
pub(super) struct TransferArguments {
    /// The project
    project: String,
    /// The marker of the section
    marker: String,
    /// The participant that owns it then
    #[arg(long, value_name = "WHO")]
    to: String,
    /// The session of that participant [default: that of the caller]
    #[arg(long, value_name = "SESSION")]
    to_session: Option<String>,
    /// How long, 60s to 24h [default: 30m]
    #[arg(long, env = "SHARED_CONTEXT_TRANSFER_TTL", value_name = "TIME", value_parser = seconds)]
    ttl: Option<u64>,
    /// Why, in a line; others see it
    #[arg(long, env = "SHARED_CONTEXT_REASON", value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    caller: ProjectCallerArgs,
}

/// Runs `outline acquire`.
pub(super) fn acquire(
    it: &AcquireArguments,
    server: &Server,
    output: Output,
) -> Result<(), Problem> {
    let request = present([
        ("ownership", it.ownership.clone().map(Value::from)),
        ("ttl_seconds", it.ttl.map(Value::from)),
        ("reason", it.reason.clone().map(Value::from)),
    ]);
    let place = (it.project.as_str(), it.marker.as_str(), "acquire");
    change::<LeasedSection>(server, place, request, &it.caller, output)
}

/// Runs `outline renew`.
pub(super) fn renew(it: &RenewArguments, server: &Server, output: Output) -> Result<(), Problem> {
    let request = present([("ttl_seconds", it.ttl.map(Value::from))]);
    let place = (it.project.as_str(), it.marker.as_str(), "renew");
    change::<LeasedSection>(server, place, request, &it.caller, output)
}

/// Runs `outline release`.
pub(super) fn release(
    it: &ReleaseArguments,
    server: &Server,
    output: Output,
) -> Result<(), Problem> {
    let place = (it.project.as_str(), it.marker.as_str(), "release");
    change::<ReleasedSection>(server, place, Map::new(), &it.caller, output)
}

/// Runs `outline transfer`.
pub(super) fn transfer(
    it: &TransferArguments,
    server: &Server,
    output: Output,
) -> Result<(), Problem> {
    let request = present([
        ("to", Some(json!(it.to))),
        ("to_session", it.to_session.clone().map(Value::from)),
        ("ttl_seconds", it.ttl.map(Value::from)),
        ("reason", it.reason.clone().map(Value::from)),
    ]);
    let place = (it.project.as_str(), it.marker.as_str(), "transfer");
    change::<LeasedSection>(server, place, request, &it.caller, output)
}

/// Sends a change of who owns a section, and prints the reply, which is a `T`.
fn change<T: DeserializeOwned + Human>(
    server: &Server,
    (project, marker, verb): (&str, &str, &str),
    request: Map<String, Value>,
    caller: &ProjectCallerArgs,
    output: Output,
) -> Result<(), Problem> {
    let bearer = caller.participant_bearer(server)?;
    let path = [&section(project, marker)[..], &[verb]].concat();
    let call = server.client.post(&path, Value::Object(request).to_string());
    answer::<T>(server, &call, &bearer, output)
}
