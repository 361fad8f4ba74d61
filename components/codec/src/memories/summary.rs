//! The summary of a session (spec 19.9).

use serde::Serialize;
use shared_context_core::memories::summary::{LeftOut, SessionSummary, SummarizeSession};

use super::content::ContentText;
use crate::{
    action::{ANYONE, declare::actions},
    item::{self, ItemForm},
    json::to_vec,
};

actions! {
    of Context:

    /// Summarize the session: what was decided, the open issues, the state of the work and what was
    /// learned, as proposals for memories of its project, in the words of their sources. Nothing is
    /// stored: choose, then add them with `add_memories`.
    session_summary: ANYONE, read;
        at Post "/summary", r#"{"max_tokens":8000}"# -> 200 or text;
        rejects TokenizerUnavailable, BudgetTooSmall;
        needs {}
        takes {
            /// The conversation in its order, 1 to 5000 items with texts of 2 MiB together. What the
            /// session has stored is read without it.
            conversation: Vec<ItemForm>,
            /// The most tokens of the summary, 500 to 200000; 8000 when absent.
            max_tokens: u32,
        }
        answers SummaryReply<'_>;
        |it| {
            let items = it.conversation.map(item::items).transpose()?;
            let request = SummarizeSession::new(items.map(|it| it.0), it.max_tokens)?;
            Ok(Command::Summarize(Box::new(request)))
        };
}

/// The summary of a session.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "session_summary_reply"))]
pub(crate) struct SummaryReply<'a> {
    /// What the session came to.
    #[cfg_attr(feature = "schema", schemars(with = "schema::Summary"))]
    summary: ContentText,
    /// The same as Markdown.
    text: &'a str,
    /// The tokens of the larger of both.
    tokens: u32,
    /// The budget.
    max_tokens: u32,
    /// How many memories it proposes.
    proposals: u32,
    /// What was left out because it did not fit, the most important first, at most 100.
    omitted: Vec<LeftOutForm<'a>>,
    /// How many memories were left out.
    omitted_count: u32,
    /// How many participants and changed files were left out.
    unlisted: u32,
    /// The session's revision.
    revision: u64,
}

/// A proposal that was left out.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "proposal_omitted"))]
struct LeftOutForm<'a> {
    /// Its number.
    number: u32,
    /// `decision`, `issue`, `state` or `learning`.
    memory_type: &'static str,
    /// 1 to 10.
    importance: u8,
    /// Where its words stand.
    place: &'a str,
}

/// The members of a summary, for its schema.
#[cfg(feature = "schema")]
#[expect(dead_code, reason = "only the schema is made of it")]
mod schema {
    use super::super::{content::ContentMember, forms::SourceForm};
    use crate::json::Time;

    /// What a session came to. Each memory has the form in which `add_memories` takes it.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "session_summary")]
    pub(crate) struct Summary {
        /// What was decided, and the rules that were set.
        decisions_made: Vec<Proposal>,
        /// Issues and questions that are open.
        issues_encountered: Vec<Proposal>,
        /// How far the work is; absent if nobody said anything about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        current_state: Option<Proposal>,
        /// Lessons, attempts that failed, conventions, preferences.
        learnings: Vec<Proposal>,
        /// The files that were changed, as the conversation names them.
        file_modifications: Files,
        /// Numbers.
        metrics: Metrics,
        /// The session.
        session_metadata: Metadata,
    }

    /// A memory that is proposed.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "memory_proposal")]
    struct Proposal {
        /// Its number in the summary, from 1. It does not depend on the budget.
        number: u32,
        /// The rules that gave it its importance, such as `user_decision` and `architecture`.
        rules: Vec<String>,
        /// The memory.
        memory: Proposed,
        /// The writer of the entry that its words are from; absent for other sources.
        #[serde(skip_serializing_if = "Option::is_none")]
        written_by: Option<String>,
    }

    /// A memory, ready to be added.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "proposed_memory")]
    struct Proposed {
        /// `decision`, `issue`, `state` or `learning`.
        memory_type: String,
        /// What it is, in one line of 1 to 100 characters.
        title: String,
        /// Its content.
        content: ContentMember,
        /// What it is besides its type, such as `constraint`.
        tags: Vec<String>,
        /// 1 to 10.
        importance: u8,
        /// When it was said, UTC.
        timestamp: Time,
        /// How far its source can be trusted.
        authority: String,
        /// Where its words come from.
        source: SourceForm,
    }

    /// The files that a session changed.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "session_files")]
    struct Files {
        /// Created ones.
        created: Vec<String>,
        /// Modified ones, and renamed ones.
        modified: Vec<String>,
        /// Deleted ones.
        deleted: Vec<String>,
    }

    /// Numbers about a session, as far as you may see what they count.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "session_metrics")]
    struct Metrics {
        /// The tokens of its entries.
        tokens_used: u32,
        /// How many files it used or changed.
        files_accessed: u64,
        /// How many changes are in its feed.
        operations_performed: u64,
        /// How many of them are compactions that were kept.
        compactions_executed: u64,
    }

    /// When a session was, and who took part.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "summary_metadata")]
    struct Metadata {
        /// Its id.
        session_id: String,
        /// Its project, if it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        project_id: Option<String>,
        /// When it was created, UTC.
        start_time: Time,
        /// When it was last changed, UTC.
        end_time: Time,
        /// The whole minutes in between.
        duration_minutes: u64,
        /// Who changed it, besides the operator.
        agent_ids: Vec<String>,
    }
}

/// Serializes a summary.
pub(crate) fn encode(it: &SessionSummary, revision: u64) -> Vec<u8> {
    let omitted = it.left_out.iter().map(|it: &LeftOut| LeftOutForm {
        number: it.number,
        memory_type: it.kind.as_str(),
        importance: it.importance,
        place: &it.place,
    });
    to_vec(&SummaryReply {
        summary: ContentText(it.document.clone()),
        text: &it.text,
        tokens: it.tokens.0,
        max_tokens: it.budget.0,
        proposals: it.proposals,
        omitted: omitted.collect(),
        omitted_count: it.left_out_count,
        unlisted: it.unlisted,
        revision,
    })
}
