//! Requests on rounds (003), and the lists they have.

use serde::Serialize;
use serde_json::value::RawValue;
use shared_context_core::{Command, Error};

use super::{
    RequestForm,
    parts::rounds::{self as parts, SentDelta, SentPlan, SentStrategy, SentWeight},
};
use crate::form::{AsSent, form};

/// How much the deltas of some participants count.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "round_weight"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct WeightForm {
    /// Who, as a pattern: *, orchestrator, subagent:{task}, subagent:{task}:{id},
    /// where * in task and id stands for any text.
    pub(super) participant: String,
    /// How much.
    pub(super) weight: f64,
}

form! { WeightForm: participant, weight }

/// How disagreements about some paths are settled.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "round_strategy"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct StrategyForm {
    /// Which paths, and all below them: a `JSONPath` of names, indexes, * and ..,
    /// such as $.bindings or $.entities[*].type.
    pub(super) path: String,
    /// How.
    pub(super) strategy: String,
    /// For expert-override, which needs them: who is heard first, those named first
    /// before the others, as patterns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) experts: Option<Vec<String>>,
}

form! { StrategyForm: path, strategy, experts }

/// One change that is proposed.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "delta"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct DeltaForm {
    /// add: there is something more, a member, or items of a list; modify: what is
    /// there becomes something else; remove: it goes.
    operation: String,
    /// The one place it is about, a `JSONPath` such as $.bindings.customer or
    /// $.entities[0].name; below query, bindings, entities or rules.
    path: String,
    /// What is to be there, any JSON; null is a value. Absent for remove, and for
    /// nothing else.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value", default))]
    value: AsSent,
    /// Why, in 1 to 1000 characters.
    provenance: String,
}

form! { DeltaForm: operation, path, value, provenance }

impl DeltaForm {
    fn sent(&self) -> SentDelta<'_> {
        SentDelta {
            operation: &self.operation,
            path: &self.path,
            value: self.value.0.as_deref().map(RawValue::get),
            provenance: &self.provenance,
        }
    }
}

impl RequestForm {
    pub(super) fn open_round(self) -> Result<Command, Error> {
        let request_id = self.request_id()?;
        let weights = self.weights.unwrap_or_default().into_iter();
        let strategies = self.strategies.unwrap_or_default().into_iter();
        let plan = SentPlan {
            weights: weights
                .map(|it| SentWeight { participant: it.participant, weight: it.weight })
                .collect(),
            strategies: strategies
                .map(|it| SentStrategy {
                    path: it.path,
                    strategy: it.strategy,
                    experts: it.experts,
                })
                .collect(),
            clip: self.clip,
            bytes_max: self.bytes_max,
        };
        parts::open_round(self.query, plan, request_id)
    }

    pub(super) fn propose_deltas(&self) -> Result<Command, Error> {
        let request_id = self.request_id()?;
        let deltas = self.deltas.iter().flatten().map(DeltaForm::sent);
        parts::propose_deltas(deltas.collect(), request_id)
    }

    pub(super) fn close_round(&self) -> Result<Command, Error> {
        let request_id = self.request_id()?;
        parts::close_round(self.clip.as_deref(), self.discard.unwrap_or(false), request_id)
    }

    pub(super) fn read_deltas(&self) -> Result<Command, Error> {
        let after = self.after.as_deref().map(position).transpose()?;
        parts::read_deltas(self.path.as_deref(), self.round, after, self.limit)
    }
}

/// The most digits of a round, and of a sequence in it: each such number fits.
const POSITION_DIGITS_MAX: (usize, usize) = (19, 9);

/// The round and sequence that `after` names.
fn position(after: &str) -> Result<(u64, u32), Error> {
    let is_number = |it: &str, digits: usize| {
        (1..=digits).contains(&it.len()) && it.bytes().all(|b| b.is_ascii_digit())
    };
    let named = after.split_once('.').filter(|(round, nth)| {
        is_number(round, POSITION_DIGITS_MAX.0) && is_number(nth, POSITION_DIGITS_MAX.1)
    });
    let parsed = named.and_then(|(round, nth)| Some((round.parse().ok()?, nth.parse().ok()?)));
    parsed.ok_or_else(|| {
        let shown: String = after.chars().take(40).collect();
        Error::malformed(format!(
            "after is {shown:?}; it must be a round and a delta's sequence in it, as next_after \
             tells them, for example \"3.17\""
        ))
    })
}
