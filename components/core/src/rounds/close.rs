//! Closing a round: from its deltas to the next state, and what became of each.

use super::{
    Clip, Clipped, Convergence, Delta, Round, State, Why, apply::Making, claim::claims, clip::clip,
    merge, path::Path,
};
use crate::{Error, order::sorted, participant::Participant};

/// What a round made.
#[derive(Debug, Clone, PartialEq)]
pub struct Closing {
    /// The next state.
    pub state: State,
    /// What became of each delta, by sequence.
    pub fates: Vec<Fate>,
    /// What went because the state would have been too large, by path.
    pub clipped: Vec<Clipped>,
    /// How much of the state is as it was.
    pub convergence: Convergence,
}

/// What became of a delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate {
    /// Its number in its round.
    pub sequence: u32,
    /// In a word.
    pub status: Status,
    /// Where it lost, by path: everywhere, or at some places of many.
    pub losses: Vec<Loss>,
    /// What of it went again because the state would have been too large.
    pub clipped: Vec<Path>,
}

/// What became of a delta, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The state has it, or something of it.
    Applied,
    /// Others won.
    Lost,
    /// Refused: the state would have been too large.
    Clipped,
    /// Refused with the whole round.
    Discarded,
}

impl Status {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Applied, Self::Lost, Self::Clipped, Self::Discarded];

    /// Returns how many of `fates` were applied, lost and refused.
    pub fn counts(fates: &[Fate]) -> (u32, u32, u32) {
        let count = |of: &[Self]| {
            let count = fates.iter().filter(|it| of.contains(&it.status)).count();
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        (count(&[Self::Applied]), count(&[Self::Lost]), count(&[Self::Clipped, Self::Discarded]))
    }

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Lost => "lost",
            Self::Clipped => "clipped",
            Self::Discarded => "discarded",
        }
    }
}

/// A place at which a delta lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Where, in the state that the round began with.
    pub path: Path,
    /// The sequence of the delta it lost to.
    pub to: u32,
    /// Who proposed that.
    pub by: Participant,
    /// Why.
    pub why: Why,
}

/// Closes `round` with these deltas, which fit `state` each.
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
    let (settled, lost) = merge::settle(claimed, &order, state)?;
    let mut making = Making::new(state, settled, &order, round.number);
    let (text, clipped) = clip(&mut making, how, round.bytes_max, round.number)?;

    let mut fates: Vec<Fate> = Vec::new();
    let mut losses: Vec<Vec<Loss>> = order.iter().map(|_| Vec::new()).collect();
    for it in lost {
        let Some(winner) = order.get(it.to).map(|it| it.delta) else { continue };
        let (to, by) = (winner.sequence, winner.participant.clone());
        if let Some(losses) = losses.get_mut(it.delta) {
            losses.push(Loss { path: it.path, to, by, why: it.why });
        }
    }
    let mut gone: Vec<Vec<Path>> = order.iter().map(|_| Vec::new()).collect();
    for (part, by) in &clipped {
        for delta in by {
            if let Some(paths) = gone.get_mut(*delta) {
                paths.push(part.path.clone());
            }
        }
    }
    let became = losses.into_iter().zip(gone).zip(&making.held);
    for (it, ((losses, mut clipped), &held)) in order.iter().zip(became) {
        let losses = sorted(losses, |a, b| a.path.cmp(&b.path));
        let status = if held == 0 && !losses.is_empty() {
            Status::Lost
        } else if held > 0 && clipped.len() >= held {
            Status::Clipped
        } else {
            Status::Applied
        };
        clipped.dedup();
        fates.push(Fate { sequence: it.delta.sequence, status, losses, clipped });
    }
    let fates = sorted(fates, |a, b| a.sequence.cmp(&b.sequence));

    let after = State { marks: making.parts.marks(), document: making.document, text };
    let convergence = after.convergence(state);
    let clipped = clipped.into_iter().map(|(it, _)| it).collect();
    Ok(Closing { state: after, fates, clipped, convergence })
}

/// Closes a round without any of its deltas.
pub(crate) fn discard(state: &State, deltas: &[Delta]) -> Closing {
    let fate = |it: &Delta| Fate {
        sequence: it.sequence,
        status: Status::Discarded,
        losses: Vec::new(),
        clipped: Vec::new(),
    };
    Closing {
        state: state.clone(),
        fates: deltas.iter().map(fate).collect(),
        clipped: Vec::new(),
        convergence: state.convergence(state),
    }
}
