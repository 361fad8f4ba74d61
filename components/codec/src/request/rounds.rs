//! Requests on rounds (003), and the lists they have.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use shared_context_core::{Command, Error};

use super::{
    RequestForm,
    parts::rounds::{self as parts, SentDelta, SentPlan, SentStrategy, SentWeight},
};
use crate::json::Object;

/// How much the deltas of some participants count.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "round_weight"))]
#[serde(deny_unknown_fields)]
pub(crate) struct WeightForm {
    /// Who, as a pattern: *, orchestrator, subagent:{task}, subagent:{task}:{id},
    /// where * in task and id stands for any text.
    pub(super) participant: String,
    /// How much.
    pub(super) weight: f64,
}

/// How disagreements about some paths are settled.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "round_strategy"))]
#[serde(deny_unknown_fields)]
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

/// One change that is proposed.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "delta"))]
#[serde(deny_unknown_fields)]
pub(crate) struct DeltaForm {
    /// add: there is something more, a member, or items of a list; modify: what is
    /// there becomes something else; remove: it goes.
    operation: String,
    /// The one place it is about, a `JSONPath` such as $.bindings.customer or
    /// $.entities[0].name; below query, bindings, entities or rules.
    path: String,
    /// What is to be there, any JSON; null is a value. Absent for remove, and for
    /// nothing else.
    #[serde(default, deserialize_with = "as_sent")]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    value: Option<Box<RawValue>>,
    /// Why, in 1 to 1000 characters.
    provenance: String,
}

/// The value as it was sent, null included: it is not absent then.
fn as_sent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

impl DeltaForm {
    fn sent(&self) -> SentDelta<'_> {
        SentDelta {
            operation: &self.operation,
            path: &self.path,
            value: self.value.as_deref().map(RawValue::get),
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
                .map(|Object(it)| SentWeight { participant: it.participant, weight: it.weight })
                .collect(),
            strategies: strategies
                .map(|Object(it)| SentStrategy {
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
        let deltas = self.deltas.iter().flatten().map(|Object(it)| it.sent());
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
