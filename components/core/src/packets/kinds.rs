//! The closed lists of packets: the depth of a packet, its layers, its parts, the forms in which it
//! is read, and the outcome of a task (spec 18.1).

use crate::{closed_list::closed_list, item::Authority, participant::Role, tokens::Tokens};

closed_list! {
    /// The depth of a packet: the layers that it has.
    Depth "depth" {
        Minimal "minimal": "The goal and its constraints.";
        Standard "standard": "Also decisions and the codebase.";
        Deep "deep": "Also the history: failed attempts, pivots, open questions.";
    }
}

closed_list! {
    /// A layer of a packet, the most important first.
    Layer "layer" {
        Goal "goal": "What to accomplish, criteria of success, constraints.";
        Decisions "decisions": "Decisions, their reasons, and who made them.";
        Codebase "codebase": "Relevant files, patterns, anti-patterns, examples.";
        History "history": "Failed attempts, pivots, open questions.";
    }
}

closed_list! {
    /// The form in which a packet is read.
    Form "form" {
        Markdown "markdown": "A prompt in Markdown.";
        Yaml "yaml": "YAML 1.2.";
        Json "json": "Canonical JSON.";
    }
}

closed_list! {
    /// The part of a packet that a statement belongs to, in the order of the packet.
    Part "part" {
        Goal "goal": "What to accomplish.";
        SuccessCriterion "success_criteria": "When it is accomplished.";
        Constraint "constraints": "A rule that must be kept.";
        Decision "decisions": "A decision that was made.";
        File "relevant_files": "A file, and what is in it.";
        Pattern "patterns": "A convention to follow.";
        AntiPattern "anti_patterns": "A convention to avoid.";
        Example "examples": "A file that shows a pattern.";
        FailedAttempt "failed_attempts": "An attempt that failed.";
        Pivot "pivots": "A change of direction.";
        OpenQuestion "open_questions": "A question without an answer.";
    }
}

closed_list! {
    /// The author of a decision.
    MadeBy "made_by" {
        User "user": "A person.";
        Orchestrator "orchestrator": "The orchestrator.";
        Agent "agent": "Another agent.";
    }
}

closed_list! {
    /// The outcome of a task.
    Outcome "outcome" {
        Done "done": "The task is done.";
        Failed "failed": "The task failed.";
        Abandoned "abandoned": "Nobody works on the task any more.";
    }
}

closed_list! {
    /// A kind of advice from earlier feedback.
    AdviceCode "advice" {
        KnownGap "KNOWN_GAP": "Workers of this type of task often lacked this.";
        UsuallyUnused "USUALLY_UNUSED": "Workers of this type of task seldom used this.";
    }
}

/// The token budget of each depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// The budget of a minimal packet.
    pub minimal: Tokens,
    /// The budget of a standard packet.
    pub standard: Tokens,
    /// The budget of a deep packet.
    pub deep: Tokens,
}

impl Default for Budgets {
    fn default() -> Self {
        Self { minimal: Tokens(100), standard: Tokens(400), deep: Tokens(800) }
    }
}

impl Budgets {
    /// Returns the budget of a depth.
    pub fn of(&self, depth: Depth) -> Tokens {
        match depth {
            Depth::Minimal => self.minimal,
            Depth::Standard => self.standard,
            Depth::Deep => self.deep,
        }
    }
}

impl Depth {
    /// Returns the layers of a packet of this depth.
    pub fn layers(self) -> &'static [Layer] {
        let count = match self {
            Self::Minimal => 1,
            Self::Standard => 3,
            Self::Deep => 4,
        };
        Layer::ALL.split_at_checked(count).map_or(&Layer::ALL, |it| it.0)
    }
}

impl Layer {
    /// Returns the least tokens that the layer is meant to have, and the most.
    pub fn target(self) -> (Tokens, Tokens) {
        let (least, most) = match self {
            Self::Goal => (50, 100),
            Self::Decisions | Self::History => (100, 200),
            Self::Codebase => (100, 300),
        };
        (Tokens(least), Tokens(most))
    }

    /// Returns the least depth that has the layer.
    pub fn depth(self) -> Depth {
        match self {
            Self::Goal => Depth::Minimal,
            Self::Decisions | Self::Codebase => Depth::Standard,
            Self::History => Depth::Deep,
        }
    }
}

impl Part {
    /// Returns the layer of the part.
    pub fn layer(self) -> Layer {
        match self {
            Self::Goal | Self::SuccessCriterion | Self::Constraint => Layer::Goal,
            Self::Decision => Layer::Decisions,
            Self::File | Self::Pattern | Self::AntiPattern | Self::Example => Layer::Codebase,
            Self::FailedAttempt | Self::Pivot | Self::OpenQuestion => Layer::History,
        }
    }

    /// Returns the names that the text and the detail of a statement have in a packet; `None` where
    /// a statement is a text alone.
    pub(super) fn members(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Decision => Some(("choice", "reason")),
            Self::File => Some(("path", "summary")),
            Self::FailedAttempt => Some(("approach", "reason_failed")),
            Self::Pivot => Some(("change", "reason")),
            _ => None,
        }
    }

    /// Returns the place of the part's list in a packet, as a JSON pointer.
    pub(super) fn list(self) -> String {
        let is_code = self.layer() == Layer::Codebase;
        let mut list = if is_code { "/context/codebase/" } else { "/context/" }.to_owned();
        list.push_str(self.as_str());
        list
    }

    /// Returns the place of its `nth` statement in a packet, as a JSON pointer. There is one goal.
    pub(super) fn place(self, nth: usize) -> String {
        let mut place = self.list();
        if self != Self::Goal {
            place.push('/');
            place.push_str(&nth.to_string());
        }
        place
    }
}

impl MadeBy {
    /// Returns the author of the decisions of a participant in this role.
    pub fn role(role: Role) -> Self {
        match role {
            Role::Orchestrator => Self::Orchestrator,
            Role::Agent => Self::Agent,
            Role::Admin => Self::User,
        }
    }

    /// Returns the author of decisions with this authority in the conversation of an orchestrator.
    pub fn authority(authority: Authority) -> Self {
        match authority {
            Authority::User | Authority::Operator => Self::User,
            Authority::Model => Self::Orchestrator,
            _ => Self::Agent,
        }
    }
}
