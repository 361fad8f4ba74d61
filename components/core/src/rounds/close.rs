//! Closes a round: computes the next state and the outcome of each delta.

use super::{
    Clip, Clipped, Convergence, Delta, Round, State, Why, apply::StateBuilder, claim::claims,
    clip::clip, merge, path::Path,
};
use crate::{Error, order::sorted, participant::Participant};

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
}

impl Status {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Applied, Self::Lost, Self::Clipped, Self::Discarded];

    /// Returns the numbers of deltas in `outcomes` that were applied, lost and rejected.
    pub fn counts(outcomes: &[DeltaOutcome]) -> (u32, u32, u32) {
        let count = |of: &[Self]| {
            let count = outcomes.iter().filter(|it| of.contains(&it.status)).count();
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        (count(&[Self::Applied]), count(&[Self::Lost]), count(&[Self::Clipped, Self::Discarded]))
    }

    /// Returns the kind's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Lost => "lost",
            Self::Clipped => "clipped",
            Self::Discarded => "discarded",
        }
    }
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
}

impl Reported {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Applied, Self::Lost, Self::Refused];

    /// Returns how a delta with this outcome is reported.
    pub fn new(outcome: Option<&DeltaOutcome>) -> Self {
        match outcome.map(|it| it.status) {
            None => Self::Pending,
            Some(Status::Applied) => Self::Applied,
            Some(Status::Lost) => Self::Lost,
            Some(Status::Clipped | Status::Discarded) => Self::Refused,
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
    let plan = &round.plan;
    let order = merge::in_order(deltas, plan);
    let mut claimed = Vec::new();
    for (nth, it) in order.iter().enumerate() {
        claimed.extend(claims(nth, it.delta, state, plan)?.claims);
    }
    let (resolutions, lost) = merge::resolve(claimed, &order, state)?;
    let mut builder = StateBuilder::new(state, resolutions, &order, round.number);
    let (text, clipped) = clip(&mut builder, how, round.bytes_max, round.number)?;

    let mut outcomes: Vec<DeltaOutcome> = Vec::new();
    let mut losses: Vec<Vec<Loss>> = order.iter().map(|_| Vec::new()).collect();
    for it in lost {
        let Some(winner) = order.get(it.to).map(|it| it.delta) else { continue };
        let (to, by) = (winner.sequence, winner.participant.clone());
        if let Some(losses) = losses.get_mut(it.delta) {
            losses.push(Loss { path: it.path, to, by, why: it.why });
        }
    }
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
        let losses = sorted(losses, |a, b| a.path.cmp(&b.path));
        let status = if contributions == 0 && !losses.is_empty() {
            Status::Lost
        } else if contributions > 0 && clipped.len() >= contributions {
            Status::Clipped
        } else {
            Status::Applied
        };
        clipped.dedup();
        outcomes.push(DeltaOutcome { sequence: it.delta.sequence, status, losses, clipped });
    }
    let outcomes = sorted(outcomes, |a, b| a.sequence.cmp(&b.sequence));

    let after = State { marks: builder.parts.marks(), document: builder.document, text };
    let convergence = after.convergence(state);
    let clipped = clipped.into_iter().map(|(it, _)| it).collect();
    Ok(Closing { state: after, outcomes, clipped, convergence })
}

/// Closes a round and discards its deltas.
pub(crate) fn discard(state: &State, deltas: &[Delta]) -> Closing {
    let outcome = |it: &Delta| DeltaOutcome {
        sequence: it.sequence,
        status: Status::Discarded,
        losses: Vec::new(),
        clipped: Vec::new(),
    };
    Closing {
        state: state.clone(),
        outcomes: deltas.iter().map(outcome).collect(),
        clipped: Vec::new(),
        convergence: state.convergence(state),
    }
}
