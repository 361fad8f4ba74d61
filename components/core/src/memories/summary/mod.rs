//! The summary of a session: the knowledge that should outlive it, as proposals for memories (spec
//! 19.9, source 002).
//!
//! `gather` finds candidates in entries, the state of rounds, feedback and a conversation, `state`
//! combines the statements about progress, `rule` gives each candidate its importance, `propose`
//! makes memories of them, `write` chooses those that fit and writes the document and the text.
//!
//! # Invariants
//!
//! - Nothing is paraphrased: a memory has the words of its source, and names it with its digest.
//! - Neither the document nor the text is over the budget. Omissions are named.
//! - Each proposal can be added as it is. Nothing is stored.
//! - The same sources and the same request give the same bytes.

mod gather;
mod propose;
mod rule;
mod state;
mod write;

pub use rule::{IMPORTANCE_MAX, Rule};
pub use write::{LEFT_OUT_MAX, LeftOut, PROPOSALS_MAX, SessionSummary};

use crate::{
    Error,
    compact::ExtractFacts,
    extract::Position,
    item::Item,
    packets::Sources,
    participant::Participant,
    scope::{ProjectId, SessionId},
    time::Timestamp,
    tokens::Tokens,
};

/// The budget of a summary that names none.
pub const SUMMARY_TOKENS_DEFAULT: Tokens = Tokens(8_000);
/// The range of budgets.
pub const SUMMARY_TOKENS: std::ops::RangeInclusive<u32> = 500..=200_000;

/// A request for the summary of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummarizeSession {
    /// The conversation, in its order; empty without one.
    pub conversation: Vec<Item>,
    /// The budget.
    pub budget: Tokens,
}

impl SummarizeSession {
    /// Creates a request.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for the first of: a conversation without items, too many or invalid ones, or
    /// with too much text; a budget out of its range.
    pub fn new(conversation: Option<Vec<Item>>, budget: Option<u32>) -> Result<Self, Error> {
        if conversation.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::malformed(
                "conversation has no items; send its messages, or leave it out",
            ));
        }
        let facts =
            ExtractFacts { items: conversation.unwrap_or_default(), from: Position::default() };
        facts.check()?;
        let budget = budget.unwrap_or(SUMMARY_TOKENS_DEFAULT.0);
        if !SUMMARY_TOKENS.contains(&budget) {
            return Err(Error::malformed(format!(
                "max_tokens is {budget}; it must be {} to {}",
                SUMMARY_TOKENS.start(),
                SUMMARY_TOKENS.end()
            )));
        }
        Ok(Self { conversation: facts.items, budget: Tokens(budget) })
    }
}

/// The data of a session for its summary, as far as the caller may read it.
#[derive(Debug, Clone)]
pub(crate) struct Material<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) project: Option<&'a ProjectId>,
    /// The time when the session was created.
    pub(crate) start: Timestamp,
    /// The time of its last change.
    pub(crate) end: Timestamp,
    /// The participants that changed it, without repetitions.
    pub(crate) agents: Vec<Participant>,
    /// Entries, the state of the last round and open reports of missing context.
    pub(crate) sources: Sources,
    /// The gaps that workers reported for their packets, with the number of the feedback.
    pub(crate) gaps: Vec<(u64, Timestamp, String)>,
    /// The tokens of the entries.
    pub(crate) tokens_used: Tokens,
    /// The number of changes.
    pub(crate) operations: u64,
    /// The number of compactions that were kept.
    pub(crate) compactions: u64,
}

/// Summarizes a session. `count` counts the tokens of a text.
///
/// # Errors
///
/// Those of `count`; [`Error::BudgetTooSmall`] if not even the metadata fit.
pub(crate) fn summarize(
    material: &Material<'_>,
    request: &SummarizeSession,
    count: &dyn Fn(&str) -> Result<Tokens, Error>,
) -> Result<SessionSummary, Error> {
    let found = gather::gather(material, &request.conversation);
    let files = state::files(&found);
    let accessed = gather::files_accessed(&found, &files);
    let proposals = propose::propose(&found, material.end);
    write::write(material, &proposals, &files, accessed, request.budget, count)
}
