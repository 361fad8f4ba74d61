//! Prepares a selection: the possible remainder of each item, and the steps in their order.

use super::{
    condense,
    duplicate::{Duplicate, earlier_version},
    select::{Choice, Selection},
};
use crate::order::sorted;

/// The score of a placeholder is that of its item plus these points, so it is removed later.
const PLACEHOLDER_POINTS: u8 = 20;

/// The phase in which a step is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Repetitions and earlier versions.
    Duplicates,
    /// Items of 0 to 30.
    Low,
    /// Items of 31 to 99.
    Middle,
    /// The remainders of items.
    Remains,
}

/// A step: the items of a unit go, or are replaced by what remains of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) phase: Phase,
    pub(super) score: u8,
    pub(super) unit: usize,
    pub(super) choice: Choice,
}

impl<'a> Selection<'a> {
    /// Writes what may remain of each item.
    pub(super) fn prepare_parts(&mut self) {
        for (place, (item, judged)) in self.items.iter().zip(self.judged).enumerate() {
            // A client cannot shorten the arguments of a call.
            let is_call = judged.is_call || item.kind.as_str() == "tool_call";
            if is_call || judged.scored.score == 100 {
                continue;
            }
            let remains = |place: usize| {
                let (item, judged) = self.items.get(place).zip(self.judged.get(place))?;
                let call = self.call(place);
                condense::remains(item, judged.noise, self.facts.of(place), call)
            };
            let text = match judged.duplicate {
                // Two test runs are alike, and their counts differ.
                Some(Duplicate::Repeats(later)) => {
                    let own = judged.noise.and_then(|_| remains(place));
                    own.filter(|it| remains(later).as_ref() != Some(it))
                }
                Some(Duplicate::Earlier(later)) => {
                    self.items.get(later).map(|later| earlier_version(item, later))
                }
                None => remains(place),
            };
            let part = text.map(|it| self.part_of(it)).filter(|it| it.tokens < item.tokens);
            if let Some(it) = self.parts.get_mut(place) {
                *it = part;
            }
        }
    }

    /// Returns the name of the tool whose result an item is: the first word of its call.
    pub(super) fn call(&self, place: usize) -> Option<&'a str> {
        let unit = self.units.get(place)?;
        let mut members = self.members.get(*unit)?.iter();
        let call = members.find(|it| self.judged.get(**it).is_some_and(|it| it.is_call))?;
        let item = self.items.get(*call)?;
        let word = item.text()?.split(|it: char| it.is_whitespace() || it == '(').next()?;
        Some(if (1..=60).contains(&word.len()) { word } else { item.id.as_str() })
    }

    /// Lists the steps, in the order in which they are taken.
    pub(super) fn prepare_steps(&mut self) {
        let mut steps = Vec::new();
        for (unit, members) in self.members.iter().enumerate() {
            let judged = || members.iter().filter_map(|it| self.judged.get(*it));
            let Some(score) = judged().map(|it| it.scored.score).max() else { continue };
            if score >= 100 {
                continue;
            }
            let has_duplicate = judged().any(|it| it.duplicate.is_some());
            let is_duplicate = judged().all(|it| it.duplicate.is_some() || it.is_call);
            let has_part = members.iter().any(|it| matches!(self.parts.get(*it), Some(Some(_))));
            let mut push = |phase, score, choice| steps.push(Step { phase, score, unit, choice });
            if has_duplicate && is_duplicate {
                push(Phase::Duplicates, score, if has_part { Choice::Part } else { Choice::Gone });
            } else if score <= 30 {
                push(Phase::Low, score, if has_part { Choice::Part } else { Choice::Gone });
            } else if has_part {
                push(Phase::Middle, score, Choice::Part);
                let later = score.saturating_add(PLACEHOLDER_POINTS).min(99);
                push(Phase::Middle, later, Choice::Gone);
                continue;
            } else {
                push(Phase::Middle, score, Choice::Gone);
            }
            if has_part {
                push(Phase::Remains, score, Choice::Gone);
            }
        }
        self.steps =
            sorted(steps, |a, b| (a.phase, a.score, a.unit).cmp(&(b.phase, b.score, b.unit)));
    }
}
