//! Selection: takes candidates in the order of their rank while they fit the budget, and puts them
//! in the order of the text (spec 16.11, 16.12).
//!
//! Items of the previous selection stay and keep their place, as long as the most important items
//! of now fit beside them. So the beginning of the prompt stays the same, and a prompt cache
//! remains valid.

use std::collections::BTreeMap;

use super::{RankBy, Ranking, Request, Segment, rank, screen, too_small};
use crate::{
    Error,
    budget::{Meter, Omission, Overrun, Reason, Size},
    context::{
        capacity::is_crowded,
        loading::{Loading, LoadingRule},
    },
    item::units::members,
    order::{map, sorted},
    tokens::Tokens,
};

/// The share of the free budget, in percent, that the best candidates fill which must be selected:
/// if one of them does not fit beside the previous selection, everything is selected anew.
const ESSENTIAL_PERCENT: u64 = 50;
/// The share of the free budget, in percent, that a new selection fills. The rest is for what the
/// next assemblies add.
const REFILL_PERCENT: u64 = 75;

/// The input of a selection.
pub(super) struct Selection<'a> {
    pub(super) request: &'a Request<'a>,
    /// For each item the first item of its unit.
    pub(super) units: &'a [usize],
    /// For each item, true if it is always shown.
    pub(super) fixed: &'a [bool],
    /// The sizes of the items in the text.
    pub(super) sizes: &'a [Size],
    pub(super) rankings: &'a mut [Option<Ranking>],
    /// The size of the text without any item.
    pub(super) overhead: Size,
}

/// The result of a selection.
pub(super) struct Selected {
    /// The items, in the order of the text.
    pub(super) order: Vec<usize>,
    /// The rank of each item.
    pub(super) ranks: Vec<Option<u32>>,
    /// The items that are shown in place of one that they repeat, each with that one.
    pub(super) copies: Vec<(usize, usize)>,
    pub(super) used: Size,
    pub(super) is_replanned: bool,
}

/// Items that are selected together.
#[derive(Debug, Default)]
struct Unit {
    places: Vec<usize>,
    size: Size,
    is_fixed: bool,
    standing: Standing,
    /// Items that repeat one of it, the first choice first: one of them is taken if it does not fit.
    copies: Vec<Duplicate>,
}

/// An item that repeats another.
#[derive(Debug)]
struct Duplicate {
    place: usize,
    /// The item that it repeats.
    of: usize,
    size: Size,
}

/// The state of a unit in the previous assembly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Standing {
    /// It did not have all its items.
    #[default]
    New,
    /// It was selected.
    Kept,
    /// It did not fit.
    PassedOver,
}

/// The units that were taken, and why the others were not.
struct Packed {
    /// True for each unit that was taken.
    taken: Vec<bool>,
    /// The units that did not fit, and the limits that they would have exceeded.
    overruns: Vec<(usize, Overrun)>,
    /// The units whose turn came when the window was crowded.
    crowded: Vec<usize>,
    /// The units of which a copy was taken, each with the place of this copy in its list.
    copies: Vec<(usize, usize)>,
    meter: Meter,
}

impl Selection<'_> {
    /// Selects among the candidates that are not omitted, and adds the omissions of those that do
    /// not fit.
    pub(super) fn select(&mut self, omissions: &mut [Option<Omission>]) -> Result<Selected, Error> {
        let Request { items, rules, previous, .. } = *self.request;
        let positions: BTreeMap<&str, usize> = map(previous
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(position, it)| Some((it.item.as_deref()?, position))));
        let units = self.ordered_units(omissions, &positions);
        let (fixed, free): (Vec<Unit>, Vec<Unit>) = units.into_iter().partition(|it| it.is_fixed);
        let needed = fixed.iter().fold(self.overhead, |sum, it| sum.plus(it.size));
        let mut meter = Meter::new(rules.budget);
        meter.take(needed).map_err(|overrun| too_small(&overrun, needed, &rules.budget))?;
        if let Some((plan, used)) = &rules.window {
            meter = meter.capped(plan.window.minus(*used).max(needed.tokens));
        }

        let (packed, is_replanned) = self.pack(&free, &meter);
        let omitted = |nth: usize| free.get(nth).into_iter().flat_map(|it| &it.places);
        for (nth, overrun) in &packed.overruns {
            for place in omitted(*nth) {
                if let (Some(omission), Some(item)) = (omissions.get_mut(*place), items.get(*place))
                {
                    *omission = Some(Omission::over_budget(&item.id, overrun));
                }
            }
        }
        for place in packed.crowded.iter().flat_map(|it| omitted(*it)) {
            if let (Some(omission), Some(item), Some(Some(ranking))) =
                (omissions.get_mut(*place), items.get(*place), self.rankings.get_mut(*place))
            {
                (ranking.loading, ranking.rule) = (Loading::JustInTime, Some(LoadingRule::Crowded));
                *omission = Some(rank::later(item, ranking));
            }
        }
        let (mut selected, mut ranked, mut copies) = (Vec::new(), Vec::new(), Vec::new());
        for unit in &fixed {
            selected.extend(&unit.places);
        }
        ranked.extend(&selected);
        for (nth, unit) in free.iter().enumerate() {
            ranked.extend(&unit.places);
            if packed.has(nth) {
                selected.extend(&unit.places);
            }
            let taken = packed.copies.iter().find(|(it, _)| *it == nth);
            if let Some(copy) = taken.and_then(|(_, it)| unit.copies.get(*it)) {
                ranked.push(copy.place);
                selected.push(copy.place);
                copies.push((copy.place, copy.of));
            }
        }
        for (place, _) in &copies {
            if let Some(omission) = omissions.get_mut(*place) {
                *omission = None;
            }
        }
        let mut ranks = vec![None; items.len()];
        for (rank, place) in (1_u32..).zip(ranked) {
            if let Some(it) = ranks.get_mut(place) {
                *it = Some(rank);
            }
        }
        Ok(Selected {
            order: self.in_order(selected, &positions, &ranks),
            ranks,
            copies,
            used: packed.meter.used(),
            is_replanned,
        })
    }

    /// Takes units from the budget. What was in the previous assembly comes first, then what is new,
    /// then what did not fit before; unless the essential units do not fit so.
    fn pack(&self, units: &[Unit], meter: &Meter) -> (Packed, bool) {
        let previous = self.request.previous;
        let mut packed = Packed::new(meter.clone());
        if previous.blocks.is_empty() {
            self.take(&mut packed, units, |_| true);
            return (packed, false);
        }
        let part = |percent| {
            let left = u64::from(meter.tokens_left().0).saturating_mul(percent) / 100;
            let left = Tokens(u32::try_from(left).unwrap_or(u32::MAX));
            meter.capped(meter.used().tokens.plus(left))
        };
        let essential = self.essential(units, meter, part(ESSENTIAL_PERCENT));
        self.take(&mut packed, units, |it| it.standing == Standing::Kept);
        self.take(&mut packed, units, |it| it.standing == Standing::New);
        if essential.iter().all(|it| packed.has(*it)) {
            if self.request.rules.budget.usable() <= previous.usable {
                packed.meter = packed.meter.capped(part(REFILL_PERCENT).limit());
            }
            self.take(&mut packed, units, |it| it.standing == Standing::PassedOver);
            return (packed, false);
        }
        let mut packed = Packed::new(part(REFILL_PERCENT));
        self.take(&mut packed, units, |_| true);
        (packed, true)
    }

    /// Takes the units that `is_chosen` accepts, by rank, while they fit. What does not fit is
    /// replaced by an item that repeats it and fits.
    fn take(&self, packed: &mut Packed, units: &[Unit], is_chosen: impl Fn(&Unit) -> bool) {
        packed.taken.resize(units.len(), false);
        for (nth, unit) in units.iter().enumerate().filter(|(_, it)| is_chosen(it)) {
            if self.is_crowded(&packed.meter) {
                packed.crowded.push(nth);
                continue;
            }
            match (packed.meter.take(unit.size), packed.taken.get_mut(nth)) {
                (Ok(()), Some(is_taken)) => *is_taken = true,
                (Err(overrun), _) => {
                    packed.overruns.push((nth, overrun));
                    let meter = &mut packed.meter;
                    let copy = unit.copies.iter().position(|it| meter.take(it.size).is_ok());
                    packed.copies.extend(copy.map(|it| (nth, it)));
                }
                (Ok(()), None) => {}
            }
        }
    }

    /// Returns true if more than 80 % of the window is used, including the items that were taken.
    fn is_crowded(&self, meter: &Meter) -> bool {
        let taken = meter.used().tokens.minus(self.overhead.tokens);
        let window = self.request.rules.window.as_ref();
        window.is_some_and(|(plan, used)| is_crowded(used.plus(taken), plan.window))
    }

    /// Returns the units that a selection must have: the best that fits `whole`, and those next to
    /// it in rank as long as all of them fit `part`.
    fn essential(&self, units: &[Unit], whole: &Meter, mut part: Meter) -> Vec<usize> {
        let mut essential = Vec::new();
        for (nth, unit) in units.iter().enumerate() {
            if self.is_crowded(&part) {
                break;
            }
            let fits_part = part.take(unit.size).is_ok();
            if fits_part || (essential.is_empty() && whole.clone().take(unit.size).is_ok()) {
                essential.push(nth);
            }
            if !fits_part && !essential.is_empty() {
                break;
            }
        }
        essential
    }

    /// Returns the units of the candidates that are left, by rank. A unit ranks as its best item.
    fn ordered_units(
        &self,
        omissions: &[Option<Omission>],
        positions: &BTreeMap<&str, usize>,
    ) -> Vec<Unit> {
        let Request { items, rules, previous, .. } = *self.request;
        let standing = |place: usize| match items.get(place).map(|it| it.id.as_str()) {
            Some(id) if positions.contains_key(id) => Standing::Kept,
            Some(id) if previous.passed_over.contains(id) => Standing::PassedOver,
            _ => Standing::New,
        };
        let left = omissions.iter().enumerate().filter(|(_, it)| it.is_none());
        let left = left.map(|(place, _)| place).collect();
        let places = rank::in_order(rules.rank_by, items, self.rankings, left);
        // The unit of each first item.
        let mut nths: Vec<Option<usize>> = vec![None; items.len()];
        let mut units: Vec<Unit> = Vec::new();
        for place in places {
            let first = self.units.get(place).copied().unwrap_or(place);
            let Some(nth) = nths.get_mut(first) else { continue };
            let nth = *nth.get_or_insert(units.len());
            if nth == units.len() {
                units.push(Unit { standing: standing(place), ..Unit::default() });
            }
            let Some(unit) = units.get_mut(nth) else { continue };
            unit.places.push(place);
            unit.size = unit.size.plus(self.sizes.get(place).copied().unwrap_or_default());
            unit.is_fixed |= self.fixed.get(place).copied().unwrap_or(false);
            if unit.standing != standing(place) {
                unit.standing = Standing::New;
            }
        }
        for it in self.duplicates(omissions) {
            let unit = self.units.get(it.of).and_then(|first| *nths.get(*first)?);
            let Some(unit) = unit.and_then(|nth| units.get_mut(nth)) else { continue };
            if standing(it.place) == Standing::Kept && unit.standing != Standing::Kept {
                unit.standing = Standing::Kept;
                unit.copies.insert(0, it);
            } else {
                unit.copies.push(it);
            }
        }
        units
    }

    /// Returns the items without a pair that were left out because they repeat another, newest
    /// first. The score alone decides if it is asked to.
    fn duplicates(&self, omissions: &[Option<Omission>]) -> Vec<Duplicate> {
        let Request { items, rules, .. } = *self.request;
        let is_duplicate = |it: &Omission| it.reason == Reason::DuplicateOf;
        if !omissions.iter().flatten().any(is_duplicate) {
            return Vec::new();
        }
        let places: BTreeMap<&str, usize> =
            map(items.iter().enumerate().map(|(place, it)| (it.id.as_str(), place)));
        let members = members(self.units);
        let mut duplicates = Vec::new();
        for (place, omission) in omissions.iter().enumerate() {
            let omission = omission.as_ref().filter(|it| is_duplicate(it));
            let Some(of) = omission.and_then(|it| places.get(it.other.as_deref()?)) else {
                continue;
            };
            let unit = self.units.get(place).and_then(|it| members.get(*it));
            let is_alone = unit.is_some_and(|it| it.len() == 1);
            if is_alone && rules.rank_by != RankBy::Score {
                let size = self.sizes.get(place).copied().unwrap_or_default();
                duplicates.push(Duplicate { place, of: *of, size });
            }
        }
        let key = |it: &Duplicate| (items.get(it.place).and_then(|it| it.at), it.place);
        sorted(duplicates, |a, b| key(b).cmp(&key(a)))
    }

    /// Returns selected items in the order of the text: segment by segment. What was in the
    /// previous assembly comes first, in its order, except in a segment that keeps the order of the
    /// request.
    fn in_order(
        &self,
        selected: Vec<usize>,
        positions: &BTreeMap<&str, usize>,
        ranks: &[Option<u32>],
    ) -> Vec<usize> {
        let items = self.request.items;
        let key = |place: &usize| {
            let item = items.get(*place)?;
            let segment = Segment::of(&item.kind);
            if screen::is_ordered(segment) {
                return Some((segment, *place, None, ""));
            }
            let position = positions.get(item.id.as_str()).copied().unwrap_or(usize::MAX);
            let rank = ranks.get(*place).copied().flatten();
            let rank = rank.filter(|_| segment == Segment::Material);
            Some((segment, position, rank, item.id.as_str()))
        };
        sorted(selected, |a, b| key(a).cmp(&key(b)))
    }
}

impl Packed {
    fn new(meter: Meter) -> Self {
        let (taken, overruns) = (Vec::new(), Vec::new());
        Self { taken, overruns, crowded: Vec::new(), copies: Vec::new(), meter }
    }

    /// Returns true if the unit was taken.
    fn has(&self, nth: usize) -> bool {
        self.taken.get(nth).copied().unwrap_or(false)
    }
}
