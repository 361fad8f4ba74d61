//! The closed lists of handoffs: kinds with their budgets, states, reasons, and the lists of texts that
//! an agent hands over (spec 21.1).

use crate::{closed_list::closed_list, tokens::Tokens};

closed_list! {
    /// The kind of a handoff.
    HandoffKind "handoff_type" {
        Complete "complete": "The task is done, and another agent goes on from its result.";
        Specialist "specialist": "A specialist takes over a part of the task.";
        Continuation "continuation": "A fresh agent goes on with the same task.";
        Emergency "emergency": "The agent failed. Ownership passes on with the offer.";
    }
}

closed_list! {
    /// The state of a handoff.
    HandoffState "state" {
        Offered "offered": "The receiver has not answered.";
        Accepted "accepted": "The receiver has taken over.";
        Declined "declined": "The receiver declined, or the offer was withdrawn.";
        Expired "expired": "Nobody answered in time.";
    }
}

closed_list! {
    /// The reason for a handoff.
    Trigger "reason" {
        TaskCompleted "task_completed": "The task is done.";
        Blocked "blocked": "A blocker is outside of what the agent can do.";
        TokenCapacity "token_capacity": "The window of the agent is full.";
        Rotation "rotation": "The handoff was planned, as at a milestone.";
        Failure "failure": "The agent failed, or does not answer.";
    }
}

closed_list! {
    /// A list of texts that the agent hands over.
    ListName "list" {
        Completed "completed": "What is done.";
        InProgress "in_progress": "What was begun.";
        NotStarted "not_started": "What is still to be done.";
        Immediate "immediate": "What to do first.";
        ShortTerm "short_term": "What to do soon.";
        SuccessCriteria "success_criteria": "When the task is done.";
        Observations "from_agent_observations": "What the agent noticed.";
        Approach "suggested_approach": "What the agent would do.";
        Pitfalls "known_pitfalls": "What to avoid.";
        Resources "useful_resources": "What helps.";
    }
}

closed_list! {
    /// A part of a system prompt, in its order: what changes least is first (decision 41).
    PromptPart "part" {
        Agent "agent_definition": "Who the agent is, as the caller says.";
        Project "project_summary": "The executive summary of the project.";
        Critical "critical_knowledge": "Decisions, issues and lessons of importance 8 to 10.";
        Index "resource_index": "The sections that can be read.";
        Focus "current_focus": "The sections of the task.";
        Criteria "success_criteria": "The task, and when it is done, as the caller says.";
    }
}

impl HandoffKind {
    /// Returns the least tokens that a package is meant to have, and the most that it may have.
    pub fn budget(self) -> (Tokens, Tokens) {
        let (least, most) = match self {
            Self::Complete => (15_000, 25_000),
            Self::Specialist => (5_000, 10_000),
            Self::Continuation => (30_000, 40_000),
            Self::Emergency => (10_000, 15_000),
        };
        (Tokens(least), Tokens(most))
    }

    /// Returns by how many percent a conversation is compacted.
    pub(crate) fn reduction(self) -> u8 {
        if self == Self::Continuation { 40 } else { 20 }
    }

    /// Returns the reason of a handoff that names none.
    pub fn trigger(self) -> Trigger {
        match self {
            Self::Complete => Trigger::TaskCompleted,
            Self::Specialist => Trigger::Blocked,
            Self::Continuation => Trigger::TokenCapacity,
            Self::Emergency => Trigger::Failure,
        }
    }
}

impl ListName {
    /// Returns the object of a package that has the list.
    pub(crate) fn object(self) -> &'static str {
        match self {
            Self::Completed | Self::InProgress | Self::NotStarted => "work_products",
            Self::Immediate | Self::ShortTerm | Self::SuccessCriteria => "next_actions",
            Self::Observations | Self::Approach | Self::Pitfalls | Self::Resources => {
                "agent_specific_notes"
            }
        }
    }
}

impl PromptPart {
    /// Returns the share of a prompt of 8,000 tokens.
    pub fn share(self) -> u32 {
        match self {
            Self::Agent | Self::Index => 500,
            Self::Project | Self::Criteria => 1_000,
            Self::Focus => 2_000,
            Self::Critical => 3_000,
        }
    }

    /// Returns the heading.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::Agent => "# Role and capabilities\n",
            Self::Project => "# Project context\n",
            Self::Critical => "# Critical knowledge\n",
            Self::Index => "# Available resources\n",
            Self::Focus => "# Current focus\n",
            Self::Criteria => "# Task and success criteria\n",
        }
    }
}
