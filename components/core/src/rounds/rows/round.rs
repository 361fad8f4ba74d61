//! The rows `r/`: the rounds of a session, their states and deltas.

use serde::{Deserialize, Serialize};

use super::super::{
    Clip, Clipped, Convergence, Delta, DeltaOutcome, Ended, Json, Loss, Mark, Marks, Operation,
    OutcomeCounts, Path, PathPattern, Plan, Provenance, Round, Rounds, State, Status, Step,
    Strategy, StrategyRule, Weight, WeightRule, Why,
};
use crate::{
    Error,
    order::map,
    pattern::ParticipantPattern,
    row::{damaged, decode, encode, list_to_store, stored_list, stored_participant},
    time::Timestamp,
};

#[derive(Serialize, Deserialize)]
struct RoundsRecord {
    last: u64,
    oldest: u64,
    bytes_max: u32,
    open: Option<RoundRecord>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct RoundRecord {
    number: u64,
    opened_at_ms: u64,
    opened_by: String,
    plan: PlanRecord,
    bytes_max: u32,
    deltas: u32,
    /// The bytes of an open round's deltas; 0 for a closed round.
    deltas_bytes: u32,
    ended: Option<EndedRecord>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PlanRecord {
    weights: Vec<(String, u32)>,
    /// Paths, strategy, experts.
    strategies: Vec<(String, String, Option<Vec<String>>)>,
    clip: String,
    bytes_max: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct EndedRecord {
    at_ms: u64,
    by: String,
    is_discarded: bool,
    bytes: u32,
    applied: u32,
    lost: u32,
    refused: u32,
    clipped: Vec<ClippedRecord>,
    clip: String,
    unchanged: u32,
    paths: u32,
}

#[derive(Serialize, Deserialize)]
struct ClippedRecord {
    path: Vec<StepRecord>,
    mark: MarkRecord,
    bytes: u32,
}

#[derive(Serialize, Deserialize)]
pub(super) enum StepRecord {
    Name(String),
    Index(u32),
}

/// The round of a part's last change, and its weight in billionths.
type MarkRecord = (u64, u32);

#[derive(Serialize, Deserialize)]
struct StateRecord {
    document: String,
    bindings: Vec<(String, MarkRecord)>,
    entities: Vec<MarkRecord>,
    rules: Vec<MarkRecord>,
}

#[derive(Serialize, Deserialize)]
struct DeltaRecord {
    participant: String,
    proposed_at_ms: u64,
    operation: String,
    path: Vec<StepRecord>,
    value: Option<String>,
    provenance: String,
}

#[derive(Serialize, Deserialize)]
struct OutcomeRecord {
    sequence: u32,
    status: String,
    losses: Vec<LossRecord>,
    clipped: Vec<Vec<StepRecord>>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct LossRecord {
    path: Vec<StepRecord>,
    to: u32,
    by: String,
    why: String,
}

/// Encodes a session's rounds.
pub(crate) fn encode_rounds(it: &Rounds) -> Result<Vec<u8>, Error> {
    encode(&RoundsRecord {
        last: it.last,
        oldest: it.oldest,
        bytes_max: it.bytes_max,
        open: it.open.as_ref().map(|open| RoundRecord::new(open, it.open_bytes)),
    })
}

/// Decodes a session's rounds.
pub(crate) fn decode_rounds(bytes: &[u8]) -> Result<Rounds, Error> {
    let RoundsRecord { last, oldest, bytes_max, open } = decode(bytes)?;
    let open_bytes = open.as_ref().map_or(0, |it| it.deltas_bytes);
    let open = open.map(RoundRecord::into_round).transpose()?;
    Ok(Rounds { last, oldest, bytes_max, open, open_bytes })
}

/// Encodes the state after a round.
pub(crate) fn encode_state(it: &State) -> Result<Vec<u8>, Error> {
    let marks = |marks: &[Mark]| marks.iter().map(mark_to_store).collect();
    let bindings = it.marks.bindings.iter();
    encode(&StateRecord {
        document: it.text().as_str().to_owned(),
        bindings: bindings.map(|(term, it)| (term.clone(), mark_to_store(it))).collect(),
        entities: marks(&it.marks.entities),
        rules: marks(&it.marks.rules),
    })
}

/// Decodes the state after a round.
pub(crate) fn decode_state(bytes: &[u8]) -> Result<State, Error> {
    let StateRecord { document, bindings, entities, rules } = decode(bytes)?;
    let marks = |marks: Vec<MarkRecord>| marks.into_iter().map(stored_mark).collect();
    Ok(State {
        document: serde_json::from_slice(document.as_bytes()).map_err(damaged)?,
        text: Json::stored(document),
        marks: Marks {
            bindings: map(bindings.into_iter().map(|(term, it)| (term, stored_mark(it)))),
            entities: marks(entities),
            rules: marks(rules),
        },
    })
}

/// Decodes only the document of the state after a round.
pub(crate) fn decode_document(bytes: &[u8]) -> Result<Json, Error> {
    let StateRecord { document, .. } = decode(bytes)?;
    Ok(Json::stored(document))
}

/// Encodes deltas that were proposed together.
pub(crate) fn encode_deltas(deltas: &[Delta]) -> Result<Vec<u8>, Error> {
    let record = |it: &Delta| DeltaRecord {
        participant: it.participant.as_str().to_owned(),
        proposed_at_ms: it.proposed_at.0,
        operation: it.operation.as_str().to_owned(),
        path: path_to_store(&it.path),
        value: it.value.as_ref().map(|it| it.as_str().to_owned()),
        provenance: it.provenance.as_str().to_owned(),
    };
    encode(&deltas.iter().map(record).collect::<Vec<_>>())
}

/// Decodes the deltas in a row of [`super::delta_rows`].
pub(crate) fn decode_deltas(row: &str, bytes: &[u8]) -> Result<Vec<Delta>, Error> {
    let first = row.rsplit_once('/').map_or(row, |(_, it)| it);
    let first = u32::from_str_radix(first, 16).map_err(damaged)?;
    let records: Vec<DeltaRecord> = decode(bytes)?;
    let delta = |(sequence, it): (u32, DeltaRecord)| {
        Ok(Delta {
            sequence,
            participant: stored_participant(&it.participant)?,
            proposed_at: Timestamp(it.proposed_at_ms),
            operation: named(&Operation::ALL, Operation::as_str, &it.operation)?,
            path: stored_path(it.path)?,
            value: it.value.map(Json::stored),
            provenance: Provenance::parse(&it.provenance).map_err(damaged)?,
        })
    };
    (first..).zip(records).map(delta).collect()
}

/// Encodes the end of a round and the outcomes of its deltas.
pub(crate) fn encode_ended(round: &Round, outcomes: &[DeltaOutcome]) -> Result<Vec<u8>, Error> {
    let outcome = |it: &DeltaOutcome| OutcomeRecord {
        sequence: it.sequence,
        status: it.status.as_str().to_owned(),
        losses: it.losses.iter().map(LossRecord::new).collect(),
        clipped: it.clipped.iter().map(path_to_store).collect(),
    };
    encode(&(RoundRecord::new(round, 0), outcomes.iter().map(outcome).collect::<Vec<_>>()))
}

/// Decodes the end of a round and the outcomes of its deltas, without the reasons of
/// rejections.
pub(crate) fn decode_ended(bytes: &[u8]) -> Result<(Round, Vec<DeltaOutcome>), Error> {
    let (round, outcomes): (RoundRecord, Vec<OutcomeRecord>) = decode(bytes)?;
    let outcome = |it: OutcomeRecord| {
        Ok(DeltaOutcome {
            sequence: it.sequence,
            status: named(&Status::ALL, Status::as_str, &it.status)?,
            losses: it
                .losses
                .into_iter()
                .map(LossRecord::into_loss)
                .collect::<Result<_, Error>>()?,
            clipped: it.clipped.into_iter().map(stored_path).collect::<Result<_, _>>()?,
            reason: None,
        })
    };
    let outcomes: Vec<_> = outcomes.into_iter().map(outcome).collect::<Result<_, Error>>()?;
    let mut round = round.into_round()?;
    if let Some(ended) = &mut round.ended {
        ended.counts = Status::counts(&outcomes);
    }
    Ok((round, outcomes))
}

impl LossRecord {
    pub(super) fn new(it: &Loss) -> Self {
        Self {
            path: path_to_store(&it.path),
            to: it.to,
            by: it.by.as_str().to_owned(),
            why: it.why.as_str().to_owned(),
        }
    }

    pub(super) fn into_loss(self) -> Result<Loss, Error> {
        let Self { path, to, by, why } = self;
        let (path, by) = (stored_path(path)?, stored_participant(&by)?);
        Ok(Loss { path, to, by, why: named(&Why::ALL, Why::as_str, &why)? })
    }
}

impl RoundRecord {
    pub(crate) fn new(it: &Round, deltas_bytes: u32) -> Self {
        Self {
            number: it.number,
            opened_at_ms: it.opened_at.0,
            opened_by: it.opened_by.as_str().to_owned(),
            plan: PlanRecord::new(&it.plan),
            bytes_max: it.bytes_max,
            deltas: it.deltas,
            deltas_bytes,
            ended: it.ended.as_ref().map(EndedRecord::new),
        }
    }

    pub(crate) fn into_round(self) -> Result<Round, Error> {
        Ok(Round {
            number: self.number,
            opened_at: Timestamp(self.opened_at_ms),
            opened_by: stored_participant(&self.opened_by)?,
            plan: self.plan.into_plan()?,
            bytes_max: self.bytes_max,
            deltas: self.deltas,
            ended: self.ended.map(EndedRecord::into_ended).transpose()?,
        })
    }
}

impl PlanRecord {
    pub(super) fn new(it: &Plan) -> Self {
        let strategy = |it: &StrategyRule| {
            let experts = it.strategy.experts().map(list_to_store);
            (it.paths.as_str().to_owned(), it.strategy.name().to_owned(), experts)
        };
        let weights = it.weights.iter();
        Self {
            weights: weights
                .map(|it| (it.participants.as_str().to_owned(), it.weight.billionths()))
                .collect(),
            strategies: it.strategies.iter().map(strategy).collect(),
            clip: it.clip.as_str().to_owned(),
            bytes_max: it.bytes_max,
        }
    }

    fn into_plan(self) -> Result<Plan, Error> {
        let weight = |(participants, weight): (String, u32)| {
            let participants = ParticipantPattern::parse(&participants).map_err(damaged)?;
            Ok(WeightRule { participants, weight: Weight::stored(weight) })
        };
        let strategy = |(paths, name, experts): (String, String, Option<Vec<String>>)| {
            let experts = experts.as_deref().map(stored_list).transpose()?;
            let strategy = Strategy::parse(&name, experts).map_err(damaged)?;
            Ok(StrategyRule { paths: PathPattern::restore(&paths).map_err(damaged)?, strategy })
        };
        Ok(Plan {
            weights: self.weights.into_iter().map(weight).collect::<Result<_, Error>>()?,
            strategies: self.strategies.into_iter().map(strategy).collect::<Result<_, Error>>()?,
            clip: Clip::parse(&self.clip).map_err(damaged)?,
            bytes_max: self.bytes_max,
        })
    }
}

impl EndedRecord {
    fn new(it: &Ended) -> Self {
        let clipped = |it: &Clipped| ClippedRecord {
            path: path_to_store(&it.path),
            mark: mark_to_store(&it.mark),
            bytes: it.bytes,
        };
        Self {
            at_ms: it.at.0,
            by: it.by.as_str().to_owned(),
            is_discarded: it.is_discarded,
            bytes: it.bytes,
            applied: it.counts.applied,
            lost: it.counts.lost,
            refused: it.counts.refused,
            clipped: it.clipped.iter().map(clipped).collect(),
            clip: it.clip.as_str().to_owned(),
            unchanged: it.convergence.unchanged,
            paths: it.convergence.paths,
        }
    }

    fn into_ended(self) -> Result<Ended, Error> {
        let clipped = |it: ClippedRecord| {
            let path = stored_path(it.path)?;
            Ok(Clipped { path, mark: stored_mark(it.mark), bytes: it.bytes })
        };
        Ok(Ended {
            at: Timestamp(self.at_ms),
            by: stored_participant(&self.by)?,
            is_discarded: self.is_discarded,
            bytes: self.bytes,
            counts: OutcomeCounts {
                applied: self.applied,
                lost: self.lost,
                refused: self.refused,
                ..OutcomeCounts::default()
            },
            clipped: self.clipped.into_iter().map(clipped).collect::<Result<_, Error>>()?,
            clip: Clip::parse(&self.clip).map_err(damaged)?,
            convergence: Convergence { unchanged: self.unchanged, paths: self.paths },
        })
    }
}

fn mark_to_store(it: &Mark) -> MarkRecord {
    (it.round, it.weight.billionths())
}

fn stored_mark((round, weight): MarkRecord) -> Mark {
    Mark { round, weight: Weight::stored(weight) }
}

pub(super) fn path_to_store(it: &Path) -> Vec<StepRecord> {
    let step = |it: &Step| match it {
        Step::Name(name) => StepRecord::Name(name.clone()),
        Step::Index(nth) => StepRecord::Index(*nth),
    };
    it.steps().iter().map(step).collect()
}

pub(super) fn stored_path(steps: Vec<StepRecord>) -> Result<Path, Error> {
    let step = |it| match it {
        StepRecord::Name(name) => Step::Name(name),
        StepRecord::Index(nth) => Step::Index(nth),
    };
    let path = Path::new(steps.into_iter().map(step).collect());
    path.ok_or_else(|| damaged("a path into no member of the state"))
}

/// Returns the item of `all` with this name.
pub(super) fn named<T: Copy>(
    all: &[T],
    name_of: fn(T) -> &'static str,
    name: &str,
) -> Result<T, Error> {
    let known = all.iter().copied().find(|it| name_of(*it) == name);
    known.ok_or_else(|| damaged(format!("{name:?} is not known")))
}
