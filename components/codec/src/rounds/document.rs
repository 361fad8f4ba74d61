//! Rounds in a session document. The values of deltas and the states of rounds are stored among the
//! document's values, and referenced by their digests.

use serde::Serialize;
use shared_context_core::{
    Error, Line, Participant,
    pattern::ParticipantPattern,
    rounds::{
        Clip, Clipped, Convergence, Delta, DeltaOutcome, Ended, Json, KeptRound, Loss, Mark, Marks,
        Operation, Path, PathPattern, Plan, Provenance, Round, State, Status, Strategy,
        StrategyRule, Weight, WeightRule, Why,
    },
};

use super::forms::{StrategyForm, WeightForm};
use crate::{checks::participants, form::form, json::Time, values::Values};

/// A round.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_round"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct RoundItem {
    pub(crate) round: u64,
    /// What it was opened with, for the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) query: Option<String>,
    opened_at: Time,
    opened_by: String,
    weights: Vec<WeightForm>,
    strategies: Vec<StrategyForm>,
    clip: String,
    /// The limit of the state.
    bytes_max: u32,
    /// The limit it was opened with, if with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    sets_bytes_max: Option<u32>,
    /// Its deltas, by sequence.
    deltas: Vec<DeltaItem>,
    /// How it ended; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<EndedItem>,
}

/// A delta of a round, and what became of it.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_delta"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct DeltaItem {
    participant: String,
    proposed_at: Time,
    operation: String,
    path: String,
    /// The digest of its value; absent when it removes.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    provenance: String,
    /// `applied`, `lost`, `clipped`, `discarded`, `withdrawn` or `rejected`; absent while it is
    /// pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// Where it lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    losses: Vec<LossItem>,
    /// Where what it made went again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    clipped: Vec<String>,
    /// Why the orchestrator rejected it, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A place at which a delta lost.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_loss"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct LossItem {
    path: String,
    why: String,
    /// The sequence of the delta that won.
    to: u32,
}

/// How a round ended.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_round_end"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct EndedItem {
    at: Time,
    by: String,
    discarded: bool,
    clip: String,
    clipped: Vec<ClippedItem>,
    unchanged: u32,
    paths: u32,
    /// The digest of the state it made, as JSON (RFC 8785).
    state: String,
    /// Of each binding of that state when it last changed, in the order of the terms.
    bindings: Vec<MarkItem>,
    /// Of each entity, in their order.
    entities: Vec<MarkItem>,
    /// Of each rule, in their order.
    rules: Vec<MarkItem>,
}

/// A part that went because the state would have been too large.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_clipped_part"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct ClippedItem {
    path: String,
    changed: MarkItem,
    bytes: u32,
}

/// The round in which a part last changed, and its weight.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_mark"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct MarkItem {
    round: u64,
    weight: f64,
}

form! {
    RoundItem:
    round, query, opened_at, opened_by, weights, strategies, clip, bytes_max, sets_bytes_max, deltas,
    ended
}
form! {
    DeltaItem:
    participant, proposed_at, operation, path, value, provenance, status, losses = or_absent,
    clipped = or_absent, reason
}
form! { LossItem: path, why, to }
form! {
    EndedItem:
    at, by, discarded, clip, clipped, unchanged, paths, state, bindings, entities, rules
}
form! { ClippedItem: path, changed, bytes }
form! { MarkItem: round, weight }

impl RoundItem {
    /// Creates the item of a round; `query` is that of the first round.
    pub(crate) fn new(it: &KeptRound, query: Option<&String>, values: &mut Values) -> Self {
        let KeptRound { round, deltas, outcomes, state } = it;
        let weights = round.plan.weights.iter();
        let strategies = round.plan.strategies.iter();
        // While the round is open, only some of its deltas have an outcome.
        let mut outcomes = outcomes.iter().peekable();
        let mut delta = |it: &Delta| {
            let outcome = outcomes.next_if(|outcome| outcome.sequence == it.sequence);
            DeltaItem::new(it, outcome, values)
        };
        let deltas = deltas.iter().map(&mut delta).collect();
        let ended = round.ended.as_ref().zip(state.as_ref());
        Self {
            round: round.number,
            query: query.filter(|_| round.number == 1).cloned(),
            opened_at: Time(round.opened_at),
            opened_by: round.opened_by.as_str().to_owned(),
            weights: weights.map(WeightForm::from).collect(),
            strategies: strategies.map(StrategyForm::from).collect(),
            clip: round.plan.clip.as_str().to_owned(),
            bytes_max: round.bytes_max,
            sets_bytes_max: round.plan.bytes_max,
            deltas,
            ended: ended.map(|(ended, state)| EndedItem::new(ended, state, values)),
        }
    }

    /// Returns the digests of its values.
    pub(crate) fn values(&self) -> impl Iterator<Item = &String> {
        let deltas = self.deltas.iter().filter_map(|it| it.value.as_ref());
        deltas.chain(self.ended.as_ref().map(|it| &it.state))
    }

    pub(crate) fn restore(&self, values: &Values) -> Result<KeptRound, Error> {
        let weight = |it: &WeightForm| {
            let participants = ParticipantPattern::parse(&it.participant)?;
            Ok(WeightRule { participants, weight: Weight::parse(it.weight)? })
        };
        let strategy = |it: &StrategyForm| {
            let experts = it.experts.as_deref().map(participants).transpose()?;
            let strategy = Strategy::parse(&it.strategy, experts)?;
            Ok(StrategyRule { paths: PathPattern::restore(&it.path)?, strategy })
        };
        if self.query.is_some() && self.round != 1 {
            return Err(Error::malformed("only the first round is opened with a query"));
        }
        let plan = Plan {
            weights: self.weights.iter().map(weight).collect::<Result<_, Error>>()?,
            strategies: self.strategies.iter().map(strategy).collect::<Result<_, Error>>()?,
            clip: Clip::parse(&self.clip)?,
            bytes_max: self.sets_bytes_max,
        };
        let deltas = (1..).zip(&self.deltas).map(|(sequence, it)| it.delta(sequence, values));
        let deltas: Vec<Delta> = deltas.collect::<Result<_, Error>>()?;
        let outcomes = deltas
            .iter()
            .zip(&self.deltas)
            .filter_map(|(delta, it)| it.outcome(delta.sequence, &deltas).transpose());
        let outcomes: Vec<DeltaOutcome> = outcomes.collect::<Result<_, Error>>()?;
        let (state, ended) = match &self.ended {
            Some(it) => {
                let state = it.state(values)?;
                let ended = it.ended(&state, &outcomes)?;
                (Some(state), Some(ended))
            }
            None => (None, None),
        };
        let round = Round {
            number: self.round,
            opened_at: self.opened_at.0,
            opened_by: Participant::parse(&self.opened_by)?,
            plan,
            bytes_max: self.bytes_max,
            deltas: u32::try_from(deltas.len()).unwrap_or(u32::MAX),
            ended,
        };
        Ok(KeptRound { round, deltas, outcomes, state })
    }
}

impl DeltaItem {
    fn new(it: &Delta, outcome: Option<&DeltaOutcome>, values: &mut Values) -> Self {
        let losses = outcome.into_iter().flat_map(|it| &it.losses);
        let clipped = outcome.into_iter().flat_map(|it| &it.clipped);
        let reason = outcome.and_then(|it| it.reason.as_ref());
        Self {
            participant: it.participant.as_str().to_owned(),
            proposed_at: Time(it.proposed_at),
            operation: it.operation.as_str().to_owned(),
            path: it.path.to_string(),
            value: it.value.as_ref().map(|it| values.add(it.as_str().to_owned())),
            provenance: it.provenance.as_str().to_owned(),
            status: outcome.map(|it| it.status.as_str().to_owned()),
            losses: losses.map(LossItem::new).collect(),
            clipped: clipped.map(ToString::to_string).collect(),
            reason: reason.map(|it| it.as_str().to_owned()),
        }
    }

    fn delta(&self, sequence: u32, values: &Values) -> Result<Delta, Error> {
        let value = self.value.as_ref();
        let value = value.map(|it| Json::restore(values.get(it)?)).transpose()?;
        Ok(Delta {
            sequence,
            participant: Participant::parse(&self.participant)?,
            proposed_at: self.proposed_at.0,
            operation: by_name(&Operation::ALL, Operation::as_str, &self.operation)?,
            path: Path::restore(&self.path)?,
            value,
            provenance: Provenance::parse(&self.provenance)?,
        })
    }

    /// Restores the outcome of this delta, which is one of `deltas`; `None` if it is pending.
    fn outcome(&self, sequence: u32, deltas: &[Delta]) -> Result<Option<DeltaOutcome>, Error> {
        let Some(status) = &self.status else {
            if self.losses.is_empty() && self.clipped.is_empty() && self.reason.is_none() {
                return Ok(None);
            }
            return Err(Error::malformed("a delta has no status, and lost or was rejected"));
        };
        let losses = self.losses.iter().map(|it| it.loss(deltas));
        let clipped = self.clipped.iter().map(|it| Path::restore(it));
        Ok(Some(DeltaOutcome {
            sequence,
            status: by_name(&Status::ALL, Status::as_str, status)?,
            losses: losses.collect::<Result<_, _>>()?,
            clipped: clipped.collect::<Result<_, _>>()?,
            reason: self.reason.as_deref().map(|it| Line::parse("reason", it)).transpose()?,
        }))
    }
}

impl LossItem {
    fn new(it: &Loss) -> Self {
        Self { path: it.path.to_string(), why: it.why.as_str().to_owned(), to: it.to }
    }

    fn loss(&self, deltas: &[Delta]) -> Result<Loss, Error> {
        // Sequences count from 1, without gaps.
        let place = usize::try_from(self.to).ok().and_then(|it| it.checked_sub(1));
        let to = place.and_then(|it| deltas.get(it));
        let to = to.ok_or_else(|| Error::malformed("a delta lost to none"))?;
        Ok(Loss {
            path: Path::restore(&self.path)?,
            to: self.to,
            by: to.participant.clone(),
            why: by_name(&Why::ALL, Why::as_str, &self.why)?,
        })
    }
}

impl EndedItem {
    fn new(it: &Ended, state: &State, values: &mut Values) -> Self {
        let Marks { bindings, entities, rules } = state.marks();
        let clipped = it.clipped.iter().map(|it| ClippedItem {
            path: it.path.to_string(),
            changed: MarkItem::new(&it.mark),
            bytes: it.bytes,
        });
        Self {
            at: Time(it.at),
            by: it.by.as_str().to_owned(),
            discarded: it.is_discarded,
            clip: it.clip.as_str().to_owned(),
            clipped: clipped.collect(),
            unchanged: it.convergence.unchanged,
            paths: it.convergence.paths,
            state: values.add(state.text().as_str().to_owned()),
            bindings: bindings.values().map(MarkItem::new).collect(),
            entities: entities.iter().map(MarkItem::new).collect(),
            rules: rules.iter().map(MarkItem::new).collect(),
        }
    }

    fn state(&self, values: &Values) -> Result<State, Error> {
        let marks = |items: &[MarkItem]| items.iter().map(MarkItem::mark).collect::<Result<_, _>>();
        State::restore(
            values.get(&self.state)?,
            marks(&self.bindings)?,
            marks(&self.entities)?,
            marks(&self.rules)?,
        )
    }

    /// Restores the end of the round that produced `state`, with the outcomes `outcomes` of its
    /// deltas.
    fn ended(&self, state: &State, outcomes: &[DeltaOutcome]) -> Result<Ended, Error> {
        let clipped = self.clipped.iter().map(|it| {
            let path = Path::restore(&it.path)?;
            Ok(Clipped { path, mark: it.changed.mark()?, bytes: it.bytes })
        });
        Ok(Ended {
            at: self.at.0,
            by: Participant::parse(&self.by)?,
            is_discarded: self.discarded,
            bytes: state.bytes(),
            counts: Status::counts(outcomes),
            clipped: clipped.collect::<Result<_, Error>>()?,
            clip: Clip::parse(&self.clip)?,
            convergence: Convergence { unchanged: self.unchanged, paths: self.paths },
        })
    }
}

impl MarkItem {
    fn new(it: &Mark) -> Self {
        Self { round: it.round, weight: it.weight.as_f64() }
    }

    fn mark(&self) -> Result<Mark, Error> {
        Ok(Mark { round: self.round, weight: Weight::parse(self.weight)? })
    }
}

impl From<&WeightRule> for WeightForm {
    fn from(it: &WeightRule) -> Self {
        Self { participant: it.participants.as_str().to_owned(), weight: it.weight.as_f64() }
    }
}

impl From<&StrategyRule> for StrategyForm {
    fn from(it: &StrategyRule) -> Self {
        let experts = it.strategy.experts();
        Self {
            path: it.paths.as_str().to_owned(),
            strategy: it.strategy.name().to_owned(),
            experts: experts.map(|it| it.patterns().map(str::to_owned).collect()),
        }
    }
}

/// Returns the variant in `all` with this name.
fn by_name<T: Copy>(all: &[T], name_of: fn(T) -> &'static str, name: &str) -> Result<T, Error> {
    let found = all.iter().copied().find(|it| name_of(*it) == name);
    found.ok_or_else(|| Error::malformed("an operation, a status or a reason is unknown"))
}
