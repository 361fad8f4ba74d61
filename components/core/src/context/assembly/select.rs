//! Selection: takes candidates in the order of their rank while they fit the budget, and puts what
//! was taken in the order of the text (spec 16.11, 16.12).
//!
//! What was selected before stays, as long as what matters most now fits beside it, and keeps its
//! place: a prompt cache holds as long as the beginning of a prompt is the same.

use std::collections::BTreeMap;

use super::{Ranking, Request, Segment, rank, screen, too_small};
use crate::{
    Error,
    budget::{Meter, Omission, Overrun, Size},
    order::{map, sorted},
    tokens::Tokens,
};

/// The share of the free budget, in percent, that the best candidates fill which must be selected: if
/// one of them does not fit beside what was selected before, everything is selected anew.
const ESSENTIAL_PERCENT: u64 = 50;
/// The share of the free budget, in percent, that a new selection fills. The rest is for what the
/// next assemblies add.
const REFILL_PERCENT: u64 = 75;

/// What a selection is made of.
pub(super) struct Selection<'a> {
    pub(super) request: &'a Request<'a>,
    /// For each item the first item of its unit.
    pub(super) units: &'a [usize],
    /// Which items are always shown.
    pub(super) fixed: &'a [bool],
    /// The sizes of the items in the text.
    pub(super) sizes: &'a [Size],
    pub(super) rankings: &'a [Option<Ranking>],
    /// The size of the text without any item.
    pub(super) overhead: Size,
}

/// What was selected.
pub(super) struct Selected {
    /// The items, in the order of the text.
    pub(super) order: Vec<usize>,
    /// The rank of each item.
    pub(super) ranks: Vec<Option<u32>>,
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
}

/// What the previous assembly made of a unit.
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

/// The units that were taken, and the limits that the others would have exceeded.
struct Packed {
    /// True for each unit that was taken.
    taken: Vec<bool>,
    overruns: Vec<(usize, Overrun)>,
    meter: Meter,
}

impl Selection<'_> {
    /// Selects among the candidates that are not omitted, and adds the omissions of those that do
    /// not fit.
    pub(super) fn select(&self, omissions: &mut [Option<Omission>]) -> Result<Selected, Error> {
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

        let (packed, is_replanned) = self.pack(&free, &meter);
        for (nth, overrun) in &packed.overruns {
            for place in free.get(*nth).into_iter().flat_map(|it| &it.places) {
                if let (Some(omission), Some(item)) = (omissions.get_mut(*place), items.get(*place))
                {
                    *omission = Some(Omission::over_budget(&item.id, overrun));
                }
            }
        }
        let mut ranks = vec![None; items.len()];
        let ranked = fixed.iter().chain(&free).flat_map(|it| &it.places);
        for (rank, place) in (1_u32..).zip(ranked) {
            if let Some(it) = ranks.get_mut(*place) {
                *it = Some(rank);
            }
        }
        let taken = free.iter().enumerate().filter(|(nth, _)| packed.has(*nth));
        let selected: Vec<usize> = fixed
            .iter()
            .chain(taken.map(|(_, it)| it))
            .flat_map(|it| &it.places)
            .copied()
            .collect();
        Ok(Selected {
            order: self.in_order(selected, &positions, &ranks),
            ranks,
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
            packed.take(units, |_| true);
            return (packed, false);
        }
        let part = |percent| {
            let left = u64::from(meter.tokens_left().0).saturating_mul(percent) / 100;
            let left = Tokens(u32::try_from(left).unwrap_or(u32::MAX));
            meter.capped(meter.used().tokens.plus(left))
        };
        let essential = essential(units, meter, part(ESSENTIAL_PERCENT));
        packed.take(units, |it| it.standing == Standing::Kept);
        packed.take(units, |it| it.standing == Standing::New);
        if essential.iter().all(|it| packed.has(*it)) {
            if self.request.rules.budget.usable() <= previous.usable {
                packed.meter = packed.meter.capped(part(REFILL_PERCENT).limit());
            }
            packed.take(units, |it| it.standing == Standing::PassedOver);
            return (packed, false);
        }
        let mut packed = Packed::new(part(REFILL_PERCENT));
        packed.take(units, |_| true);
        (packed, true)
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
        units
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

/// Returns the units that a selection must have: the best that fits `whole`, and those next to it
/// in rank as long as all of them fit `part`.
fn essential(units: &[Unit], whole: &Meter, mut part: Meter) -> Vec<usize> {
    let mut essential = Vec::new();
    for (nth, unit) in units.iter().enumerate() {
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

impl Packed {
    fn new(meter: Meter) -> Self {
        Self { taken: Vec::new(), overruns: Vec::new(), meter }
    }

    /// Returns true if the unit was taken.
    fn has(&self, nth: usize) -> bool {
        self.taken.get(nth).copied().unwrap_or(false)
    }

    /// Takes the units that `is_chosen` accepts, by rank, while they fit.
    fn take(&mut self, units: &[Unit], is_chosen: impl Fn(&Unit) -> bool) {
        self.taken.resize(units.len(), false);
        for (nth, unit) in units.iter().enumerate().filter(|(_, it)| is_chosen(it)) {
            match (self.meter.take(unit.size), self.taken.get_mut(nth)) {
                (Ok(()), Some(is_taken)) => *is_taken = true,
                (Err(overrun), _) => self.overruns.push((nth, overrun)),
                (Ok(()), None) => {}
            }
        }
    }
}
