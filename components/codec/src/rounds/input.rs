//! Builders of commands on rounds (spec 11).

use shared_context_core::{
    Command, Error, ExcludeDeltas, Line, Participant, RedactRounds, RoundsCommand,
    pattern::ParticipantPattern,
    rounds::{
        Clip, CloseRound, OpenRound, PathPattern, Plan, Proposal, ReadDeltas, Reported, RoundError,
        SentDelta as Delta, SentPath, Strategy, StrategyRule, Weight, WeightRule, check_deltas,
    },
};

use super::forms::is_brief;
use crate::checks::{collect_malformed_first, limit, participants, request_id as parse_request_id};

/// Plan for a new round, not yet validated.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanInput {
    /// Weights of participants; the first match applies.
    pub weights: Vec<WeightInput>,
    /// Strategies for disagreements; the first match of a path applies.
    pub strategies: Vec<StrategyInput>,
    /// Removal order when the state would be too large.
    pub clip: Option<String>,
    /// Limit of the state in bytes.
    pub bytes_max: Option<u32>,
}

/// Weight of some participants, not yet validated.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightInput {
    /// Participants, as a pattern.
    pub participant: String,
    /// Weight from 0 to 1.
    pub weight: f64,
}

/// Strategy for disagreements about some paths, not yet validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrategyInput {
    /// Paths, as a pattern.
    pub path: String,
    /// Name of the strategy.
    pub strategy: String,
    /// Participants in order of precedence, as patterns.
    pub experts: Option<Vec<String>>,
}

/// A proposed change, not yet validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeltaInput {
    /// Name of the operation.
    pub operation: String,
    /// Path of the change.
    pub path: String,
    /// Value, as JSON text.
    pub value: Option<String>,
    /// Reason for the change.
    pub provenance: String,
}

/// Builds the command to open a round.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, which takes precedence wherever it occurs; `INVALID_PATH`.
pub fn open_round(
    query: Option<String>,
    plan: PlanInput,
    request_id: Option<&str>,
) -> Result<Command, Error> {
    let request_id = parse_request_id(request_id)?;
    let plan = plan.check()?;
    Ok(Command::Rounds(RoundsCommand::Open(Box::new(OpenRound { plan, query, request_id }))))
}

/// Builds the command to propose `deltas`.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, which takes precedence whichever delta has it; `INVALID_PATH`. Both name
/// the delta, like the errors of the round itself.
pub fn propose_deltas(deltas: &[DeltaInput], request_id: Option<&str>) -> Result<Command, Error> {
    let request_id = parse_request_id(request_id)?;
    check_deltas(deltas.len())?;
    let mut later = None;
    let deltas = (1..).zip(deltas).map(|(nth, it)| {
        Delta::new(&it.operation, &it.path, it.value.as_deref(), &it.provenance)
            .map_err(|error| RoundError::InProposal { nth, error: Box::new(error) }.into())
    });
    let deltas = collect_malformed_first(deltas, &mut later)?;
    match later {
        Some(error) => Err(error),
        None => {
            Proposal::new(deltas, request_id).map(|it| Command::Rounds(RoundsCommand::Propose(it)))
        }
    }
}

/// Builds the command to withdraw the deltas with these sequences.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn withdraw_deltas(sequences: Vec<u32>, request_id: Option<&str>) -> Result<Command, Error> {
    let request_id = parse_request_id(request_id)?;
    let exclude = ExcludeDeltas::new(sequences, None, request_id)?;
    Ok(Command::Rounds(RoundsCommand::Exclude(exclude)))
}

/// Builds the command to reject the deltas with these sequences.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn reject_deltas(
    sequences: Vec<u32>,
    reason: &str,
    request_id: Option<&str>,
) -> Result<Command, Error> {
    let request_id = parse_request_id(request_id)?;
    let reason = Line::parse("reason", reason)?;
    let exclude = ExcludeDeltas::new(sequences, Some(reason), request_id)?;
    Ok(Command::Rounds(RoundsCommand::Exclude(exclude)))
}

/// Builds the command to close the open round.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn close_round(
    clip: Option<&str>,
    discards: bool,
    request_id: Option<&str>,
) -> Result<Command, Error> {
    let request_id = parse_request_id(request_id)?;
    let clip = clip.map(Clip::parse).transpose()?;
    Ok(Command::Rounds(RoundsCommand::Close(CloseRound { clip, discards, request_id })))
}

/// Deltas to read, not yet validated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeltaFilter {
    /// Path of the deltas, or above them.
    pub path: Option<String>,
    /// Their round.
    pub round: Option<u64>,
    /// The participant that proposed them.
    pub participant: Option<String>,
    /// The name of their outcome.
    pub outcome: Option<String>,
    /// The name of the form in which they are returned.
    pub form: Option<String>,
}

/// Builds the command to read deltas; `after` is a round and a sequence.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_PATH`.
pub fn read_deltas(
    filter: &DeltaFilter,
    after: Option<(u64, u32)>,
    at_most: Option<u32>,
) -> Result<Command, Error> {
    let limit = limit(at_most)?;
    let participant = filter.participant.as_deref().map(Participant::parse).transpose()?;
    let outcome = filter.outcome.as_deref().map(Reported::parse).transpose()?;
    let is_brief = filter.form.as_deref().map(is_brief).transpose()?.unwrap_or(false);
    let path = filter.path.as_deref().map(SentPath::parse).transpose()?;
    let round = filter.round;
    let read = ReadDeltas { path, round, participant, outcome, is_brief, after, limit };
    Ok(Command::Rounds(RoundsCommand::ReadDeltas(read)))
}

/// Builds the command to replace `text` in rounds.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn redact_rounds(text: &str, reason: &str) -> Result<Command, Error> {
    let reason = Line::parse("reason", reason)?;
    Ok(Command::Rounds(RoundsCommand::Redact(RedactRounds::new(text, reason)?)))
}

impl PlanInput {
    fn check(self) -> Result<Plan, Error> {
        let mut later = None;
        let weights = (1..).zip(self.weights);
        let weights = weights.map(|(nth, it)| it.check().map_err(|err| at("weights", nth, err)));
        let strategies = (1..).zip(self.strategies);
        let strategies =
            strategies.map(|(nth, it)| it.check().map_err(|err| at("strategies", nth, err)));
        let plan = Plan {
            weights: weights.collect::<Result<_, Error>>()?,
            strategies: collect_malformed_first(strategies, &mut later)?,
            clip: self.clip.as_deref().map(Clip::parse).transpose()?.unwrap_or_default(),
            bytes_max: self.bytes_max,
        };
        plan.check()?;
        later.map_or(Ok(plan), Err)
    }
}

impl WeightInput {
    fn check(self) -> Result<WeightRule, Error> {
        let participants = ParticipantPattern::parse(&self.participant)?;
        Ok(WeightRule { participants, weight: Weight::parse(self.weight)? })
    }
}

impl StrategyInput {
    fn check(self) -> Result<StrategyRule, Error> {
        let experts = self.experts.as_deref().map(participants).transpose()?;
        let strategy = Strategy::parse(&self.strategy, experts)?;
        Ok(StrategyRule { paths: PathPattern::parse(&self.path)?, strategy })
    }
}

/// Adds the position in the list `name`, from 1, to an error. Only a strategy has a path.
fn at(name: &str, nth: usize, error: Error) -> Error {
    match error {
        Error::Malformed { message } => Error::malformed(format!("{name}[item {nth}]: {message}")),
        Error::Round(RoundError::InvalidPath { path, why }) => {
            RoundError::InvalidPattern { nth, path, why }.into()
        }
        error => error,
    }
}
