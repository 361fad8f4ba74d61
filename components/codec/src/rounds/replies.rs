//! Replies about rounds (spec 11): the round, the state, convergence. Deltas are in `deltas`.

use serde::Serialize;
use serde_json::value::RawValue;
use shared_context_core::rounds::{
    Clipped, Convergence, Ended, Reply, Round, RoundsRedacted, StateRead, StrategyRule,
};

use super::deltas::{self, RoundLossForm, raw};
use crate::json::{Time, to_vec};

/// A round.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "round_reply"))]
pub(crate) struct RoundReply<'a> {
    #[serde(flatten)]
    round: RoundForm<'a>,
    /// What lost in it and to whom, the first 100 by sequence. Absent when it was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    losses: Option<Vec<RoundLossForm<'a>>>,
    /// How many more lost: `read_deltas` with the outcome lost shows them. Absent when none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_losses: Option<u32>,
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

/// Members of a round that has ended; absent while it is open.
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
    /// How many were withdrawn by those who proposed them.
    withdrawn: u32,
    /// How many the orchestrator rejected.
    rejected: u32,
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

/// Share of the state that a round left unchanged.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ConvergenceForm {
    /// The share of paths that are unchanged, 0 to 1.
    convergence: f64,
    /// Paths of single values that have the same value before and after it.
    unchanged: u32,
    /// Paths of single values before or after it.
    paths: u32,
    /// What the number says, in words.
    meaning: String,
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
    /// How many were withdrawn by those who proposed them.
    withdrawn: u32,
    /// How many the orchestrator rejected.
    rejected: u32,
    /// When it was closed, UTC.
    closed_at: Time,
}

/// What a redaction in rounds did.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "redact_rounds_reply"))]
pub(crate) struct RedactRoundsReply<'a> {
    /// How many texts are gone; 0 when none had it in it.
    places: u32,
    /// What stands in their place, each once: `redacted:` and the first 16 hexadecimal
    /// digits of the SHA-256 of the text that was there.
    markers: &'a [String],
    /// The session's revision.
    revision: u64,
}

/// Serializes a reply about rounds.
pub(crate) fn encode(reply: &Reply, revision: u64) -> Vec<u8> {
    match reply {
        Reply::Round(it) => {
            to_vec(&RoundReply { round: (&**it).into(), losses: None, more_losses: None, revision })
        }
        Reply::Closed(it) => to_vec(&RoundReply {
            round: (&it.round).into(),
            losses: Some(it.losses.iter().map(RoundLossForm::from).collect()),
            more_losses: (it.more_losses > 0).then_some(it.more_losses),
            revision,
        }),
        Reply::Proposed(it) => to_vec(&deltas::proposed(it, revision)),
        Reply::Excluded(it) => to_vec(&deltas::excluded(it, revision)),
        Reply::State(it) => to_vec(&state(it, revision)),
        Reply::Deltas(it) => to_vec(&deltas::deltas(it, revision)),
        Reply::Convergence(it) => to_vec(&convergence(it, revision)),
        Reply::Redacted(it) => to_vec(&redacted(it, revision)),
    }
}

fn redacted(it: &RoundsRedacted, revision: u64) -> RedactRoundsReply<'_> {
    RedactRoundsReply { places: it.places, markers: &it.markers, revision }
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
            applied: it.counts.applied,
            lost: it.counts.lost,
            refused: it.counts.refused,
            withdrawn: it.counts.withdrawn,
            rejected: it.counts.rejected,
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
            meaning: format!(
                "{} of {} single values are as they were before the round; 1 means that it changed \
                 nothing, as when all agree",
                it.unchanged, it.paths
            ),
        }
    }
}

fn state(it: &StateRead, revision: u64) -> StateReply<'_> {
    StateReply {
        round: it.round,
        state: raw(&it.document),
        bytes: it.document.bytes(),
        bytes_max: it.bytes_max,
        open_round: it.open.as_ref().map(RoundForm::from),
        revision,
    }
}

fn convergence(rounds: &[Round], revision: u64) -> ConvergenceReply {
    let ended = rounds.iter().filter_map(|it| Some((it.number, it.ended.as_ref()?)));
    let rounds = ended.map(|(round, it)| RoundConvergence {
        round,
        status: status(Some(it)),
        convergence: it.convergence.into(),
        bytes: it.bytes,
        applied: it.counts.applied,
        lost: it.counts.lost,
        refused: it.counts.refused,
        withdrawn: it.counts.withdrawn,
        rejected: it.counts.rejected,
        closed_at: Time(it.at),
    });
    ConvergenceReply { rounds: rounds.collect(), revision }
}
