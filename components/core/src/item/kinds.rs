//! The closed lists that describe an item: its kind, the targets that may see it, and the authority
//! of its source (spec 16.1, 16.2).

use crate::{Error, closed_list::closed_list};

/// The longest name of a kind that is not listed, in bytes.
pub const KIND_BYTES_MAX: usize = 64;

/// The kind of an item (spec 16.1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// One of the 22 listed kinds.
    Listed(ListedKind),
    /// A kind that is not listed, as it was given.
    Other(String),
}

impl Kind {
    /// Parses the name of a kind. A name that is not listed is kept.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if the name is not 1 to 64 of `A-Z`, `a-z`, `0-9`, `_`, `.`, `:`, `/`
    /// and `-`.
    pub fn parse(name: &str) -> Result<Self, Error> {
        if let Some(listed) = ListedKind::ALL.into_iter().find(|it| it.as_str() == name) {
            return Ok(Self::Listed(listed));
        }
        let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"_.:/-".contains(&b);
        if (1..=KIND_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_allowed) {
            return Ok(Self::Other(name.to_owned()));
        }
        let shown: String = name.chars().take(80).collect();
        Err(Error::malformed(format!(
            "kind {shown:?} must be 1 to {KIND_BYTES_MAX} of A-Z, a-z, 0-9, _, ., :, / and -; use \
             one of {}, or a name of your own",
            ListedKind::NAMES.join(", ")
        )))
    }

    /// Returns the name on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Listed(listed) => listed.as_str(),
            Self::Other(name) => name,
        }
    }
}

closed_list! {
    /// A kind of item that every reader knows (spec 16.1).
    ListedKind "kind" {
        UserMessage "user_message": "A message of a person.";
        SystemPrompt "system_prompt": "Instructions that precede a conversation.";
        DeveloperInstruction "developer_instruction": "An instruction of the application's developer.";
        SessionHistory "session_history": "Earlier turns of the conversation.";
        ThreadSummary "thread_summary": "A summary of a conversation.";
        WorkingMemory "working_memory": "An entry of the session's store.";
        DurableMemory "durable_memory": "A memory that outlives the session.";
        KnowledgePackItem "knowledge_pack_item": "A part of prepared knowledge, such as a skill.";
        DocumentExcerpt "document_excerpt": "A part of a document.";
        FileExcerpt "file_excerpt": "A file or a part of it.";
        ArtifactRef "artifact_ref": "A reference to something that was produced.";
        ToolResult "tool_result": "The result of a tool call.";
        BrowserState "browser_state": "The state of a browser or page.";
        RuntimeState "runtime_state": "The state of the program that runs the agent.";
        TeamMemory "team_memory": "A memory that a team shares.";
        PolicyNote "policy_note": "A rule that must be followed.";
        ExternalResource "external_resource": "Something from outside, such as a web page.";
        ManualNote "manual_note": "A note that a person wrote.";
        ComputedSummary "computed_summary": "A summary that a program or model wrote.";
        PeerAgentMessage "peer_agent_message": "A message of another agent.";
        RetrievalResult "retrieval_result": "A result of a search.";
        Custom "custom": "Anything else. A client may send a name of its own instead.";
    }
}

closed_list! {
    /// A target that an item may be visible to (spec 16.2).
    Target "target" {
        Model "model": "The model, as part of its prompt.";
        Tool "tool": "A tool that the agent calls.";
        Runtime "runtime": "The program that runs the agent.";
        Ui "ui": "The user interface.";
        User "user": "The person whom the agent works for.";
        Reviewer "reviewer": "A person who reviews the agent's work.";
        PeerAgent "peer_agent": "Another agent.";
        EvidenceExport "evidence_export": "The export for auditors.";
    }
}

closed_list! {
    /// The authority of an item's source, highest first (spec 16.2).
    Authority "authority" {
        User "user": "A person whom the agent works for.";
        Operator "operator": "Whoever runs the system or wrote its instructions.";
        ToolInternal "tool_internal": "A tool whose content the operator controls.";
        Model "model": "A model wrote it.";
        ToolExternal "tool_external": "A tool that returns content of third parties.";
        Unknown "unknown": "The source did not say.";
    }
}

impl Default for Authority {
    /// Returns the authority of a source that names none.
    fn default() -> Self {
        Self::Unknown
    }
}

impl Authority {
    /// Returns the lowest authority of `sources`: what something that is derived from all of them
    /// has. Without a source it is unknown.
    pub fn least(sources: impl IntoIterator<Item = Self>) -> Self {
        sources.into_iter().max().unwrap_or(Self::Unknown)
    }
}

/// The targets that an item is visible to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visibility(u8);

impl Default for Visibility {
    /// Returns the targets of an item that names none: `model`, `runtime`, `reviewer` and
    /// `evidence_export` (spec 16.2).
    fn default() -> Self {
        Self::of([Target::Model, Target::Runtime, Target::Reviewer, Target::EvidenceExport])
    }
}

impl Visibility {
    /// Creates a set of `targets`, which may be empty.
    pub fn of(targets: impl IntoIterator<Item = Target>) -> Self {
        Self(targets.into_iter().fold(0, |bits, it| bits | bit(it)))
    }

    /// Returns true if `target` is in the set.
    pub fn has(self, target: Target) -> bool {
        self.0 & bit(target) != 0
    }

    /// Returns true if the set has no target.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the targets of both sets: a reference is visible to no target that the referenced
    /// item is hidden from.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the targets, in order.
    pub fn targets(self) -> impl Iterator<Item = Target> {
        Target::ALL.into_iter().filter(move |it| self.has(*it))
    }
}

fn bit(target: Target) -> u8 {
    match target {
        Target::Model => 1,
        Target::Tool => 1 << 1,
        Target::Runtime => 1 << 2,
        Target::Ui => 1 << 3,
        Target::User => 1 << 4,
        Target::Reviewer => 1 << 5,
        Target::PeerAgent => 1 << 6,
        Target::EvidenceExport => 1 << 7,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn there_are_22_kinds() {
        assert_eq!(ListedKind::ALL.len(), 22);
        for kind in ListedKind::ALL {
            assert_eq!(Kind::parse(kind.as_str()), Ok(Kind::Listed(kind)));
            assert_eq!(ListedKind::parse(kind.as_str()), Ok(kind));
        }
    }

    #[test]
    fn an_unknown_kind_is_kept_as_given() {
        for name in ["weather_report", "Acme/ticket:v2.1", "x", &"k".repeat(64)] {
            assert_eq!(Kind::parse(name), Ok(Kind::Other(name.to_owned())));
        }
        for name in ["", "a b", "ümlaut", "a\nb", "a\0b", &"k".repeat(65)] {
            let error = Kind::parse(name).unwrap_err().to_string();
            assert!(error.contains("must be 1 to 64 of") && error.len() < 800, "{error}");
        }
    }

    #[test]
    fn names_are_parsed_and_others_are_rejected() {
        for target in Target::ALL {
            assert_eq!(Target::parse(target.as_str()), Ok(target));
        }
        for authority in Authority::ALL {
            assert_eq!(Authority::parse(authority.as_str()), Ok(authority));
        }
        assert_eq!(
            Target::parse("Model").unwrap_err().to_string(),
            "there is no target \"Model\"; it must be one of model, tool, runtime, ui, user, \
             reviewer, peer_agent, evidence_export"
        );
        assert_eq!([Target::ALL.len(), Authority::ALL.len()], [8, 6]);
    }

    #[test]
    fn the_least_authority_counts() {
        use Authority::{Model, Operator, ToolExternal, ToolInternal, Unknown, User};
        assert!(User < Operator && Operator < ToolInternal && ToolInternal < Model);
        assert!(Model < ToolExternal && ToolExternal < Unknown);
        assert_eq!(Authority::least([User, ToolExternal, Model]), ToolExternal);
        assert_eq!(Authority::least([User, User]), User);
        assert_eq!(Authority::least([]), Unknown);
    }

    #[test]
    fn an_item_without_targets_has_four() {
        let names: Vec<&str> = Visibility::default().targets().map(Target::as_str).collect();
        assert_eq!(names, ["model", "runtime", "reviewer", "evidence_export"]);
    }

    proptest! {
        #[test]
        fn visibility_is_a_set_of_targets(a: u8, b: u8) {
            let set = |bits: u8| -> BTreeSet<Target> {
                Target::ALL.into_iter().zip(0..).filter(|(_, n)| bits >> n & 1 == 1)
                    .map(|(it, _)| it).collect()
            };
            let (one, other) = (Visibility::of(set(a)), Visibility::of(set(b)));
            prop_assert_eq!(one.targets().collect::<BTreeSet<_>>(), set(a));
            let both: BTreeSet<_> = one.within(other).targets().collect();
            prop_assert_eq!(both, set(a).intersection(&set(b)).copied().collect());
            prop_assert_eq!(one.is_empty(), a == 0);
        }
    }
}
