//! The part of a long conversation that is read: the first message of a person, the latest
//! messages, and earlier messages with a label.
//!
//! # Bound
//!
//! At most [`LATEST_BYTES`] and [`LABELLED_BYTES`] are read, so the time is bounded for any
//! conversation.

use std::borrow::Cow;

use crate::{
    extract::authority,
    item::{Authority, Body, Item},
};

/// The most bytes of the latest messages that are read.
const LATEST_BYTES: usize = 128 << 10;
/// The most bytes of earlier messages with a label that are read.
const LABELLED_BYTES: usize = 32 << 10;
/// The most bytes of one message that are read.
const ITEM_BYTES: usize = 32 << 10;

/// Returns the items of a conversation that are read, in their order.
pub(super) fn window(items: &[Item]) -> Cow<'_, [Item]> {
    let bytes = |it: &Item| it.text().map_or(0, str::len);
    let all = items.iter().map(bytes).fold(0, usize::saturating_add);
    if all <= LATEST_BYTES && items.iter().all(|it| bytes(it) <= ITEM_BYTES) {
        return Cow::Borrowed(items);
    }
    let first = items.iter().position(|it| authority(it) == Authority::User);
    let (mut latest, mut labelled) = (LATEST_BYTES, LABELLED_BYTES);
    let mut keeps = vec![false; items.len()];
    for (place, (item, keeps)) in items.iter().zip(&mut keeps).enumerate().rev() {
        let needed = bytes(item).min(ITEM_BYTES);
        if let Some(rest) = latest.checked_sub(needed) {
            (latest, *keeps) = (rest, true);
            continue;
        }
        // What is before the latest messages is not among them, however short.
        latest = 0;
        let is_labelled = || has_label(item.text().unwrap_or_default());
        if Some(place) == first {
            *keeps = true;
        } else if let Some(rest) = labelled.checked_sub(needed).filter(|_| is_labelled()) {
            (labelled, *keeps) = (rest, true);
        }
    }
    let kept = items.iter().zip(keeps).filter(|it| it.1).map(|it| shortened(it.0));
    Cow::Owned(kept.collect())
}

/// Returns true if a text has a part of a label of what must not be forgotten. Labels are looked for by
/// their rarest sign: a search for one is several times as fast as one for a text.
fn has_label(text: &str) -> bool {
    let has = |sign: char, labels: &[(&str, &str)]| {
        text.match_indices(sign).any(|(at, _)| {
            let (before, rest) = text.split_at_checked(at).unwrap_or_default();
            labels.iter().any(|it| before.ends_with(it.0) && rest.starts_with(it.1))
        })
    };
    has(':', &[("ecision", ":"), ("onstraint", ":")])
        || has('C', &[("DE", "CISION"), ("", "CONSTRAINT")])
        || has('S', &[("", "Success criteria")])
        || has('A', &[("", "Acceptance criteria")])
}

/// Returns an item with the start of its text, up to the end of a line.
fn shortened(item: &Item) -> Item {
    let text = item.text().unwrap_or_default();
    if text.len() <= ITEM_BYTES {
        return item.clone();
    }
    let mut end = ITEM_BYTES;
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let start = text.get(..end).unwrap_or_default();
    let line = start.rfind('\n').and_then(|it| start.get(..it));
    let body = Body::Text(line.unwrap_or(start).to_owned());
    // Only what is read of the item is copied.
    let empty = Item::inline(item.id.clone(), item.kind.clone(), "");
    Item { body, source: item.source.clone(), ..empty }
}
