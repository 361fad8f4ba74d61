//! Chooses pieces that fit a budget shared by several parts.

use crate::{
    budget::{Meter, Overrun, Size},
    tokens::{Tokens, approximate},
};

/// Chooses pieces, each with its part and its size. A part is limited to its share: `caps` has the most
/// tokens of each, and `reserved` tokens stay free. Returns for each piece what it exceeds.
pub(super) fn choose_within(
    pieces: &[(usize, Size)],
    caps: &[Tokens],
    meter: &mut Meter,
    reserved: Tokens,
) -> Vec<Option<Overrun>> {
    let mut used = vec![Tokens(0); caps.len()];
    let mut chosen = Vec::with_capacity(pieces.len());
    for (part, size) in pieces {
        let cap = caps.get(*part).copied().unwrap_or_default();
        let own = used.get(*part).copied().unwrap_or_default();
        let room = cap.minus(own).min(meter.tokens_left().minus(reserved));
        let outcome = meter.capped(meter.used().tokens.plus(room)).take(*size).err();
        if outcome.is_none() {
            // The same fits the whole budget, of which the room is a part.
            let _ = meter.take(*size);
            if let Some(it) = used.get_mut(*part) {
                *it = it.plus(size.tokens);
            }
        }
        chosen.push(outcome);
    }
    chosen
}

/// Takes what is left of the budget for the pieces that had too little, in their order.
pub(super) fn fill(pieces: &[(usize, Size)], chosen: &mut [Option<Overrun>], meter: &mut Meter) {
    for (outcome, (_, size)) in chosen.iter_mut().zip(pieces) {
        if outcome.is_some() {
            *outcome = meter.take(*size).err();
        }
    }
}

/// Returns the size of a text, and of what separates it from the next.
pub(super) fn size(text: &str) -> Size {
    Size {
        tokens: approximate(text).plus(Tokens(1)),
        bytes: u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_add(1),
        items: 0,
    }
}
