//! The tools of MCP for the outline of the session's project, and for who owns it (spec 20).
//!
//! One tool has what every agent does: find its way, read, own and write. What concerns others is a tool
//! for orchestrators.

use super::{
    schema::{Hints, Kind, Member},
    tool::{Calls, Tool, Toolset},
};

/// Reads the map of the project, and owns and writes its sections.
pub(super) const USE: Tool = Tool {
    name: "outline",
    set: Toolset::Outline,
    is_for_orchestrators: false,
    calls: Calls::Chosen(
        &["read_index", "read_section", "put_section", "acquire", "release"],
        "read_index first",
    ),
    members: &[
        Member { name: "marker", kind: Kind::Text, about: "such as 2.1" },
        Member { name: "level", kind: Kind::Integer, about: "read details, 1 to 4" },
        Member { name: "title", kind: Kind::Text, about: "of the section" },
        Member { name: "content", kind: Kind::Text, about: "Markdown" },
        Member { name: "progress", kind: Kind::Integer, about: "percent" },
        Member { name: "ttl_seconds", kind: Kind::Integer, about: "to own it" },
    ],
    required: &[],
    description: "The project's map: 1 summary, 2 parts, 3 details, 4 files. Acquire a section \
                  before you write it.",
    hints: Hints::ADDS,
    tokens: (181, 204),
};

/// Checks the map, and hands sections over.
pub(super) const MANAGE: Tool = Tool {
    name: "outline_manage",
    set: Toolset::Outline,
    is_for_orchestrators: true,
    calls: Calls::Chosen(&["check_outline", "transfer", "delete_section"], "what to do"),
    members: &[
        Member { name: "marker", kind: Kind::Text, about: "such as 2.1" },
        Member { name: "to", kind: Kind::Text, about: "new owner" },
    ],
    required: &[],
    description: "Keep the map true; hand sections over.",
    hints: Hints::REMOVES,
    tokens: (102, 125),
};
