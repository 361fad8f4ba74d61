//! Screening: leaves out the candidates that cannot be shown, whatever their rank (spec 16.10).

use std::cmp::Reverse;

use super::{Request, Segment};
use crate::{
    budget::{Omission, Reason},
    extract::repeated,
    item::{Item, Kind, ListedKind, units::members},
    order::sorted,
};

/// Returns why items are left out; `None` for those that remain, always whole units. `fixed` are the
/// items that are always shown if they can be shown at all.
pub(super) fn screen(
    request: &Request<'_>,
    units: &[usize],
    fixed: &[bool],
) -> Vec<Option<Omission>> {
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
    // What cannot be shown replaces nothing.
    spread(items, units, &mut omissions);
    let (members, replaces) = (members(units), vec![false; items.len()]);
    let mut screen = Screen { items, units, members, fixed, omissions, replaces };
    screen.omit_superseded();
    screen.omit_repetitions();
    screen.omissions
}

/// The items, and those that are left out so far.
struct Screen<'a> {
    items: &'a [Item],
    /// The unit of each item.
    units: &'a [usize],
    /// The items of each unit.
    members: Vec<Vec<usize>>,
    fixed: &'a [bool],
    omissions: Vec<Option<Omission>>,
    /// True for each item that replaces another, so its content is in the text.
    replaces: Vec<bool>,
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

impl Screen<'_> {
    fn is_left(&self, place: usize) -> bool {
        self.omissions.get(place).is_some_and(Option::is_none)
    }

    fn is_fixed(&self, place: usize) -> bool {
        self.fixed.get(place).copied().unwrap_or(false)
    }

    /// Leaves out older versions of a file: the same origin and selectors, and an earlier time. Of
    /// versions of one time the last in the request stays.
    fn omit_superseded(&mut self) {
        let items = self.items;
        let is_file = |item: &Item| item.kind == Kind::Listed(ListedKind::FileExcerpt);
        let key = |place: usize| {
            let item = items.get(place)?;
            let (origin, at) = (item.source.origin.as_deref()?, item.at?);
            Some((origin, &item.source.selectors, at, place))
        };
        let files = items
            .iter()
            .enumerate()
            .filter(|(place, item)| is_file(item) && self.is_left(*place) && key(*place).is_some());
        let files = sorted(files.map(|(place, _)| place).collect(), |a: &usize, b: &usize| {
            key(*a).cmp(&key(*b))
        });
        // The last of each group is the newest.
        let mut newest: Option<usize> = None;
        for place in files.into_iter().rev() {
            let of = |place: usize| key(place).map(|(origin, selectors, ..)| (origin, selectors));
            match newest {
                Some(newer) if self.is_left(newer) && of(newer) == of(place) => {
                    self.replace(place, Reason::Superseded, newer);
                }
                _ => newest = Some(place),
            }
        }
    }

    /// Leaves out items whose text another item repeats: one of more authority, or else a newer
    /// one. Messages of a conversation stay: "yes" means something else each time.
    fn omit_repetitions(&mut self) {
        let items = self.items;
        let is_message = |item: &Item| {
            matches!(
                item.kind,
                Kind::Listed(
                    ListedKind::UserMessage
                        | ListedKind::SessionHistory
                        | ListedKind::PeerAgentMessage
                )
            )
        };
        let compared = items.iter().enumerate().filter(|(place, item)| {
            self.is_left(*place)
                && item.text().is_some_and(|it| !it.is_empty())
                && !is_message(item)
        });
        let compared: Vec<usize> = compared.map(|(place, _)| place).collect();
        // Items that are always shown come last, so that others repeat them, and those of more
        // authority behind those of less.
        let key = |place: usize| {
            let item = items.get(place);
            let authority = Reverse(item.map(|it| it.source.authority));
            (self.is_fixed(place), authority, item.and_then(|it| it.at), place)
        };
        let compared = sorted(compared, |a, b| key(*a).cmp(&key(*b)));
        let texts: Vec<&str> =
            compared.iter().filter_map(|it| items.get(*it)).filter_map(Item::text).collect();
        // Only outputs of programs say the same with other numbers.
        let is_output = |nth: usize| {
            let item = compared.get(nth).and_then(|it| items.get(*it));
            item.is_some_and(|it| it.kind == Kind::Listed(ListedKind::ToolResult))
        };
        for (nth, other) in repeated(&texts, &is_output).into_iter().enumerate() {
            let newer = other.and_then(|it| compared.get(it));
            if let (Some(place), Some(newer)) = (compared.get(nth), newer) {
                self.replace(*place, Reason::DuplicateOf, *newer);
            }
        }
    }

    /// Leaves out the unit of the item at `place` because of another item. It stays if it is always
    /// shown, or if a content would be in no text: that of `other`, if it is left out or of the same
    /// unit, or that of an item which another one of the unit replaces.
    fn replace(&mut self, place: usize, reason: Reason, other: usize) {
        if self.is_fixed(place) || !self.is_left(place) || !self.is_left(other) {
            return;
        }
        let unit = self.units.get(place).and_then(|it| self.members.get(*it));
        let Some(unit) = unit.map(Vec::as_slice) else { return };
        let is_needed = |it: &usize| *it == other || self.replaces.get(*it) == Some(&true);
        if unit.iter().any(|it| *it != place && is_needed(it)) {
            return;
        }
        for it in unit.iter().copied() {
            let cause = self.items.get(if it == place { other } else { place });
            if let (Some(omission), Some(item), Some(cause)) =
                (self.omissions.get_mut(it), self.items.get(it), cause)
            {
                *omission = Some(Omission::because_of(&item.id, reason, &cause.id));
            }
        }
        if let Some(it) = self.replaces.get_mut(other) {
            *it = true;
        }
    }
}

/// Returns true for the segment whose items stay in the order of the request.
pub(super) fn is_ordered(segment: Segment) -> bool {
    segment == Segment::Turns
}
