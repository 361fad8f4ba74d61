//! The tools of MCP for handoffs of the session's project (spec 21).
//!
//! An agent offers, accepts and declines. Taking over from another is for orchestrators. Conversations
//! and packets are sent by programs: in a model's hands they would cost more than they save.

use super::{
    schema::{Hints, Kind, Member},
    tool::{Calls, Tool, Toolset},
};

/// Offers, finds and answers handoffs.
pub(super) const USE: Tool = Tool {
    name: "handoffs",
    set: Toolset::Outline,
    is_for_orchestrators: false,
    calls: Calls::Chosen(
        &["list_handoffs", "read_handoff", "offer_handoff", "accept_handoff", "decline_handoff"],
        "list_handoffs first",
    ),
    members: &[
        Member { name: "id", kind: Kind::Text, about: "HND-1" },
        Member { name: "to_agent", kind: Kind::Text, about: "subagent:impl" },
        Member {
            name: "handoff_type",
            kind: Kind::Text,
            about: "complete, specialist, continuation, emergency",
        },
        Member { name: "summary", kind: Kind::Text, about: "where it stands" },
        Member { name: "sections", kind: Kind::Texts, about: "you own" },
        Member { name: "completed", kind: Kind::Texts, about: "what is done" },
        Member { name: "immediate", kind: Kind::Texts, about: "next" },
        Member { name: "known_pitfalls", kind: Kind::Texts, about: "what to avoid" },
        Member { name: "reason", kind: Kind::Text, about: "to decline" },
    ],
    required: &[],
    description: "Pass your work on to another agent, or take on what is offered to you.",
    hints: Hints::ADDS,
    tokens: (252, 275),
};

/// Takes work over from an agent that does not answer.
pub(super) const MANAGE: Tool = Tool {
    name: "handoffs_manage",
    set: Toolset::Outline,
    is_for_orchestrators: true,
    calls: Calls::Chosen(&["take_over", "trace_decision"], "what to do"),
    members: &[
        Member { name: "from_agent", kind: Kind::Text, about: "does not answer" },
        Member { name: "to_agent", kind: Kind::Text, about: "you if absent" },
        Member { name: "sections", kind: Kind::Texts, about: "all if absent" },
        Member { name: "id", kind: Kind::Text, about: "decision" },
    ],
    required: &[],
    description: "Take sections over; follow a decision over sessions.",
    hints: Hints::ADDS,
    tokens: (134, 157),
};
