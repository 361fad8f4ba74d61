//! What is told of rounds (003): the round, the state, deltas, convergence.

use serde::Serialize;
use serde_json::value::RawValue;
use shared_context_core::{
    reply::{DeltaRead, DeltasPage, Proposed, StateRead},
    rounds::{Clipped, Convergence, Ended, Fate, Json, Loss, Round, Status, StrategyRule},
};

use crate::json::Time;

/// A round.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "round_reply"))]
pub(crate) struct RoundReply<'a> {
    #[serde(flatten)]
    round: RoundForm<'a>,
    /// The session's revision after it was opened or closed.
    revision: u64,
}

/// What is known of a round.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "round"))]
pub(crate) struct RoundForm<'a> {
    /// Its number, from 1.
    round: u64,
    /// `open`, `closed`, or `discarded`: closed, and none of its deltas applied.
    status: &'static str,
    /// When it was opened, UTC.
    opened_at: Time,
    /// By whom.
    opened_by: &'a str,
    /// How much participants count: the first that fits one; 1 where none does.
    weights: Vec<WeightReply<'a>>,
    /// How disagreements are settled: the first that fits a path; weighted-merge
    /// where none does.
    strategies: Vec<StrategyReply<'a>>,
    /// What goes when the state would be too large.
    clip: &'static str,
    /// The limit of the state's size.
    bytes_max: u32,
    /// How many deltas it has.
    deltas: u32,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    ended: Option<EndedForm<'a>>,
}

/// How much some participants count.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "round_weight_in_force"))]
struct WeightReply<'a> {
    /// Who, as a pattern.
    participant: &'a str,
    /// From 0 to 1.
    weight: f64,
}

/// How disagreements about some paths are settled.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "round_strategy_in_force"))]
struct StrategyReply<'a> {
    /// Which paths, as a pattern.
    path: &'a str,
    /// How.
    strategy: &'static str,
    /// Who is heard first, as patterns; only for expert-override.
    #[serde(skip_serializing_if = "Option::is_none")]
    experts: Option<Vec<&'a str>>,
}

/// How a round ended. Absent while it is open.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct EndedForm<'a> {
    /// When it was closed, UTC.
    closed_at: Time,
    /// By whom.
    closed_by: &'a str,
    /// How many deltas were applied, as a whole or in part.
    applied: u32,
    /// How many lost to others.
    lost: u32,
    /// How many were refused.
    refused: u32,
    /// What went because the state would have been too large.
    clipped: Vec<ClippedForm>,
    /// The size of the state it made.
    bytes: u32,
    #[serde(flatten)]
    convergence: ConvergenceForm,
}

/// A part of the state that went because the state would have been too large.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "clipped_part"))]
struct ClippedForm {
    /// Where it was, as a normalized path.
    path: String,
    /// The round in which it last changed.
    round: u64,
    /// The highest weight of those who made it.
    weight: f64,
    /// How much room it took.
    bytes: u32,
}

/// How much of the state a round left as it was.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ConvergenceForm {
    /// The share of paths that are unchanged, 0 to 1.
    convergence: f64,
    /// Paths of single values that have the same value before and after it.
    unchanged: u32,
    /// Paths of single values before or after it.
    paths: u32,
}

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

/// The shared state.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "state_reply"))]
pub(crate) struct StateReply<'a> {
    /// The round that made it; 0 before the first.
    round: u64,
    /// The state: query, bindings, entities and rules.
    #[cfg_attr(feature = "schema", schemars(with = "StateForm"))]
    state: &'a RawValue,
    /// Its size.
    bytes: usize,
    /// The limit of its size.
    bytes_max: u32,
    /// The round that is open. Absent when none is, and of an earlier state.
    #[serde(skip_serializing_if = "Option::is_none")]
    open_round: Option<RoundForm<'a>>,
    /// The session's revision.
    revision: u64,
}

/// What a state holds: it is written as it is kept.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[schemars(rename = "round_state")]
#[expect(dead_code, reason = "the form of what is passed on as text")]
struct StateForm {
    /// What the session is about.
    query: String,
    /// Terms, each bound to the id of its concept.
    bindings: std::collections::BTreeMap<String, String>,
    /// What was found.
    entities: Vec<serde_json::Value>,
    /// Which rules were evaluated, to what.
    rules: Vec<serde_json::Value>,
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
    /// With what. Absent when it removes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    #[cfg_attr(feature = "schema", schemars(default))]
    value: Option<&'a RawValue>,
    /// Why.
    provenance: &'a str,
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
    /// The sequence of the delta that won.
    to_sequence: u32,
    /// Whose that is.
    to_participant: &'a str,
}

/// How the rounds of a session changed its state.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "convergence_reply"))]
pub(crate) struct ConvergenceReply {
    /// The rounds that ended and are kept, oldest first.
    rounds: Vec<RoundConvergence>,
    /// The session's revision.
    revision: u64,
}

/// How one round changed the state.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "round_convergence"))]
struct RoundConvergence {
    /// Its number.
    round: u64,
    /// `closed`, or `discarded`.
    status: &'static str,
    #[serde(flatten)]
    convergence: ConvergenceForm,
    /// The size of the state it made.
    bytes: u32,
    /// How many deltas were applied, as a whole or in part.
    applied: u32,
    /// How many lost to others.
    lost: u32,
    /// How many were refused.
    refused: u32,
    /// When it was closed, UTC.
    closed_at: Time,
}

/// A value as it is kept: canonical text is JSON.
fn raw(it: &Json) -> &RawValue {
    serde_json::from_str(it.as_str()).unwrap_or(RawValue::NULL)
}

pub(super) fn round(it: &Round, revision: u64) -> RoundReply<'_> {
    RoundReply { round: it.into(), revision }
}

fn status(ended: Option<&Ended>) -> &'static str {
    match ended {
        None => "open",
        Some(Ended { is_discarded: false, .. }) => "closed",
        Some(Ended { is_discarded: true, .. }) => "discarded",
    }
}

impl<'a> From<&'a Round> for RoundForm<'a> {
    fn from(it: &'a Round) -> Self {
        let ended = it.ended.as_ref();
        let weights = it.plan.weights.iter().map(|it| WeightReply {
            participant: it.participants.as_str(),
            weight: it.weight.as_f64(),
        });
        Self {
            round: it.number,
            status: status(ended),
            opened_at: Time(it.opened_at),
            opened_by: it.opened_by.as_str(),
            weights: weights.collect(),
            strategies: it.plan.strategies.iter().map(strategy).collect(),
            clip: ended.map_or(it.plan.clip, |it| it.clip).as_str(),
            bytes_max: it.bytes_max,
            deltas: it.deltas,
            ended: ended.map(EndedForm::from),
        }
    }
}

fn strategy(it: &StrategyRule) -> StrategyReply<'_> {
    StrategyReply {
        path: it.paths.as_str(),
        strategy: it.strategy.name(),
        experts: it.strategy.experts().map(|it| it.patterns().collect()),
    }
}

impl<'a> From<&'a Ended> for EndedForm<'a> {
    fn from(it: &'a Ended) -> Self {
        Self {
            closed_at: Time(it.at),
            closed_by: it.by.as_str(),
            applied: it.applied,
            lost: it.lost,
            refused: it.refused,
            clipped: it.clipped.iter().map(ClippedForm::from).collect(),
            bytes: it.bytes,
            convergence: it.convergence.into(),
        }
    }
}

impl From<&Clipped> for ClippedForm {
    fn from(it: &Clipped) -> Self {
        Self {
            path: it.path.to_string(),
            round: it.mark.round,
            weight: it.mark.weight.as_f64(),
            bytes: it.bytes,
        }
    }
}

impl From<Convergence> for ConvergenceForm {
    fn from(it: Convergence) -> Self {
        const DECIMALS: f64 = 10_000.0;
        Self {
            convergence: (it.share() * DECIMALS).round() / DECIMALS,
            unchanged: it.unchanged,
            paths: it.paths,
        }
    }
}

pub(super) fn proposed(it: Proposed, revision: u64) -> ProposedReply {
    ProposedReply { round: it.round, first_sequence: it.first, last_sequence: it.last(), revision }
}

pub(super) fn state(it: &StateRead, revision: u64) -> StateReply<'_> {
    StateReply {
        round: it.round,
        state: raw(&it.document),
        bytes: it.document.bytes(),
        bytes_max: it.bytes_max,
        open_round: it.open.as_ref().map(RoundForm::from),
        revision,
    }
}

pub(super) fn deltas(it: &DeltasPage, revision: u64) -> DeltasReply<'_> {
    DeltasReply {
        deltas: it.deltas.iter().map(delta).collect(),
        next_after: it.next_after.map(|(round, sequence)| format!("{round}.{sequence}")),
        revision,
    }
}

fn delta(DeltaRead { round, delta, weight, fate }: &DeltaRead) -> DeltaReply<'_> {
    let (outcome, reason) = match fate.as_ref().map(|it| it.status) {
        None => ("pending", None),
        Some(Status::Applied) => ("applied", None),
        Some(Status::Lost) => ("lost", None),
        Some(why @ (Status::Clipped | Status::Discarded)) => ("refused", Some(why.as_str())),
    };
    let losses = fate.iter().flat_map(|it| &it.losses);
    let clipped = fate.iter().flat_map(|it: &Fate| &it.clipped);
    DeltaReply {
        round: *round,
        sequence: delta.sequence,
        participant: delta.participant.as_str(),
        weight: weight.as_f64(),
        proposed_at: Time(delta.proposed_at),
        operation: delta.operation.as_str(),
        path: delta.path.to_string(),
        value: delta.value.as_ref().map(raw),
        provenance: delta.provenance.as_str(),
        outcome,
        reason,
        losses: losses.map(loss).collect(),
        clipped: clipped.map(ToString::to_string).collect(),
    }
}

fn loss(it: &Loss) -> LossForm<'_> {
    LossForm {
        path: it.path.to_string(),
        why: it.why.as_str(),
        to_sequence: it.to,
        to_participant: it.by.as_str(),
    }
}

pub(super) fn convergence(rounds: &[Round], revision: u64) -> ConvergenceReply {
    let ended = rounds.iter().filter_map(|it| Some((it.number, it.ended.as_ref()?)));
    let rounds = ended.map(|(round, it)| RoundConvergence {
        round,
        status: status(Some(it)),
        convergence: it.convergence.into(),
        bytes: it.bytes,
        applied: it.applied,
        lost: it.lost,
        refused: it.refused,
        closed_at: Time(it.at),
    });
    ConvergenceReply { rounds: rounds.collect(), revision }
}
