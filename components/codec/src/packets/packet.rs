//! A packet in requests and replies: the canonical JSON that the core writes, and its schema
//! (spec 18.1).

use serde::{Serialize, Serializer, ser::Error};
use serde_json::value::RawValue;

use crate::form::{Member, Slot};

/// A packet, as it was written.
pub(super) struct PacketText(pub(super) String);

impl Serialize for PacketText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(self.0.as_bytes()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// A packet in a request.
#[derive(Debug, Default)]
pub(crate) struct PacketMember(pub(crate) Box<RawValue>);

impl Member for PacketMember {
    fn slot(&mut self) -> Slot<'_> {
        self.0.slot()
    }
}

/// A merge patch of a packet.
#[derive(Debug, Default)]
pub(crate) struct PatchMember(pub(crate) Box<RawValue>);

impl Member for PatchMember {
    fn slot(&mut self) -> Slot<'_> {
        self.0.slot()
    }
}

/// Implements `JsonSchema` for a type as a reference to the schema of packets, or as any object.
#[cfg(feature = "schema")]
macro_rules! schema_of {
    ($it:ty, $schema:expr) => {
        impl schemars::JsonSchema for $it {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($it).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema = $schema;
                schema(generator)
            }
        }
    };
}

#[cfg(feature = "schema")]
schema_of!(PacketText, |generator| {
    schemars::json_schema!({"anyOf": [generator.subschema_for::<schema::Packet>()]})
});
#[cfg(feature = "schema")]
schema_of!(PacketMember, |_| schemars::json_schema!({"type": "object"}));
#[cfg(feature = "schema")]
schema_of!(PatchMember, |_| schemars::json_schema!({"type": "object"}));

/// The members of a packet, for its schema.
#[cfg(feature = "schema")]
#[expect(dead_code, reason = "only the schema is made of it")]
mod schema {
    use crate::json::Time;

    /// What a worker gets to know for its task. The checksum is the SHA-256 over canonical JSON
    /// (RFC 8785) without `checksum` and `token_count`.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "packet")]
    pub(crate) struct Packet {
        /// Whom it is for: a participant, a pattern of participants, or `shared`.
        address: String,
        /// What changed in each version, oldest first.
        changelog: Vec<Change>,
        checksum: String,
        /// What the worker needs to know.
        context: Context,
        created: Time,
        /// The participant that wrote it.
        creator: String,
        /// `minimal`, `standard` or `deep`.
        depth: String,
        /// The format: `shared-context/packet/1`.
        format: String,
        /// Its id; absent in a preview.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// `goal`, `decisions`, `codebase` and `history`, as far as its depth has them.
        layers: Vec<String>,
        /// Packets of other sessions that it refers to.
        links: Vec<Link>,
        #[serde(skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// The method of relevance: `lexical/1`.
        similarity: String,
        /// The source of each statement.
        sources: Vec<Source>,
        target_task: String,
        /// The type of the task.
        #[serde(skip_serializing_if = "Option::is_none")]
        task_type: Option<String>,
        /// Its tokens in each form.
        token_count: TokenCount,
        version: u32,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "packet_change")]
    struct Change {
        text: String,
        version: u32,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "packet_context")]
    struct Context {
        codebase: Codebase,
        /// Rules that must be kept.
        constraints: Vec<String>,
        decisions: Vec<Decision>,
        failed_attempts: Vec<FailedAttempt>,
        goal: String,
        /// What was left out, as text.
        not_included: Vec<String>,
        open_questions: Vec<String>,
        pivots: Vec<Pivot>,
        success_criteria: Vec<String>,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "packet_codebase")]
    struct Codebase {
        anti_patterns: Vec<String>,
        /// Paths of files that show a pattern.
        examples: Vec<String>,
        patterns: Vec<String>,
        relevant_files: Vec<File>,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "packet_relevant_file")]
    struct File {
        path: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "packet_decision")]
    struct Decision {
        choice: String,
        /// `user`, `orchestrator` or `agent`.
        made_by: String,
        /// The decisions that were merged into it, oldest first.
        #[serde(skip_serializing_if = "Option::is_none")]
        merged_from: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "packet_failed_attempt")]
    struct FailedAttempt {
        approach: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason_failed: Option<String>,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "packet_pivot")]
    struct Pivot {
        change: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "packet_linked")]
    struct Link {
        #[serde(skip_serializing_if = "Option::is_none")]
        decision: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
        packet: String,
        session: String,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "packet_statement_source")]
    struct Source {
        authority: String,
        /// Who wrote it.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The digest of what stands there.
        digest: String,
        /// The id of an item of the conversation or of an envelope.
        #[serde(skip_serializing_if = "Option::is_none")]
        item: Option<String>,
        /// The key of an entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// `given`, `entry`, `state`, `item`, `file` or `missing`.
        kind: String,
        /// The line in the item, from 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
        /// The id of missing context.
        #[serde(skip_serializing_if = "Option::is_none")]
        missing: Option<String>,
        /// The path of a file, or of a place in the state of a round.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The place of the statement in the packet, as a JSON pointer.
        pointer: String,
        /// The round of a state.
        #[serde(skip_serializing_if = "Option::is_none")]
        round: Option<u64>,
        /// The version of an entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<u64>,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "packet_token_count")]
    struct TokenCount {
        json: u32,
        markdown: u32,
        yaml: u32,
    }
}
