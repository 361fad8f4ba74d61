//! Parts of commands on rounds (spec 11).

use shared_context_core::{
    Command, Error, RequestId, RoundsCommand,
    pattern::ParticipantPattern,
    rounds::{
        Clip, CloseRound, OpenRound, PathPattern, Plan, Proposal, ReadDeltas, RoundError,
        SentDelta as Delta, SentPath, Strategy, StrategyRule, Weight, WeightRule, check_deltas,
    },
};

use crate::checks::{all_but_later, limit, participants};

/// What a round is to be opened with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SentPlan {
    /// How much participants count; the first that fits one is its weight.
    pub weights: Vec<SentWeight>,
    /// How disagreements are settled; the first that fits a path is its.
    pub strategies: Vec<SentStrategy>,
    /// What goes when the state would be too large.
    pub clip: Option<String>,
    /// The limit of the state.
    pub bytes_max: Option<u32>,
}

/// How much some participants are to count.
#[derive(Debug, Clone, PartialEq)]
pub struct SentWeight {
    /// Who, as a pattern.
    pub participant: String,
    /// From 0 to 1.
    pub weight: f64,
}

/// How disagreements about some paths are to be settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentStrategy {
    /// Which paths, as a pattern.
    pub path: String,
    /// The name of the strategy.
    pub strategy: String,
    /// Who is heard first, as patterns.
    pub experts: Option<Vec<String>>,
}

/// A change that is proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentDelta<'a> {
    /// What it does.
    pub operation: &'a str,
    /// Where.
    pub path: &'a str,
    /// With what: the text of a JSON value.
    pub value: Option<&'a str>,
    /// Why.
    pub provenance: &'a str,
}

/// Returns the command to open a round.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, wherever it is malformed; `INVALID_PATH`.
pub fn open_round(
    query: Option<String>,
    plan: SentPlan,
    request_id: Option<RequestId>,
) -> Result<Command, Error> {
    let plan = plan.check()?;
    Ok(Command::Rounds(RoundsCommand::Open(Box::new(OpenRound { plan, query, request_id }))))
}

/// Returns the command to propose `deltas`.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, of whatever delta it is; `INVALID_PATH`. Both name the
/// delta, as the round does that refuses one.
pub fn propose_deltas(
    deltas: Vec<SentDelta<'_>>,
    request_id: Option<RequestId>,
) -> Result<Command, Error> {
    check_deltas(deltas.len())?;
    let mut later = None;
    let deltas = (1..).zip(deltas).map(|(nth, it)| {
        Delta::new(it.operation, it.path, it.value, it.provenance)
            .map_err(|error| RoundError::InProposal { nth, error: Box::new(error) }.into())
    });
    let deltas = all_but_later(deltas, &mut later)?;
    match later {
        Some(error) => Err(error),
        None => {
            Proposal::new(deltas, request_id).map(|it| Command::Rounds(RoundsCommand::Propose(it)))
        }
    }
}

/// Returns the command to close the open round.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn close_round(
    clip: Option<&str>,
    discards: bool,
    request_id: Option<RequestId>,
) -> Result<Command, Error> {
    let clip = clip.map(Clip::parse).transpose()?;
    Ok(Command::Rounds(RoundsCommand::Close(CloseRound { clip, discards, request_id })))
}

/// Returns the command to read deltas, those after `after` by round and sequence.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_PATH`.
pub fn read_deltas(
    path: Option<&str>,
    round: Option<u64>,
    after: Option<(u64, u32)>,
    at_most: Option<u32>,
) -> Result<Command, Error> {
    let limit = limit(at_most)?;
    let path = path.map(SentPath::parse).transpose()?;
    Ok(Command::Rounds(RoundsCommand::ReadDeltas(ReadDeltas { path, round, after, limit })))
}

impl SentPlan {
    fn check(self) -> Result<Plan, Error> {
        let mut later = None;
        let weights = self.weights.into_iter().enumerate();
        let weights = weights.map(|(nth, it)| it.check().map_err(|err| at("weights", nth, err)));
        let strategies = self.strategies.into_iter().enumerate();
        let strategies =
            strategies.map(|(nth, it)| it.check().map_err(|err| at("strategies", nth, err)));
        let plan = Plan {
            weights: weights.collect::<Result<_, Error>>()?,
            strategies: all_but_later(strategies, &mut later)?,
            clip: self.clip.as_deref().map(Clip::parse).transpose()?.unwrap_or_default(),
            bytes_max: self.bytes_max,
        };
        plan.check()?;
        later.map_or(Ok(plan), Err)
    }
}

impl SentWeight {
    fn check(self) -> Result<WeightRule, Error> {
        let participants = ParticipantPattern::parse(&self.participant)?;
        Ok(WeightRule { participants, weight: Weight::parse(self.weight)? })
    }
}

impl SentStrategy {
    fn check(self) -> Result<StrategyRule, Error> {
        let experts = self.experts.as_deref().map(participants).transpose()?;
        let strategy = Strategy::parse(&self.strategy, experts)?;
        Ok(StrategyRule { paths: PathPattern::parse(&self.path)?, strategy })
    }
}

/// `error`, with the place of what is malformed in the list `name`. (A path that
/// is none is told as it was sent.)
fn at(name: &str, nth: usize, error: Error) -> Error {
    match error {
        Error::Malformed { message } => Error::malformed(format!("{name}[{nth}]: {message}")),
        error => error,
    }
}
