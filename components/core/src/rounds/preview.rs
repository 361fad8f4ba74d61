//! Previews a proposal: the effect of each delta, and where it would lose if the round closed
//! now.
//!
//! # Invariant
//!
//! The losses are those that closing the round reports if no other delta is proposed, withdrawn
//! or rejected. Clipping is left out: it depends on the size of the whole state.

use super::{
    DELTAS_BYTES_MAX, DELTAS_MAX, Delta, LOSSES_MAX, Loss, Operation, Path, Plan, Proposed, Round,
    Share, State, Strategy,
    claim::{Change, Claim, Claims, claims},
    close::merge_all,
    merge,
};
use crate::{Error, count::narrow};

/// The most deltas of a round whose losses are computed with each proposal.
const PREVIEW_DELTAS_MAX: u32 = DELTAS_MAX / 4;
/// The most bytes of these deltas, counted like [`DELTAS_BYTES_MAX`]. The limits bound the
/// work of a proposal.
const PREVIEW_BYTES_MAX: u32 = DELTAS_BYTES_MAX / 4;

/// The effect of a delta on the state at the opening of its round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Sets the value at the path, which may be new.
    Sets,
    /// Appends items to the list at the path.
    Appends,
    /// Sets members of the object at the path, one by one.
    Merges,
    /// Removes the value at the path.
    Removes,
    /// Changes nothing: the state has it already.
    Nothing,
}

impl Effect {
    /// Every effect.
    pub const ALL: [Self; 5] =
        [Self::Sets, Self::Appends, Self::Merges, Self::Removes, Self::Nothing];

    /// Returns the effect's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sets => "sets",
            Self::Appends => "appends",
            Self::Merges => "merges",
            Self::Removes => "removes",
            Self::Nothing => "nothing",
        }
    }

    /// Returns the effect of `delta` if all of it is applied to `state`.
    fn new(delta: &Delta, state: &State, plan: &Plan) -> Result<Self, Error> {
        if delta.operation == Operation::Remove {
            return Ok(Self::Removes);
        }
        let Claims { claims, .. } = claims(0, delta, state, plan)?;
        if !claims.iter().any(|it| changes_state(it, state)) {
            return Ok(Self::Nothing);
        }
        if delta.path.find(&state.document).is_none() {
            return Ok(Self::Sets);
        }
        Ok(match claims.as_slice() {
            [Claim { path, change: Change::Append(_), .. }] if *path == delta.path => Self::Appends,
            [Claim { path, .. }] if *path == delta.path => Self::Sets,
            _ => Self::Merges,
        })
    }
}

/// Returns true if the state differs after `claim`.
fn changes_state(claim: &Claim<'_>, state: &State) -> bool {
    let here = claim.path.find(&state.document);
    match (&claim.change, here) {
        (Change::Remove, here) => here.is_some(),
        (Change::Set(value), here) => here.is_none_or(|it| *it != value.value()),
        (Change::Append(_), None) => true,
        (Change::Append(items), Some(here)) if *claim.strategy == Strategy::Union => {
            let here = here.as_array().map_or(&[][..], Vec::as_slice);
            items.iter().any(|it| !here.contains(&it.value.value()))
        }
        (Change::Append(items), Some(_)) => !items.is_empty(),
    }
}

/// A delta of a proposal, and its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedDelta {
    /// The sequence of the delta.
    pub sequence: u32,
    /// Its path in the state at the opening of the round.
    pub path: Path,
    /// Its effect, if all of it is applied.
    pub effect: Effect,
    /// The paths at which it would lose if the round closed now, in order.
    pub losses: Vec<Loss>,
}

/// Returns true if the losses in a round of this size are computed with a proposal.
pub(crate) fn has_losses(all: Share) -> bool {
    all.deltas <= PREVIEW_DELTAS_MAX && all.bytes <= PREVIEW_BYTES_MAX
}

/// Returns the reply about the last `count` of the `pending` deltas of `round`, which were
/// proposed together; `state` is the state at its opening. Without `has_losses` the other
/// deltas may be left out.
pub(crate) fn preview(
    round: &Round,
    state: &State,
    pending: &[Delta],
    count: usize,
    has_losses: bool,
) -> Result<Proposed, Error> {
    let (_, own) =
        pending.split_at_checked(pending.len().saturating_sub(count)).unwrap_or_default();
    let first = own.first().map_or(0, |it| it.sequence);
    let order = merge::in_order(if has_losses { pending } else { &[] }, &round.plan);
    let (_, losses) = merge_all(&order, &round.plan, state)?;
    let mut losses: Vec<_> = order.iter().map(|it| it.delta.sequence).zip(losses).collect();
    let (mut deltas, mut room, mut more_losses) = (Vec::new(), LOSSES_MAX, 0_u32);
    for delta in own {
        let lost = losses.iter_mut().find(|(sequence, _)| *sequence == delta.sequence);
        let mut losses = lost.map(|(_, it)| std::mem::take(it)).unwrap_or_default();
        let more = narrow(losses.len().saturating_sub(room));
        more_losses = more_losses.saturating_add(more);
        losses.truncate(room);
        room = room.saturating_sub(losses.len());
        deltas.push(ProposedDelta {
            sequence: delta.sequence,
            path: delta.path.clone(),
            effect: Effect::new(delta, state, &round.plan)?,
            losses,
        });
    }
    let count = narrow(own.len());
    Ok(Proposed { round: round.number, first, count, deltas, has_losses, more_losses })
}
