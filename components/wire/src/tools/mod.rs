//! The definitions of the tools, for agents (spec 12.1).
//!
//! MCP lists `shared_context` with all that agents and orchestrators may do, and
//! only `action` required; what may be left out has one type, so that clients
//! that fill in forms or repeat arguments in headers understand it. Beside it
//! stands `delta_rounds`, so that who needs no rounds need not be shown them. The
//! strict forms offer the everyday part of the first, and only that tool: the
//! program that carries out such calls is the orchestrator's, and mints by itself.
//!
//! The tools themselves: [`shared_context`], [`delta_rounds`], [`subagent`]. Leaves
//! out carrying out calls.
//!
//! # Invariant
//!
//! The same bytes each time. Which actions there are, for whom, and what they
//! take is the codec's to say.

mod delta_rounds;
mod offer;
mod schema;
mod shared_context;
mod subagent;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use serde::Serialize;
use shared_context_codec::{ActionInfo, System};
use shared_context_core::Role;

/// Whose words a definition is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The tools of MCP's `tools/list`.
    Mcp,
    /// `tools` in `OpenAI`'s chat completions.
    OpenAi,
    /// `tools` in Anthropic's messages.
    Anthropic,
}

/// Returns the array `tools` of MCP's `tools/list`: `shared_context` and `delta_rounds`, and
/// `subagent` for those who may let others take part, who may do more with the first
/// two, too.
pub(crate) fn listed(with_subagent: bool) -> &'static str {
    static FOR_AGENTS: LazyLock<String> = LazyLock::new(|| {
        written(&[shared_context::mcp(Role::Agent), delta_rounds::mcp(Role::Agent)])
    });
    static FOR_ORCHESTRATORS: LazyLock<String> = LazyLock::new(|| {
        let role = Role::Orchestrator;
        written(&[shared_context::mcp(role), subagent::mcp(), delta_rounds::mcp(role)])
    });
    if with_subagent { &FOR_ORCHESTRATORS } else { &FOR_AGENTS }
}

/// Returns the name of the tool that has the actions of `system`, if one has.
pub(crate) fn name(system: System) -> Option<&'static str> {
    match system {
        System::Store => Some(shared_context::NAME),
        System::Rounds => Some(delta_rounds::NAME),
        System::Projects => None,
    }
}

/// Returns the name of the tool that MCP lists `action` in, if any does: what is the admin's
/// alone is in none.
pub(crate) fn listed_by(action: &ActionInfo) -> Option<&'static str> {
    let is_listed = [Role::Agent, Role::Orchestrator].iter().any(|it| action.roles.contains(it));
    name(action.system).filter(|_| is_listed)
}

/// `{"tools":[…]}` for an agent or an orchestrator.
pub(crate) fn definition(format: Format, role: Role) -> String {
    let tools = match format {
        Format::Mcp => listed(role != Role::Agent).to_owned(),
        Format::OpenAi => written(&[shared_context::openai(role)]),
        Format::Anthropic => written(&[shared_context::anthropic(role)]),
    };
    format!(r#"{{"tools":{tools}}}"#)
}

/// Returns the JSON of `tools`, which can always be written.
fn written(tools: &impl Serialize) -> String {
    serde_json::to_string(tools).unwrap_or_default()
}
