//! Definitions of the tools for agents (spec 12.1).
//!
//! MCP lists tools by what they do, so that a client can let an agent read without asking and ask
//! before it deletes. Each belongs to a [`Toolset`]; those beyond the working memory are listed
//! where a session uses them. The strict forms for function calling have the everyday part of the
//! working memory as one tool, `shared_context`. The orchestrator's program performs these calls,
//! and mints credentials itself.
//!
//! `mcp::tools` performs the calls of MCP.
//!
//! # Invariant
//!
//! The definitions are the same bytes each time. The codec defines which actions exist, their roles
//! and their members.

mod context;
mod delta_rounds;
mod handoffs;
mod memories;
mod offer;
mod outline;
mod packets;
mod schema;
mod shared_context;
#[cfg(test)]
mod tests;
mod tool;

use serde::Serialize;
use shared_context_core::Role;

pub(crate) use self::{
    context::ADD_SUBAGENT,
    schema::{Kind, Member},
    tool::{Calls, Tool, Toolset},
};

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

/// Every tool of MCP, in the order they are listed.
const TOOLS: [&Tool; 17] = [
    &context::LIST,
    &context::READ,
    &context::CHANGES,
    &context::WRITE,
    &context::DELETE,
    &context::SESSION,
    &delta_rounds::READ,
    &delta_rounds::PROPOSE,
    &delta_rounds::MANAGE,
    &packets::USE,
    &packets::MANAGE,
    &memories::USE,
    &memories::MANAGE,
    &outline::USE,
    &outline::MANAGE,
    &handoffs::USE,
    &handoffs::MANAGE,
];

/// Returns the tools of MCP that callers of `role` may use, in the order they are listed.
pub(crate) fn of_role(role: Role) -> impl Iterator<Item = &'static Tool> {
    TOOLS.into_iter().filter(move |it| role != Role::Agent || !it.is_for_orchestrators)
}

/// Returns the tool of MCP named `name`.
pub(crate) fn named(name: &str) -> Option<&'static Tool> {
    TOOLS.into_iter().find(|it| it.name == name)
}

/// Returns true if `name` is a tool of MCP that changes nothing, so that a call may be repeated.
pub fn is_read_only(name: &str) -> bool {
    named(name).is_some_and(|it| it.hints.is_read_only())
}

/// Returns the tools of MCP that are listed to a caller of `role` that uses `sets` besides the
/// working memory.
pub(crate) fn listed(role: Role, sets: &[Toolset]) -> impl Iterator<Item = &'static Tool> {
    of_role(role).filter(|it| it.set == Toolset::SharedContext || sets.contains(&it.set))
}

/// Returns the array `tools` of MCP's `tools/list` for a caller of `role` that uses `sets` besides
/// the working memory. The admin's tools need the argument `session`.
pub(crate) fn tools_json(role: Role, sets: &[Toolset]) -> String {
    let listed: Vec<_> = listed(role, sets).map(|it| it.definition(role)).collect();
    to_json(&listed)
}

/// Returns `{"tools":[…]}` for callers of `role`; in MCP with every set.
pub(crate) fn definition(format: Format, role: Role) -> String {
    let tools = match format {
        Format::Mcp => tools_json(role, &Toolset::ALL),
        Format::OpenAi => to_json(&[shared_context::openai(role)]),
        Format::Anthropic => to_json(&[shared_context::anthropic(role)]),
    };
    format!(r#"{{"tools":{tools}}}"#)
}

/// Serializes `tools`, which cannot fail.
fn to_json(tools: &impl Serialize) -> String {
    serde_json::to_string(tools).unwrap_or_default()
}
