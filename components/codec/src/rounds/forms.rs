//! List items in requests on rounds (spec 11).

use serde::Serialize;
use shared_context_core::Error;

use super::input::{DeltaInput, StrategyInput, WeightInput};
use crate::form::{RawMember, form};

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

impl From<WeightForm> for WeightInput {
    fn from(it: WeightForm) -> Self {
        Self { participant: it.participant, weight: it.weight }
    }
}

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

impl From<StrategyForm> for StrategyInput {
    fn from(it: StrategyForm) -> Self {
        Self { path: it.path, strategy: it.strategy, experts: it.experts }
    }
}

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
    value: RawMember,
    /// Why, in 1 to 1000 characters.
    provenance: String,
}

form! { DeltaForm: operation, path, value, provenance }

impl From<DeltaForm> for DeltaInput {
    fn from(it: DeltaForm) -> Self {
        let value = it.value.0.map(|it| Box::<str>::from(it).into());
        Self { operation: it.operation, path: it.path, value, provenance: it.provenance }
    }
}

/// Names of the forms in which deltas are returned.
pub(crate) const DELTA_FORMS: [&str; 2] = ["full", "brief"];

/// Parses the name of a form, and returns true for `brief`.
pub(crate) fn is_brief(form: &str) -> Result<bool, Error> {
    match form {
        "full" => Ok(false),
        "brief" => Ok(true),
        _ => Err(Error::malformed(format!("form is one of {}", DELTA_FORMS.join(", ")))),
    }
}

/// Most digits of a round and of a sequence, chosen so that each number fits its type.
const POSITION_DIGITS_MAX: (usize, usize) = (19, 9);

/// Parses `after` into a round and a sequence.
pub(crate) fn position(after: &str) -> Result<(u64, u32), Error> {
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
