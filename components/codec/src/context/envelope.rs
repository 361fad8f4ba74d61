//! The envelope of an assembly in replies: the canonical JSON that the core wrote, and its schema
//! (spec 16.13).

use serde::{Serialize, Serializer, ser::Error};
use serde_json::value::RawValue;

/// An envelope, as it was written.
pub(super) struct Envelope<'a>(pub(super) &'a str);

impl Serialize for Envelope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(self.0.as_bytes()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Envelope<'_> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        schema::ContextEnvelope::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"anyOf": [generator.subschema_for::<schema::ContextEnvelope>()]})
    }
}

/// The members of an envelope, for its schema.
#[cfg(feature = "schema")]
#[expect(dead_code, reason = "only the schema is made of it")]
pub(super) mod schema {
    use std::collections::BTreeMap;

    use crate::json::Time;

    /// Which context was shown for a task, and why: a portable record of one assembly. It has the
    /// digests of all texts, but no text.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "context_envelope")]
    pub(crate) struct ContextEnvelope {
        /// The text as a list of blocks.
        assembly: Assembly,
        /// The limits, and what was used.
        budget: Budget,
        created_at: Time,
        /// The participant that asked for it.
        created_by: String,
        /// The format: `shared-context/envelope/1`.
        format: String,
        /// Its id, if it is kept.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The candidates, in the order of the request.
        items: Vec<Item>,
        /// `turn`, `task`, `session`, `tool_call`, `ui_review` or `peer_agent_handoff`.
        purpose: String,
        /// The outcome of each candidate, in the same order.
        selection: Selection,
        session: String,
        /// The method of relevance: `lexical/1`.
        similarity: String,
        /// What there was to choose from.
        surface: Surface,
        /// The task; absent if there was none.
        #[serde(skip_serializing_if = "Option::is_none")]
        task: Option<Task>,
        /// The segments of the text.
        window: Window,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_assembly")]
    struct Assembly {
        /// The blocks, in the order of the text.
        blocks: Vec<Block>,
        /// `markdown`, `text` or `relevant_context`.
        format: String,
        /// True if what was selected before was reconsidered, because something important did not
        /// fit beside it.
        is_replanned: bool,
        /// Where it is shown.
        place: String,
        /// The tokens at the beginning that are the same as in the previous assembly.
        reused_prefix_tokens: u32,
        /// Who sees it.
        target: String,
        /// The tokens of the text, and of the texts that references stand for.
        tokens: u32,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_block")]
    struct Block {
        /// The digest of the block, with what stands around the text.
        digest: String,
        /// The id of its item; absent for the task.
        #[serde(skip_serializing_if = "Option::is_none")]
        item: Option<String>,
        /// `system`, `project`, `material`, `digest`, `turns` or `task`.
        segment: String,
        tokens: u32,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_budget")]
    struct Budget {
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        items: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        newer_than: Option<Time>,
        reserved: u32,
        tokens: u32,
        used: Used,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_used")]
    struct Used {
        bytes: u64,
        items: u32,
        tokens: u32,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_item")]
    pub(crate) struct Item {
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<Time>,
        authority: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        depends_on: Option<Vec<String>>,
        /// The digest of its text.
        digest: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<Time>,
        #[serde(skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        importance: Option<u8>,
        /// True if only a reference was sent.
        is_reference: bool,
        kind: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        open_issues: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        operations_ago: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pair: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        roles: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<Source>,
        targets: Vec<String>,
        tokens: u32,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_source")]
    struct Source {
        #[serde(skip_serializing_if = "Option::is_none")]
        native_ids: Option<BTreeMap<String, String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        selectors: Option<Vec<String>>,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_selection")]
    struct Selection {
        candidates: Vec<Candidate>,
        /// `both`, `score` or `relevance`.
        rank_by: String,
        relevance_min: f64,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_candidate")]
    struct Candidate {
        id: String,
        /// True if it is always shown. Absent, as what follows, if it was left out before ranking.
        #[serde(skip_serializing_if = "Option::is_none")]
        is_fixed: Option<bool>,
        /// `preload`, `just_in_time` or `on_demand`.
        #[serde(skip_serializing_if = "Option::is_none")]
        loading: Option<String>,
        /// Why it was left out; absent if it was shown.
        #[serde(skip_serializing_if = "Option::is_none")]
        omitted: Option<Omitted>,
        /// Its place in the order in which candidates are taken.
        #[serde(skip_serializing_if = "Option::is_none")]
        rank: Option<u32>,
        /// Its relevance to the task, 0 to 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        relevance: Option<f64>,
        /// The rule by which it is loaded so, if not by its score alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        score: Option<Score>,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_omission")]
    struct Omitted {
        /// The numbers of the reason, such as `tokens` and `tokens_left`.
        #[serde(skip_serializing_if = "Option::is_none")]
        numbers: Option<BTreeMap<String, u64>>,
        /// The item that it repeats, that replaces it, or that it is never separated from.
        #[serde(skip_serializing_if = "Option::is_none")]
        other: Option<String>,
        /// `not_visible`, `expired`, `digest_mismatch`, `too_old`, `pruned`, `superseded`,
        /// `duplicate_of`, `irrelevant`, `just_in_time`, `on_demand` or `over_budget`.
        reason: String,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_score")]
    struct Score {
        dependency: u8,
        recency: u8,
        relevance: u8,
        signals: Vec<Signal>,
        total: u8,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_signal")]
    struct Signal {
        points: u8,
        signal: String,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_surface")]
    struct Surface {
        items: u32,
        tokens: u32,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_task")]
    struct Task {
        digest: String,
        tokens: u32,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_window")]
    struct Window {
        reserved_tokens: u32,
        segments: Vec<SegmentSize>,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "envelope_segment")]
    struct SegmentSize {
        blocks: u32,
        segment: String,
        tokens: u32,
    }
}
