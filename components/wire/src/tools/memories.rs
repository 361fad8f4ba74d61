//! The tools of MCP for memories of the session's project (spec 19).
//!
//! One tool has what every agent does: begin with what is known, find, read, add. What takes something
//! away from others is a tool for orchestrators.

use shared_context_core::memories::Kind as MemoryKind;

use super::{
    schema::{Hints, Kind, Member},
    tool::{Calls, Tool, Toolset},
};

/// Begins a session, finds, reads and adds memories.
pub(super) const USE: Tool = Tool {
    name: "memories",
    set: Toolset::Memories,
    is_for_orchestrators: false,
    calls: Calls::Chosen(
        &["rehydrate", "search_memories", "read_memories", "add_memories", "update_memory"],
        "rehydrate first",
    ),
    members: &[
        Member { name: "task", kind: Kind::Text, about: "of this session" },
        Member { name: "query", kind: Kind::Text, about: "to find" },
        Member { name: "ids", kind: Kind::Texts, about: "to read" },
        Member {
            name: "memories",
            kind: Kind::Objects(
                &[
                    Member {
                        name: "memory_type",
                        kind: Kind::OneOf(&MemoryKind::NAMES),
                        about: "",
                    },
                    Member { name: "title", kind: Kind::Text, about: "" },
                    Member {
                        name: "content",
                        kind: Kind::Object,
                        about: "decision, rationale; description, severity; \
                                task_description, completion_percentage; lesson; summary",
                    },
                    Member { name: "importance", kind: Kind::Integer, about: "1 to 10" },
                ],
                &["memory_type", "title", "content"],
            ),
            about: "to add",
        },
        Member { name: "id", kind: Kind::Text, about: "to update" },
        Member { name: "status", kind: Kind::Text, about: "resolved" },
    ],
    required: &[],
    description: "What the project knows from earlier sessions. Store only what is new and will \
                  matter later.",
    hints: Hints::ADDS,
    tokens: (262, 285),
};

/// Replaces, archives and confirms memories.
pub(super) const MANAGE: Tool = Tool {
    name: "memories_manage",
    set: Toolset::Memories,
    is_for_orchestrators: true,
    calls: Calls::Chosen(&["supersede_memory", "mark_memories", "maintain"], "what to do"),
    members: &[
        Member { name: "id", kind: Kind::Text, about: "no longer holds" },
        Member { name: "by", kind: Kind::Text, about: "holds instead" },
        Member { name: "ids", kind: Kind::Texts, about: "to mark" },
        Member { name: "mark", kind: Kind::Text, about: "archived, active, deleted, verified" },
        Member { name: "dry_run", kind: Kind::Boolean, about: "only tell" },
    ],
    required: &[],
    description: "Keep the project's memories true: replace, archive, confirm.",
    hints: Hints::REMOVES,
    tokens: (157, 180),
};

#[cfg(test)]
mod tests {
    use shared_context_core::memories::Mark;

    use super::*;

    /// Names stand in the descriptions, which costs less than a list of each.
    #[test]
    fn descriptions_name_what_the_core_has() {
        let Kind::Objects(new, _) = USE.members[3].kind else { panic!("memories are objects") };
        for kind in MemoryKind::ALL {
            let needed = kind.members().iter().filter(|it| it.is_needed);
            let needed: Vec<&str> = needed.map(|it| it.name).collect();
            assert!(new[2].about.contains(&needed.join(", ")) || kind == MemoryKind::Decision);
        }
        assert_eq!(MANAGE.members[3].about, Mark::NAMES.join(", "));
    }
}
