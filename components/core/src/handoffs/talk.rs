//! The conversation of a package: compacted in its own words (spec 17, 21.2).

use super::kinds::HandoffKind;
use crate::{
    Error,
    compact::{Aim, Outcome, Request, Weighting, compact},
    item::{Item, Kind, ListedKind, Target},
    tokens::{Tokens, approximate},
};

/// The part of the room that a compaction aims at, in percent: the rest is for the members of JSON.
const ROOM_PERCENT: u64 = 80;

/// Returns `items` compacted by the share of `kind`, or further to fit `room`. If what must be kept
/// is over that, the conversation is returned unchanged.
///
/// # Errors
///
/// None: texts are counted without a tokenizer.
pub(super) fn compacted(
    items: &[Item],
    task: &str,
    kind: HandoffKind,
    room: Tokens,
) -> Result<Vec<Item>, Error> {
    let shown = items.iter().filter(|it| it.visibility.has(Target::Model)).cloned();
    let items: Vec<Item> = shown.collect();
    let before: u64 = items.iter().map(|it| u64::from(it.tokens.0)).sum();
    let goal = before.saturating_mul(u64::from(100_u8.saturating_sub(kind.reduction()))) / 100;
    let room = u64::from(room.0).saturating_mul(ROOM_PERCENT) / 100;
    let aim = if goal <= room {
        Aim::Reduction(kind.reduction())
    } else {
        Aim::Tokens(Tokens(u32::try_from(room).unwrap_or(u32::MAX).max(1)))
    };
    let request = Request { items: &items, task, aim, weighting: Weighting::Default };
    Ok(match compact(&request, &|text| Ok(approximate(text)))? {
        Outcome::Compacted(it) => it.items(&items),
        Outcome::Unreachable { .. } => items,
    })
}

/// Returns the places of items in the order in which they are kept: what the removed ones said, then the
/// latest.
pub(super) fn order(items: &[Item]) -> Vec<usize> {
    let is_digest = |it: &Item| it.kind == Kind::Listed(ListedKind::ComputedSummary);
    let places = |is: bool| {
        let own = items.iter().enumerate().rev().filter(move |it| is_digest(it.1) == is);
        own.map(|it| it.0)
    };
    places(true).chain(places(false)).collect()
}
