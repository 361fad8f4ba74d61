//! The tools of MCP for packets: what a worker gets to know (spec 18).
//!
//! Every call of a worker leaves a trace: what it read, what it asked in vain, what it lacked. So one
//! tool has all three actions, and none of them removes anything. Conversations and files are sent by
//! programs: in a model's hands they would cost more than they save.

use super::{
    schema::{Hints, Kind, Member},
    tool::{Calls, Tool, Toolset},
};

/// Reads a packet, asks it, and gives feedback.
pub(super) const USE: Tool = Tool {
    name: "context_packets",
    set: Toolset::ContextPackets,
    is_for_orchestrators: false,
    calls: Calls::Chosen(
        &["context_read", "context_query", "context_feedback"],
        "read first, feedback last",
    ),
    members: &[
        ADDRESS,
        Member { name: "layer", kind: Kind::Text, about: "decisions, codebase or history" },
        Member { name: "question", kind: Kind::Text, about: "to query" },
        Member { name: "gaps", kind: Kind::Texts, about: "what you lacked" },
        Member { name: "unused", kind: Kind::Texts, about: "not used" },
        Member { name: "outcome", kind: Kind::Text, about: "done, failed, abandoned" },
    ],
    required: &[],
    description: "What is known for your task: goal, constraints, decisions, files. Do not decide \
                  again.",
    hints: Hints::ADDS,
    tokens: (188, 211),
};

/// Generates, edits, lists and removes packets.
pub(super) const MANAGE: Tool = Tool {
    name: "context_packets_manage",
    set: Toolset::ContextPackets,
    is_for_orchestrators: true,
    calls: Calls::Chosen(
        &["context_generate", "context_edit", "list_packets", "context_stats", "context_clear"],
        "what to do",
    ),
    members: &[
        Member { name: "task", kind: Kind::Text, about: "to do" },
        Member { name: "address", kind: Kind::Text, about: "subagent:impl or shared" },
        Member { name: "depth", kind: Kind::Text, about: "minimal, standard, deep" },
        Member { name: "task_type", kind: Kind::Text, about: "for statistics" },
        Member {
            name: "facts",
            kind: Kind::Object,
            about: "constraints [text], decisions [{choice, reason}], …",
        },
        Member { name: "refresh", kind: Kind::Boolean, about: "again" },
        Member { name: "patch", kind: Kind::Object, about: "for context_edit" },
    ],
    required: &[],
    description: "Write a worker's packet before you start it; tell it to read that first.",
    hints: Hints::REMOVES,
    tokens: (191, 214),
};

/// The packet that is meant.
const ADDRESS: Member =
    Member { name: "address", kind: Kind::Text, about: "shared; yours if absent" };

#[cfg(test)]
mod tests {
    use shared_context_core::packets::{Depth, Layer, Outcome};

    use super::*;

    /// Names stand in the descriptions, which costs less than a list of each.
    #[test]
    fn descriptions_name_what_the_core_has() {
        let about = |tool: &Tool, name: &str| {
            tool.members.iter().find(|it| it.name == name).unwrap().about.to_owned()
        };
        let depths = Depth::ALL.map(Depth::as_str).join(", ");
        assert_eq!(about(&MANAGE, "depth"), depths);
        assert_eq!(about(&USE, "outcome"), Outcome::ALL.map(Outcome::as_str).join(", "));
        // Every packet has the first one.
        for layer in Layer::ALL.into_iter().skip(1) {
            assert!(about(&USE, "layer").contains(layer.as_str()), "{}", layer.as_str());
        }
    }
}
