//! Replies about feedback, statistics and lists of packets (spec 18.8).

use serde::Serialize;
use shared_context_core::packets::{
    GapReport, Minimum, Outcome, PacketInfo, TypeReport,
    kept::{KeptFeedback, Reader},
};

use super::replies::number;
use crate::json::{Time, to_vec};

/// Feedback on a packet.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_feedback"))]
pub(crate) struct FeedbackReply<'a> {
    /// Its number in the session.
    feedback: u64,
    /// Whom the packet was for.
    address: &'a str,
    /// The version of the packet.
    version: u32,
    /// The type of the task.
    task_type: &'a str,
    /// How the task ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    /// What was lacking.
    gaps: &'a [String],
    /// What was not used.
    unused: &'a [String],
    /// Layers that were read beyond those of the packet: gaps, too.
    layers: Vec<&'static str>,
    /// Questions without an answer: gaps, too.
    questions: &'a [String],
    /// Anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    /// Who gave it.
    given_by: &'a str,
    /// When.
    given_at: Time,
    /// The session's revision.
    revision: u64,
}

/// Statistics of packets.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_statistics"))]
pub(crate) struct StatisticsReply<'a> {
    /// The statistics of all types of tasks together, and of each type.
    types: Vec<TypeForm<'a>>,
    /// The session's revision.
    revision: u64,
}

/// Statistics of one type of task. Shares and rates are 0 to 1, with at most four decimals.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_type_statistics"))]
struct TypeForm<'a> {
    /// The type of task; null for all together.
    task_type: Option<&'a str>,
    /// How many packets were used.
    count: u32,
    /// Their mean tokens, rounded down.
    mean_tokens: u32,
    /// Their median tokens, rounded down between two.
    median_tokens: u32,
    /// How many tasks ended.
    ended: u32,
    /// The share of ended tasks that are done; null if none ended.
    success_rate: Option<f64>,
    /// What was lacking, most often first.
    gaps: Vec<GapForm<'a>>,
    /// What was not used, most often first.
    unused: Vec<GapForm<'a>>,
    /// The least context that suffices; null if too few tasks ended to say.
    minimum: Option<MinimumForm>,
}

/// Something that was lacking or not used.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_gap"))]
struct GapForm<'a> {
    /// What it is.
    text: &'a str,
    /// How often it was reported.
    count: u32,
    /// The share of packets for which it was reported.
    share: f64,
    /// The share of ended tasks with this report that were not done; null if none ended.
    failure_rate: Option<f64>,
}

/// The least context that suffices: its success rate is within 0.05 of the best.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_minimum"))]
struct MinimumForm {
    /// The depth.
    depth: &'static str,
    /// Its median tokens.
    median_tokens: u32,
    /// Its success rate.
    success_rate: f64,
}

/// What the removal of a packet did.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_cleared"))]
pub(crate) struct ClearReply<'a> {
    /// The address of the packet that is gone.
    cleared_packet: &'a str,
    /// How many versions it had.
    versions: u32,
    /// The session's revision.
    revision: u64,
}

/// The packets of a session.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_list"))]
pub(crate) struct ListReply<'a> {
    /// The packets that you may read, by address.
    packets: Vec<InfoForm<'a>>,
    /// The session's revision.
    revision: u64,
}

/// What is known of a packet without its content.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_info"))]
struct InfoForm<'a> {
    /// Whom it is for.
    address: &'a str,
    /// The id of its newest version.
    id: &'a str,
    /// Its newest version.
    version: u32,
    /// How many versions are kept.
    versions: u32,
    /// The task.
    task: &'a str,
    /// The type of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_type: Option<&'a str>,
    /// `minimal`, `standard` or `deep`.
    depth: &'static str,
    /// Its tokens in the form that its budget counts.
    tokens: u32,
    /// When its newest version was written.
    created_at: Time,
    /// Who wrote it.
    created_by: &'a str,
    /// Who read it, latest last; of others only the orchestrator and the admin know.
    readers: Vec<ReaderForm<'a>>,
}

/// A reader of a packet.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_reader"))]
struct ReaderForm<'a> {
    /// The participant.
    participant: &'a str,
    /// The newest version that it read; 0 if it read none.
    read_version: u32,
    /// When it read that version first; null if it read none.
    read_at: Option<Time>,
    /// The versions that it gave feedback on.
    feedback_versions: &'a [u32],
}

/// Serializes the statistics of packets.
pub(super) fn statistics(it: &[TypeReport], revision: u64) -> Vec<u8> {
    to_vec(&StatisticsReply { types: it.iter().map(of_type).collect(), revision })
}

/// Serializes the reply to the removal of a packet.
pub(super) fn cleared(address: &str, versions: u32, revision: u64) -> Vec<u8> {
    to_vec(&ClearReply { cleared_packet: address, versions, revision })
}

/// Serializes a list of packets.
pub(super) fn list(it: &[PacketInfo], revision: u64) -> Vec<u8> {
    to_vec(&ListReply { packets: it.iter().map(info).collect(), revision })
}

/// Serializes feedback on a packet.
pub(super) fn feedback(it: &KeptFeedback, revision: u64) -> Vec<u8> {
    to_vec(&FeedbackReply {
        feedback: it.number,
        address: it.address.as_str(),
        version: it.version,
        task_type: &it.task_type,
        outcome: it.feedback.outcome.map(Outcome::as_str),
        gaps: &it.feedback.gaps,
        unused: &it.feedback.unused,
        layers: it.layers.iter().map(|it| it.as_str()).collect(),
        questions: &it.questions,
        note: it.feedback.note.as_deref(),
        given_by: it.by.as_str(),
        given_at: Time(it.at),
        revision,
    })
}

fn of_type(it: &TypeReport) -> TypeForm<'_> {
    TypeForm {
        task_type: it.task_type.as_deref(),
        count: it.count,
        mean_tokens: it.mean_tokens,
        median_tokens: it.median_tokens,
        ended: it.ended,
        success_rate: it.success_rate.map(number),
        gaps: it.gaps.iter().map(gap).collect(),
        unused: it.unused.iter().map(gap).collect(),
        minimum: match it.minimum {
            Minimum::TooFew => None,
            Minimum::Found { depth, median_tokens, success_rate } => Some(MinimumForm {
                depth: depth.as_str(),
                median_tokens,
                success_rate: number(success_rate),
            }),
        },
    }
}

fn gap(it: &GapReport) -> GapForm<'_> {
    GapForm {
        text: &it.text,
        count: it.count,
        share: number(it.share),
        failure_rate: it.failure_rate.map(number),
    }
}

fn info(it: &PacketInfo) -> InfoForm<'_> {
    InfoForm {
        address: it.address.as_str(),
        id: &it.id,
        version: it.version,
        versions: it.versions,
        task: &it.task,
        task_type: it.task_type.as_deref(),
        depth: it.depth.as_str(),
        tokens: it.tokens.0,
        created_at: Time(it.created_at),
        created_by: it.created_by.as_str(),
        readers: it.readers.iter().map(reader).collect(),
    }
}

fn reader(it: &Reader) -> ReaderForm<'_> {
    ReaderForm {
        participant: it.participant.as_str(),
        read_version: it.version,
        read_at: (it.version > 0).then_some(Time(it.read_at)),
        feedback_versions: &it.given,
    }
}
