//! Closes a round: computes the next state and the outcome of each delta.

use super::{
    Clip, Clipped, Convergence, Delta, Plan, Round, State, Why,
    apply::StateBuilder,
    claim::claims,
    clip::clip,
    merge::{self, Resolution, WeightedDelta},
    path::Path,
};
use crate::{Error, count::narrow, key::Line, order::sorted, participant::Participant};

/// The result of closing a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Closing {
    /// The next state.
    pub state: State,
    /// The outcome of each delta, by sequence.
    pub outcomes: Vec<DeltaOutcome>,
    /// The parts removed because the state exceeded its limit, by path.
    pub clipped: Vec<Clipped>,
    /// The share of the state that did not change.
    pub convergence: Convergence,
}

/// The outcome of a delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeltaOutcome {
    /// The delta's number in its round.
    pub sequence: u32,
    /// The kind of outcome.
    pub status: Status,
    /// The paths at which it lost, in order: all of its paths, or some.
    pub losses: Vec<Loss>,
    /// The contributed paths that were clipped because the state exceeded its limit.
    pub clipped: Vec<Path>,
    /// The orchestrator's reason, if it rejected the delta.
    pub reason: Option<Line>,
}

impl DeltaOutcome {
    /// Creates the outcome of a delta that has no losses and no clipped paths.
    pub(crate) fn new(sequence: u32, status: Status) -> Self {
        Self { sequence, status, losses: Vec::new(), clipped: Vec::new(), reason: None }
    }
}

/// The kinds of outcome of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The state contains it, fully or in part.
    Applied,
    /// Other deltas won.
    Lost,
    /// Rejected: the state would have exceeded its limit.
    Clipped,
    /// Rejected with the whole round.
    Discarded,
    /// Withdrawn by its participant before the close.
    Withdrawn,
    /// Rejected by the orchestrator before the close.
    Rejected,
}

impl Status {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Applied,
        Self::Lost,
        Self::Clipped,
        Self::Discarded,
        Self::Withdrawn,
        Self::Rejected,
    ];

    /// Returns the numbers of deltas in `outcomes`.
    pub fn counts(outcomes: &[DeltaOutcome]) -> OutcomeCounts {
        let count = |of: &[Self]| {
            let count = outcomes.iter().filter(|it| of.contains(&it.status)).count();
            narrow(count)
        };
        OutcomeCounts {
            applied: count(&[Self::Applied]),
            lost: count(&[Self::Lost]),
            refused: count(&[Self::Clipped, Self::Discarded]),
            withdrawn: count(&[Self::Withdrawn]),
            rejected: count(&[Self::Rejected]),
        }
    }

    /// Returns true if the delta was withdrawn or rejected, so that the merge left it out.
    pub fn is_excluded(self) -> bool {
        matches!(self, Self::Withdrawn | Self::Rejected)
    }

    /// Returns the kind's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Lost => "lost",
            Self::Clipped => "clipped",
            Self::Discarded => "discarded",
            Self::Withdrawn => "withdrawn",
            Self::Rejected => "rejected",
        }
    }
}

/// The numbers of deltas of a closed round, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// The number of deltas applied, fully or in part.
    pub applied: u32,
    /// The number of deltas that lost.
    pub lost: u32,
    /// The number of deltas that were clipped or discarded.
    pub refused: u32,
    /// The number of deltas that their participants withdrew.
    pub withdrawn: u32,
    /// The number of deltas that the orchestrator rejected.
    pub rejected: u32,
}

/// The kinds of outcome in which deltas are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// Its round is open.
    Pending,
    /// The state contains it, fully or in part.
    Applied,
    /// Other deltas won.
    Lost,
    /// It was clipped or discarded.
    Refused,
    /// Its participant withdrew it.
    Withdrawn,
    /// The orchestrator rejected it.
    Rejected,
}

impl Reported {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Applied, Self::Lost, Self::Refused, Self::Withdrawn, Self::Rejected];

    /// Returns how a delta with this outcome is reported.
    pub fn new(outcome: Option<&DeltaOutcome>) -> Self {
        match outcome.map(|it| it.status) {
            None => Self::Pending,
            Some(Status::Applied) => Self::Applied,
            Some(Status::Lost) => Self::Lost,
            Some(Status::Clipped | Status::Discarded) => Self::Refused,
            Some(Status::Withdrawn) => Self::Withdrawn,
            Some(Status::Rejected) => Self::Rejected,
        }
    }

    /// Parses the name of a kind.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|it| it.as_str() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Error::malformed(format!("outcome is one of {known}"))
        })
    }

    /// Returns the kind's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Applied => "applied",
            Self::Lost => "lost",
            Self::Refused => "refused",
            Self::Withdrawn => "withdrawn",
            Self::Rejected => "rejected",
        }
    }
}

/// A path at which a delta lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The path in the state at the opening of the round.
    pub path: Path,
    /// The sequence of the winning delta.
    pub to: u32,
    /// The participant that proposed the winning delta.
    pub by: Participant,
    /// The reason.
    pub why: Why,
}

/// Closes `round` with `deltas`, each of which was validated against `state`.
///
/// # Errors
///
/// [`RoundError::StateTooLarge`](super::RoundError::StateTooLarge).
pub(crate) fn close(
    round: &Round,
    state: &State,
    how: Clip,
    deltas: &[Delta],
) -> Result<Closing, Error> {
    let order = merge::in_order(deltas, &round.plan);
    let (resolutions, losses) = merge_all(&order, &round.plan, state)?;
    let mut builder = StateBuilder::new(state, resolutions, &order, round.number);
    let (text, clipped) = clip(&mut builder, how, round.bytes_max, round.number)?;

    let mut outcomes: Vec<DeltaOutcome> = Vec::new();
    let mut clipped_paths: Vec<Vec<Path>> = order.iter().map(|_| Vec::new()).collect();
    for (part, by) in &clipped {
        for delta in by {
            if let Some(paths) = clipped_paths.get_mut(*delta) {
                paths.push(part.path.clone());
            }
        }
    }
    let results = losses.into_iter().zip(clipped_paths).zip(&builder.contributions);
    for (it, ((losses, mut clipped), &contributions)) in order.iter().zip(results) {
        let status = if contributions == 0 && !losses.is_empty() {
            Status::Lost
        } else if contributions > 0 && clipped.len() >= contributions {
            Status::Clipped
        } else {
            Status::Applied
        };
        clipped.dedup();
        let outcome = DeltaOutcome::new(it.delta.sequence, status);
        outcomes.push(DeltaOutcome { losses, clipped, ..outcome });
    }
    let outcomes = sorted(outcomes, |a, b| a.sequence.cmp(&b.sequence));

    let after = State { marks: builder.parts.marks(), document: builder.document, text };
    let convergence = after.convergence(state);
    let clipped = clipped.into_iter().map(|(it, _)| it).collect();
    Ok(Closing { state: after, outcomes, clipped, convergence })
}

/// Resolves all claims of the deltas in `order`. Returns the resolution of each path, and the
/// losses of each delta, ordered by path.
pub(super) fn merge_all(
    order: &[WeightedDelta<'_>],
    plan: &Plan,
    state: &State,
) -> Result<(Vec<Resolution>, Vec<Vec<Loss>>), Error> {
    let mut claimed = Vec::new();
    for (nth, it) in order.iter().enumerate() {
        claimed.extend(claims(nth, it.delta, state, plan)?.claims);
    }
    let (resolutions, lost) = merge::resolve(claimed, order, state)?;
    let mut losses: Vec<Vec<Loss>> = order.iter().map(|_| Vec::new()).collect();
    for it in lost {
        let Some(winner) = order.get(it.to).map(|it| it.delta) else { continue };
        let (to, by) = (winner.sequence, winner.participant.clone());
        if let Some(losses) = losses.get_mut(it.delta) {
            losses.push(Loss { path: it.path, to, by, why: it.why });
        }
    }
    let by_path = |it| sorted(it, |a: &Loss, b: &Loss| a.path.cmp(&b.path));
    Ok((resolutions, losses.into_iter().map(by_path).collect()))
}

/// Closes a round and discards its deltas.
pub(crate) fn discard(state: &State, deltas: &[Delta]) -> Closing {
    let outcome = |it: &Delta| DeltaOutcome::new(it.sequence, Status::Discarded);
    Closing {
        state: state.clone(),
        outcomes: deltas.iter().map(outcome).collect(),
        clipped: Vec::new(),
        convergence: state.convergence(state),
    }
}
