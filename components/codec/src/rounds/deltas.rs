//! Deltas (spec 11) in replies: their positions and outcomes.

use serde::Serialize;
use serde_json::value::RawValue;
use shared_context_core::rounds::{
    DeltaLoss, DeltaOutcome, DeltaRead, DeltasPage, Json, Loss, Proposed, Reported,
};

use crate::json::Time;

/// Where proposed deltas stand.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "propose_deltas_reply"))]
pub(crate) struct ProposedReply {
    /// The round.
    round: u64,
    /// The sequence of the first of them in it.
    first_sequence: u32,
    /// The sequence of the last of them.
    last_sequence: u32,
    /// The session's revision after it.
    revision: u64,
}

/// Some of a session's deltas.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "deltas_page"))]
pub(crate) struct DeltasReply<'a> {
    /// The deltas, oldest first.
    deltas: Vec<DeltaReply<'a>>,
    /// Ask again after this for more. Absent when there is no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after: Option<String>,
    /// The session's revision.
    revision: u64,
}

/// A delta and what became of it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "proposed_delta"))]
struct DeltaReply<'a> {
    /// Its round.
    round: u64,
    /// Its number in the round, from 1.
    sequence: u32,
    /// Who proposed it.
    participant: &'a str,
    /// How much it counts.
    weight: f64,
    /// When it was proposed, UTC.
    proposed_at: Time,
    /// `add`, `modify` or `remove`.
    operation: &'static str,
    /// Where, as a normalized path into the state its round began with.
    path: String,
    /// With what. Absent when it removes, and in the brief form.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    #[cfg_attr(feature = "schema", schemars(default))]
    value: Option<&'a RawValue>,
    /// Why. Absent in the brief form, like the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<&'a str>,
    /// `pending` while the round is open; then `applied`, as a whole or in part,
    /// `lost` to others, or `refused`.
    outcome: &'static str,
    /// Why it was refused: `clipped`, since the state would have been too large, or
    /// `discarded`, with the whole round.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// What of it lost. Absent when nothing did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    losses: Vec<LossForm<'a>>,
    /// What of it went again because the state would have been too large, as
    /// normalized paths. Absent when nothing did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    clipped: Vec<String>,
}

/// A place at which a delta lost.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "delta_loss"))]
struct LossForm<'a> {
    /// The place, as a normalized path.
    path: String,
    /// What decided it.
    why: &'static str,
    /// For a tie, the rule that decides ties.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'static str>,
    /// The sequence of the delta that won.
    to_sequence: u32,
    /// Whose that is.
    to_participant: &'a str,
}

/// A place at which a delta of a closed round lost.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "round_loss"))]
pub(super) struct RoundLossForm<'a> {
    /// The sequence of the delta that lost.
    sequence: u32,
    /// Whose it is.
    participant: &'a str,
    #[serde(flatten)]
    loss: LossForm<'a>,
}

impl<'a> From<&'a DeltaLoss> for RoundLossForm<'a> {
    fn from(it: &'a DeltaLoss) -> Self {
        let participant = it.participant.as_str();
        Self { sequence: it.sequence, participant, loss: loss(&it.loss) }
    }
}

/// Returns a stored value as raw JSON: canonical text is JSON.
pub(super) fn raw(it: &Json) -> &RawValue {
    serde_json::from_slice(it.as_str().as_bytes()).unwrap_or(RawValue::NULL)
}

pub(super) fn proposed(it: Proposed, revision: u64) -> ProposedReply {
    ProposedReply { round: it.round, first_sequence: it.first, last_sequence: it.last(), revision }
}

pub(super) fn deltas(it: &DeltasPage, revision: u64) -> DeltasReply<'_> {
    DeltasReply {
        deltas: it.deltas.iter().map(|read| delta(read, it.is_brief)).collect(),
        next_after: it.next_after.map(|(round, sequence)| format!("{round}.{sequence}")),
        revision,
    }
}

fn delta(read: &DeltaRead, is_brief: bool) -> DeltaReply<'_> {
    let DeltaRead { round, delta, weight, outcome } = read;
    let reported = Reported::new(outcome.as_ref());
    let status = outcome.as_ref().map(|it| it.status.as_str());
    let losses = outcome.iter().flat_map(|it| &it.losses);
    let clipped = outcome.iter().flat_map(|it: &DeltaOutcome| &it.clipped);
    DeltaReply {
        round: *round,
        sequence: delta.sequence,
        participant: delta.participant.as_str(),
        weight: weight.as_f64(),
        proposed_at: Time(delta.proposed_at),
        operation: delta.operation.as_str(),
        path: delta.path.to_string(),
        value: delta.value.as_ref().filter(|_| !is_brief).map(raw),
        provenance: (!is_brief).then(|| delta.provenance.as_str()),
        outcome: reported.as_str(),
        reason: status.filter(|_| reported == Reported::Refused),
        losses: losses.map(loss).collect(),
        clipped: clipped.map(ToString::to_string).collect(),
    }
}

fn loss(it: &Loss) -> LossForm<'_> {
    LossForm {
        path: it.path.to_string(),
        why: it.why.as_str(),
        rule: it.why.rule(),
        to_sequence: it.to,
        to_participant: it.by.as_str(),
    }
}
