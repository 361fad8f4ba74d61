//! Screening: leaves out the candidates that cannot be shown, whatever their rank (spec 16.10).

use super::{Request, Segment};
use crate::{
    budget::{Omission, Reason},
    item::{Item, Kind, ListedKind},
    order::sorted,
    text,
};

/// Returns why items are left out; `None` for those that remain. `fixed` are the items that are
/// always shown if they can be shown at all.
pub(super) fn screen(request: &Request<'_>, fixed: &[bool]) -> Vec<Option<Omission>> {
    let Request { items, rules, now, .. } = *request;
    let reason = |(item, is_fixed): (&Item, &bool)| {
        if !item.visibility.has(rules.target) {
            return Some(Reason::NotVisible);
        }
        if !item.is_live(now) {
            return Some(Reason::Expired);
        }
        if !item.matches_digest() {
            return Some(Reason::DigestMismatch);
        }
        if !is_fixed && !rules.budget.is_new_enough(item.at) {
            return Some(Reason::TooOld);
        }
        rules.pruned.contains(&item.id).then_some(Reason::Pruned)
    };
    let reasons = items.iter().zip(fixed).map(reason);
    let mut omissions: Vec<Option<Omission>> = reasons
        .zip(items)
        .map(|(reason, item)| reason.map(|it| Omission::new(&item.id, it)))
        .collect();
    omit_superseded(items, fixed, &mut omissions);
    omit_repetitions(items, fixed, &mut omissions);
    omissions
}

/// Leaves out the other items of a unit of which one is left out: they are never separated.
pub(super) fn spread(items: &[Item], units: &[usize], omissions: &mut [Option<Omission>]) {
    let mut first: Vec<Option<(Reason, usize)>> = vec![None; units.len()];
    for (place, unit) in units.iter().enumerate() {
        if let Some(omission) = omissions.get(place).and_then(Option::as_ref)
            && let Some(first) = first.get_mut(*unit)
        {
            first.get_or_insert((omission.reason, place));
        }
    }
    for (place, unit) in units.iter().enumerate() {
        let (Some(omission), Some(item)) = (omissions.get_mut(place), items.get(place)) else {
            continue;
        };
        if omission.is_none()
            && let Some(Some((reason, cause))) = first.get(*unit)
            && let Some(cause) = items.get(*cause)
        {
            *omission = Some(Omission::because_of(&item.id, *reason, &cause.id));
        }
    }
}

/// Leaves out older versions of a file: the same origin and selectors, and an earlier time. Of
/// versions of one time the last in the request stays.
fn omit_superseded(items: &[Item], fixed: &[bool], omissions: &mut [Option<Omission>]) {
    let is_file = |item: &Item| item.kind == Kind::Listed(ListedKind::FileExcerpt);
    let key = |place: usize| {
        let item = items.get(place)?;
        let (origin, at) = (item.source.origin.as_deref()?, item.at?);
        Some((origin, &item.source.selectors, at, place))
    };
    let files = items.iter().enumerate().filter(|(place, item)| {
        is_file(item) && omissions.get(*place).is_some_and(Option::is_none) && key(*place).is_some()
    });
    let files = sorted(files.map(|(place, _)| place).collect(), |a: &usize, b: &usize| {
        key(*a).cmp(&key(*b))
    });
    // The last of each group is the newest.
    let mut newest: Option<usize> = None;
    for place in files.into_iter().rev() {
        let of = |place: usize| key(place).map(|(origin, selectors, ..)| (origin, selectors));
        match newest {
            Some(newer) if of(newer) == of(place) => {
                omit(items, fixed, omissions, place, Reason::Superseded, newer);
            }
            _ => newest = Some(place),
        }
    }
}

/// Leaves out items whose text another, newer item repeats. Messages of a conversation stay: "yes"
/// means something else each time.
fn omit_repetitions(items: &[Item], fixed: &[bool], omissions: &mut [Option<Omission>]) {
    let is_message = |item: &Item| {
        matches!(
            item.kind,
            Kind::Listed(
                ListedKind::UserMessage | ListedKind::SessionHistory | ListedKind::PeerAgentMessage
            )
        )
    };
    let is_fixed = |place: usize| fixed.get(place).copied().unwrap_or(false);
    let compared: Vec<usize> = items
        .iter()
        .enumerate()
        .filter(|(place, item)| {
            omissions.get(*place).is_some_and(Option::is_none)
                && item.text().is_some_and(|it| !it.is_empty())
                && !is_message(item)
        })
        .map(|(place, _)| place)
        .collect();
    // What is always shown comes last, so that others repeat it.
    let key = |place: usize| (is_fixed(place), items.get(place).and_then(|it| it.at), place);
    let compared = sorted(compared, |a, b| key(*a).cmp(&key(*b)));
    let texts: Vec<&str> =
        compared.iter().filter_map(|it| items.get(*it)).filter_map(Item::text).collect();
    for (nth, repeated) in text::repetitions(&texts).into_iter().enumerate() {
        let newer = repeated.and_then(|it| compared.get(it));
        if let (Some(place), Some(newer)) = (compared.get(nth), newer) {
            omit(items, fixed, omissions, *place, Reason::DuplicateOf, *newer);
        }
    }
}

/// Leaves out the item at `place` because of another, unless it is always shown.
fn omit(
    items: &[Item],
    fixed: &[bool],
    omissions: &mut [Option<Omission>],
    place: usize,
    reason: Reason,
    other: usize,
) {
    let (Some(item), Some(other)) = (items.get(place), items.get(other)) else { return };
    if let (Some(omission), Some(false)) = (omissions.get_mut(place), fixed.get(place)) {
        *omission = Some(Omission::because_of(&item.id, reason, &other.id));
    }
}

/// Returns true for the segment whose items stay in the order of the request.
pub(super) fn is_ordered(segment: Segment) -> bool {
    segment == Segment::Turns
}
