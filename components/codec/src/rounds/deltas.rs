//! Deltas (spec 11) in replies: their positions and outcomes.

use serde::Serialize;
use serde_json::value::RawValue;
use shared_context_core::rounds::{
    DeltaLoss, DeltaOutcome, DeltaRead, DeltasPage, ExclusionResult, Json, Loss, Proposed,
    ProposedDelta, Reported, Status,
};

use crate::json::Time;

/// Proposed deltas, and what becomes of them.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "propose_deltas_reply"))]
pub(crate) struct ProposedReply<'a> {
    /// The round.
    round: u64,
    /// The sequence of the first of them in it.
    first_sequence: u32,
    /// The sequence of the last of them.
    last_sequence: u32,
    /// Each of them. Absent in the repetition of a request to an earlier version.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deltas: Vec<PreviewForm<'a>>,
    /// How many more losses there are than the 100 that are listed. Absent when there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_losses: Option<u32>,
    /// Whether losses were not computed, because the round has too many deltas. Absent when they
    /// were.
    #[serde(skip_serializing_if = "Option::is_none")]
    losses_unknown: Option<bool>,
    /// The session's revision after it.
    revision: u64,
}

/// A proposed delta, and what becomes of it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "delta_preview"))]
struct PreviewForm<'a> {
    /// Its number in the round.
    sequence: u32,
    /// Where, as a normalized path into the state its round began with.
    path: String,
    /// What it does to this state: `sets` a value, `appends` items to a list, `merges` members
    /// into an object, `removes`, or `nothing`, since the state has it already.
    effect: &'static str,
    /// What of it would lose if the round closed now. Absent when nothing would.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    losses: Vec<LossForm<'a>>,
}

/// Deltas that were withdrawn or rejected.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "exclude_deltas_reply"))]
pub(crate) struct ExcludedReply<'a> {
    /// The round.
    round: u64,
    /// `withdrawn` or `rejected`: what became of those in `sequences`. Absent when there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    /// The sequences of the deltas that have this outcome now.
    sequences: &'a [u32],
    /// The sequences of those that had been withdrawn or rejected before, and stay so.
    unchanged: &'a [u32],
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
    /// `pending`; after the close `applied`, as a whole or in part, `lost` to others, or
    /// `refused`. A delta that was left out of the merge is `withdrawn` or `rejected`.
    outcome: &'static str,
    /// Why it was refused: `clipped`, since the state would have been too large, or
    /// `discarded`, with the whole round. Of a rejected delta the orchestrator's reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
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

impl<'a> From<&'a ProposedDelta> for PreviewForm<'a> {
    fn from(it: &'a ProposedDelta) -> Self {
        Self {
            sequence: it.sequence,
            path: it.path.to_string(),
            effect: it.effect.as_str(),
            losses: it.losses.iter().map(loss).collect(),
        }
    }
}

/// Returns a stored value as raw JSON: canonical text is JSON.
pub(super) fn raw(it: &Json) -> &RawValue {
    serde_json::from_slice(it.as_str().as_bytes()).unwrap_or(RawValue::NULL)
}

pub(super) fn proposed(it: &Proposed, revision: u64) -> ProposedReply<'_> {
    ProposedReply {
        round: it.round,
        first_sequence: it.first,
        last_sequence: it.last(),
        deltas: it.deltas.iter().map(PreviewForm::from).collect(),
        more_losses: (it.more_losses > 0).then_some(it.more_losses),
        losses_unknown: (!it.has_losses).then_some(true),
        revision,
    }
}

pub(super) fn excluded(it: &ExclusionResult, revision: u64) -> ExcludedReply<'_> {
    ExcludedReply {
        round: it.round,
        outcome: (!it.sequences.is_empty()).then(|| it.status.as_str()),
        sequences: &it.sequences,
        unchanged: &it.unchanged,
        revision,
    }
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
    let reason = outcome.as_ref().and_then(|it| match (&it.reason, it.status) {
        (Some(reason), _) => Some(reason.as_str()),
        (None, Status::Clipped | Status::Discarded) => Some(it.status.as_str()),
        _ => None,
    });
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
        outcome: Reported::new(outcome.as_ref()).as_str(),
        reason,
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
