//! The segments of an assembly, and the segment of each kind of item (spec 16.11).

use crate::{
    closed_list::closed_list,
    item::{Kind, ListedKind},
};

closed_list! {
    /// A segment of an assembly. What changes rarely comes first, so that prompt caches hold.
    Segment "segment" {
        System "system": "Instructions and policies.";
        Project "project": "What the team remembers: decisions, constraints, memories.";
        Material "material": "Files, documents and what was looked up.";
        Digest "digest": "Summaries of what is not there in full.";
        Turns "turns": "The conversation, oldest first.";
        Task "task": "The task or question.";
    }
}

impl Segment {
    /// Returns the segment of a kind of item.
    pub fn of(kind: &Kind) -> Self {
        let Kind::Listed(kind) = kind else { return Self::Material };
        match kind {
            ListedKind::SystemPrompt
            | ListedKind::DeveloperInstruction
            | ListedKind::PolicyNote => Self::System,
            ListedKind::WorkingMemory | ListedKind::DurableMemory | ListedKind::TeamMemory => {
                Self::Project
            }
            ListedKind::KnowledgePackItem
            | ListedKind::DocumentExcerpt
            | ListedKind::FileExcerpt
            | ListedKind::ArtifactRef
            | ListedKind::ExternalResource
            | ListedKind::ManualNote
            | ListedKind::RetrievalResult
            | ListedKind::Custom => Self::Material,
            ListedKind::ThreadSummary | ListedKind::ComputedSummary => Self::Digest,
            ListedKind::UserMessage
            | ListedKind::SessionHistory
            | ListedKind::ToolResult
            | ListedKind::BrowserState
            | ListedKind::RuntimeState
            | ListedKind::PeerAgentMessage => Self::Turns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_segment_and_only_the_task_is_no_item() {
        let all: Vec<Segment> =
            ListedKind::ALL.into_iter().map(|it| Segment::of(&Kind::Listed(it))).collect();
        for segment in Segment::ALL {
            assert_eq!(all.contains(&segment), segment != Segment::Task, "{segment:?}");
        }
        assert_eq!(Segment::of(&Kind::Other("weather".to_owned())), Segment::Material);
    }
}
