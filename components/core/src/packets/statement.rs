//! Statements: the candidates of a packet, each with its source (spec 18.3).

use super::kinds::{MadeBy, Part};
use crate::{
    digest::sha256,
    item::Authority,
    key::Key,
    participant::{Participant, Role},
};

/// A statement that a packet may have: a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The part of the packet that it belongs to.
    pub part: Part,
    /// Its text: a constraint, what was chosen, the path of a file, what was tried.
    pub text: String,
    /// The reason of a decision, the summary of a file, why an attempt failed.
    pub detail: Option<String>,
    /// The author of a decision.
    pub made_by: Option<MadeBy>,
    /// The decisions that were merged into this one, oldest first.
    pub merged_from: Vec<String>,
    /// Its source.
    pub source: Source,
    /// The time when it was said, as a rank: of two statements the later one has the higher rank.
    pub rank: u64,
    /// True if it was said in passing: only its relevance decides if it is shown.
    pub is_weak: bool,
    /// How far it binds who does the task, from 0 to 9: the lightest go first where the budget
    /// is short.
    pub weight: u8,
}

/// The weight of what was given, stored or labelled, and of what was said most clearly.
pub(super) const BINDING: u8 = 9;
/// The most weight of what was said in passing.
pub(super) const PASSING: u8 = 1;

/// The source of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its place.
    pub origin: Origin,
    /// The digest of the text at this place, as [`crate::digest::sha256`] writes it.
    pub digest: String,
    /// Its authority: how far it can be trusted.
    pub authority: Authority,
    /// Its author: a participant, or the speaker of a message.
    pub by: Option<String>,
}

/// The place of a statement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// It was given with the request.
    Given,
    /// In an entry of the store.
    Entry {
        /// The key.
        key: Key,
        /// The version.
        version: u64,
    },
    /// In the state of a round.
    State {
        /// The round.
        round: u64,
        /// The path in its state, as a JSON pointer.
        path: String,
    },
    /// In an item of a conversation or of a kept envelope.
    Item {
        /// The id of the item; of an item of an envelope after its id: `ENV-3/a.rs`.
        id: String,
        /// The line, from 1.
        line: u32,
    },
    /// In a file that was given.
    File {
        /// Its path.
        path: String,
    },
    /// In a report of missing context.
    Missing {
        /// Its id.
        id: String,
    },
}

impl Statement {
    /// Creates a statement without a detail.
    pub(super) fn new(part: Part, text: impl Into<String>, source: Source) -> Self {
        Self {
            part,
            text: text.into(),
            detail: None,
            made_by: None,
            merged_from: Vec::new(),
            source,
            rank: 0,
            is_weak: false,
            weight: BINDING,
        }
    }

    /// Returns the statement with its detail: the summary of a file, or a reason.
    pub(super) fn told(&self) -> String {
        match &self.detail {
            None => self.text.clone(),
            Some(detail) if self.part == Part::File => format!("{}: {detail}", self.text),
            Some(detail) => format!("{} (why: {detail})", self.text),
        }
    }

    /// Returns the text without the name of its speaker before it.
    pub(super) fn spoken(&self) -> &str {
        let by = self.source.by.as_deref().unwrap_or_default();
        let after = self.text.strip_prefix(by).and_then(|it| it.strip_prefix(": "));
        after.unwrap_or(&self.text)
    }

    /// Returns the text and the detail as one text, to be compared.
    pub(super) fn whole(&self) -> String {
        match &self.detail {
            Some(detail) => [self.text.as_str(), detail].join(" "),
            None => self.text.clone(),
        }
    }
}

impl Origin {
    /// Returns how explicit the origin is: what was given is before what an agent stored, and that
    /// is before what was found in a conversation.
    pub(super) fn precedence(&self) -> u8 {
        match self {
            Self::Given | Self::File { .. } => 0,
            Self::Entry { .. } | Self::State { .. } | Self::Missing { .. } => 1,
            Self::Item { .. } => 2,
        }
    }

    /// Returns the origin in a few characters.
    pub(crate) fn short(&self) -> String {
        match self {
            Self::Given => "given".to_owned(),
            Self::Entry { key, version } => format!("{key}@{version}"),
            Self::State { round, path } => format!("round {round}{path}"),
            Self::Item { id, line } => format!("{id}:{line}"),
            Self::File { path } => path.clone(),
            Self::Missing { id } => id.clone(),
        }
    }
}

impl Source {
    /// Returns the source of something that the caller gave.
    pub(super) fn given(text: &str, by: &Participant) -> Self {
        let mut source = Self::written(text, by.as_str());
        if by.role() == Role::Admin {
            source.authority = Authority::Operator;
        }
        source
    }

    /// Returns the source of something that an orchestrator wrote.
    pub(super) fn written(text: &str, by: &str) -> Self {
        Self {
            origin: Origin::Given,
            digest: sha256(text),
            authority: Authority::Model,
            by: Some(by.to_owned()),
        }
    }
}
