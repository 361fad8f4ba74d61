//! A kept envelope in replies, of an assembly or a compaction, and the schema of the latter
//! (spec 17.5).

use serde::{Serialize, Serializer};

use super::envelope::Envelope;

/// An envelope of either kind, as it was written.
pub(super) struct AnyEnvelope<'a>(pub(super) &'a str);

impl Serialize for AnyEnvelope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Envelope(self.0).serialize(serializer)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for AnyEnvelope<'_> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "kept_envelope".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"anyOf": [
            generator.subschema_for::<super::envelope::schema::ContextEnvelope>(),
            generator.subschema_for::<schema::CompactionEnvelope>(),
        ]})
    }
}

/// The members of the envelope of a compaction, for its schema.
#[cfg(feature = "schema")]
#[expect(dead_code, reason = "only the schema is made of it")]
mod schema {
    use super::super::envelope::schema::Item;
    use crate::json::Time;

    /// What became of a conversation that was compacted: a portable record of one compaction. It has
    /// the digests of all texts, but no text.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "compaction_envelope")]
    pub(crate) struct CompactionEnvelope {
        /// The conversation after.
        after: Counts,
        /// The conversation before.
        before: Counts,
        /// What was checked after the compaction.
        checklist: Vec<Point>,
        /// How much of the conversation is in the result.
        coverage: Coverage,
        created_at: Time,
        /// The participant that asked for it.
        created_by: String,
        /// What removed items said; absent if there is nothing to say.
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<Digest>,
        /// `over_aggressive`, `under_target` or `nothing_to_gain`.
        flags: Vec<String>,
        /// The format: `shared-context/compaction/1`.
        format: String,
        /// Its id.
        id: String,
        /// The conversation, in the order of the request.
        items: Vec<Item>,
        /// The classes of which facts were lost.
        losses: Vec<Loss>,
        /// What became of each item, in the same order.
        plan: Vec<Planned>,
        /// The conversation after, in its order.
        result: Vec<ResultItem>,
        session: String,
        /// The most tokens of the result.
        target_tokens: u32,
        /// The task; absent if there was none.
        #[serde(skip_serializing_if = "Option::is_none")]
        task: Option<Task>,
        /// `default` or `dense`.
        weighting: String,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "compaction_envelope_counts")]
    struct Counts {
        decisions: u32,
        files: u32,
        issues: u32,
        items: u32,
        tokens: u32,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "compaction_envelope_point")]
    struct Point {
        check: String,
        evidence: String,
        holds: bool,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "compaction_envelope_coverage")]
    struct Coverage {
        in_part: u32,
        kept: u32,
        percent_kept: u8,
        removed: u32,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "compaction_envelope_digest")]
    struct Digest {
        /// The id of its item in the result.
        id: String,
        lines: Vec<Line>,
        tokens: u32,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "compaction_envelope_line")]
    struct Line {
        authority: String,
        /// The digest of its text.
        digest: String,
        section: String,
        /// The id of its item, and the line in it.
        source: String,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "compaction_envelope_loss")]
    struct Loss {
        after: u32,
        before: u32,
        class: String,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "compaction_envelope_planned")]
    struct Planned {
        /// `kept`, `condensed`, `digested` or `removed`.
        fate: String,
        id: String,
        /// The parts of a weighed score, in percent.
        #[serde(skip_serializing_if = "Option::is_none")]
        parts: Option<Parts>,
        /// The id of the item that it repeats.
        #[serde(skip_serializing_if = "Option::is_none")]
        repeats: Option<String>,
        rule: String,
        score: u8,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "compaction_envelope_parts")]
    struct Parts {
        density: u8,
        recency: u8,
        references: u8,
        relevance: u8,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "compaction_envelope_result")]
    struct ResultItem {
        /// The digest of its text.
        digest: String,
        /// Its id.
        item: String,
        tokens: u32,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "compaction_envelope_task")]
    struct Task {
        digest: String,
    }
}
