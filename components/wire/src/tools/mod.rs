//! Definitions of the tools for agents (spec 12.1).
//!
//! MCP lists `shared_context` with all actions of agents and orchestrators, and only `action`
//! required. Optional members have a single type, so that clients that render forms or repeat
//! arguments in headers support them. `delta_rounds` is a tool of its own, so that clients without
//! rounds can hide it. The strict forms offer only the everyday part of the first tool. The
//! orchestrator's program performs these calls, and mints credentials itself.
//!
//! The tools are [`shared_context`], [`delta_rounds`] and [`subagent`]. `mcp::tools` performs the
//! calls.
//!
//! # Invariant
//!
//! The definitions are the same bytes each time. The codec defines which actions exist, their roles
//! and their members.

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

/// Notation of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The tools of MCP's `tools/list`.
    Mcp,
    /// `tools` in `OpenAI`'s chat completions.
    OpenAi,
    /// `tools` in Anthropic's messages.
    Anthropic,
}

/// Returns the array `tools` of MCP's `tools/list`: `shared_context` and `delta_rounds`. Callers
/// that may invite others also get `subagent`, and more actions in the first two.
pub(crate) fn tools_json(with_subagent: bool) -> &'static str {
    static FOR_AGENTS: LazyLock<String> = LazyLock::new(|| {
        to_json(&[shared_context::mcp(Role::Agent), delta_rounds::mcp(Role::Agent)])
    });
    static FOR_ORCHESTRATORS: LazyLock<String> = LazyLock::new(|| {
        let role = Role::Orchestrator;
        to_json(&[shared_context::mcp(role), subagent::mcp(), delta_rounds::mcp(role)])
    });
    if with_subagent { &FOR_ORCHESTRATORS } else { &FOR_AGENTS }
}

/// Returns the name of the tool with the actions of `system`, if there is one.
pub(crate) fn name(system: System) -> Option<&'static str> {
    match system {
        System::Store => Some(shared_context::NAME),
        System::Rounds => Some(delta_rounds::NAME),
        System::Projects => None,
    }
}

/// Returns the name of the tool that lists `action` in MCP, if any; actions of the admin alone are
/// in none.
pub(crate) fn listed_by(action: &ActionInfo) -> Option<&'static str> {
    let is_listed = [Role::Agent, Role::Orchestrator].iter().any(|it| action.roles.contains(it));
    name(action.system).filter(|_| is_listed)
}

/// Returns `{"tools":[…]}` for an agent or an orchestrator.
pub(crate) fn definition(format: Format, role: Role) -> String {
    let tools = match format {
        Format::Mcp => tools_json(role != Role::Agent).to_owned(),
        Format::OpenAi => to_json(&[shared_context::openai(role)]),
        Format::Anthropic => to_json(&[shared_context::anthropic(role)]),
    };
    format!(r#"{{"tools":{tools}}}"#)
}

/// Serializes `tools`, which cannot fail.
fn to_json(tools: &impl Serialize) -> String {
    serde_json::to_string(tools).unwrap_or_default()
}
