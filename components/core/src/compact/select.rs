//! Chooses what is kept whole, in part, or not at all, until the target is reached. `prepare` lists
//! the steps.
//!
//! The order is: repetitions and earlier versions, items of 0 to 30 ascending, items of 31 to 99
//! ascending, and at last the remainders of items. Each step is taken only while the target is
//! missed, and only if it gains something: a fact that must be kept costs a line of the digest.
//!
//! # Invariant
//!
//! Items of a unit go together. A text that is never lost is in an item that is kept, or in its
//! remainder, or in the digest.

use std::collections::BTreeSet;

use super::{
    digest::{self, Line},
    facts::Facts,
    prepare::{Phase, Step},
    request::Section,
    score::Judgement,
};
use crate::{
    Error,
    item::{Item, units::members},
    order::sorted,
    tokens::{Tokens, approximate},
};

/// Characters of the heading and the titles of a digest.
const HEADINGS_CHARS: u64 = 110;
/// The share of the goal that facts below 100 may take in the digest, in percent.
const OPTIONAL_PERCENT: u64 = 5;
/// The most rounds of writing labels and taking the steps that they make due.
const LABELLINGS: u32 = 4;
/// The choice for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// It is kept whole, with a label if its repetitions are gone.
    Whole,
    /// A part of it is kept.
    Part,
    /// It is removed.
    Gone,
}

/// The remainder of an item.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) tokens: Tokens,
    is_counted: bool,
}

/// The state of a selection.
#[derive(Debug)]
pub(super) struct Selection<'a> {
    pub(super) items: &'a [Item],
    pub(super) facts: &'a Facts<'a>,
    pub(super) judged: &'a [Judgement],
    pub(super) units: &'a [usize],
    /// The items of each unit, by its first item.
    pub(super) members: Vec<Vec<usize>>,
    pub(super) steps: Vec<Step>,
    pub(super) parts: Vec<Option<Part>>,
    /// For each item whose repetitions are gone, its whole text with a label that counts them.
    pub(super) labels: Vec<Option<Part>>,
    /// The items that have a label, or would have one if it saved something.
    pub(super) marked: BTreeSet<usize>,
    /// For each item, true if it says the same as the item that it repeats; `None` until it was
    /// compared.
    pub(super) same: Vec<Option<bool>>,
    choices: Vec<Choice>,
    /// For each group of facts, how many items of the result have its text.
    holders: Vec<u32>,
    /// For each group of facts below 100, whether it is a line of the digest.
    chosen: Vec<bool>,
    /// The tokens of the items, as far as they are kept.
    tokens: u64,
    /// The characters of the lines of the digest, about.
    chars: u64,
    /// The tokens and the characters of all texts: how many tokens a character has.
    ratio: (u64, u64),
}

impl<'a> Selection<'a> {
    /// Creates a selection that keeps everything whole.
    pub(super) fn new(
        items: &'a [Item],
        facts: &'a Facts<'a>,
        judged: &'a [Judgement],
        units: &'a [usize],
    ) -> Self {
        let texts = items.iter().filter_map(|it| Some((it.tokens, it.text()?)));
        let ratio = texts.fold((0_u64, 0_u64), |sum, (tokens, text)| {
            let chars = u64::from(approximate(text).0).saturating_mul(4);
            (sum.0.saturating_add(tokens.0.into()), sum.1.saturating_add(chars))
        });
        let mut it = Self {
            items,
            facts,
            judged,
            units,
            members: members(units),
            steps: Vec::new(),
            parts: vec![None; items.len()],
            labels: vec![None; items.len()],
            marked: BTreeSet::new(),
            same: vec![None; items.len()],
            choices: vec![Choice::Whole; items.len()],
            holders: vec![0; facts.groups.len()],
            chosen: vec![false; facts.groups.len()],
            tokens: items.iter().map(|it| u64::from(it.tokens.0)).sum(),
            chars: 0,
            ratio: if ratio.1 == 0 { (1, 4) } else { ratio },
        };
        for fact in &facts.all {
            if let Some(it) = it.holders.get_mut(fact.group) {
                *it = it.saturating_add(1);
            }
        }
        it.prepare_parts();
        it.prepare_steps();
        it
    }

    /// Returns what is chosen for an item.
    pub(super) fn choice(&self, item: usize) -> Choice {
        self.choices.get(item).copied().unwrap_or(Choice::Whole)
    }

    /// Returns the new text of an item that is kept: what remains of it, or all with a label.
    pub(super) fn part(&self, item: usize) -> Option<&Part> {
        match self.choice(item) {
            Choice::Whole => self.labels.get(item)?.as_ref(),
            Choice::Part => self.parts.get(item)?.as_ref(),
            Choice::Gone => None,
        }
    }

    /// Returns true if an item of the result has the text of the group.
    pub(super) fn is_held(&self, group: usize) -> bool {
        self.holders.get(group).is_some_and(|it| *it > 0)
    }

    /// Returns true if the text of the group is a line of the digest.
    pub(super) fn is_digested(&self, group: usize) -> bool {
        // A settlement stands beside its issue even if an item has it, too: the item may be before.
        let mut issues = self.issues_of(group);
        issues.any(|it| self.is_line(it)) || self.is_line(group) || {
            !self.is_held(group) && self.issues_of(group).any(|it| self.is_held(it))
        }
    }

    /// Returns true if the result must have the text of the group: it is never lost, or it settled an
    /// issue that the result has.
    pub(super) fn is_needed(&self, group: usize) -> bool {
        let is_there = |it: usize| self.is_held(it) || self.is_line(it);
        self.is_required(group) || self.issues_of(group).any(is_there)
    }

    fn issues_of(&self, group: usize) -> impl Iterator<Item = usize> {
        self.facts.settles.get(group).into_iter().flatten().copied()
    }

    /// Returns true if the text of the group is a line of the digest for itself.
    fn is_line(&self, group: usize) -> bool {
        !self.is_held(group)
            && (self.chosen.get(group).copied().unwrap_or(false) || self.is_required(group))
    }

    fn is_required(&self, group: usize) -> bool {
        self.facts.of_group(group).is_some_and(super::facts::Fact::is_required)
    }

    /// Returns about how many characters the lines of a group, and of what settled it, have in the
    /// digest.
    fn lines_of(&self, group: usize) -> u64 {
        let settled_by = self.facts.settled_by.get(group).into_iter().flatten().copied();
        let lines = std::iter::once(group).chain(settled_by).filter(|it| self.is_digested(*it));
        lines.map(|it| self.chars_of(it)).sum()
    }

    /// Returns the groups whose texts are the lines of the digest, in the order of the document.
    pub(super) fn digested(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let groups: Vec<(usize, Section, usize)> = (0..self.facts.groups.len())
            .filter(|it| self.is_digested(*it))
            .filter_map(|group| {
                let fact = self.facts.of_group(group)?;
                Some((group, fact.section(), *self.facts.groups.get(group)?))
            })
            .collect();
        let groups = sorted(groups, |a, b| (a.1, a.2).cmp(&(b.1, b.2)));
        found.extend(groups.into_iter().map(|(group, _, _)| group));
        found
    }

    /// Returns the digest document, or `None` if it has no line.
    pub(super) fn document(&self) -> Option<String> {
        let groups = self.digested();
        let lines: Vec<Line<'_>> =
            groups.into_iter().filter_map(|it| Some(self.facts.of_group(it)?.line())).collect();
        (!lines.is_empty()).then(|| digest::write(&lines))
    }

    /// Returns the exact tokens of the items of the result.
    ///
    /// # Errors
    ///
    /// Those of `count`.
    pub(super) fn counted(
        &mut self,
        count: &dyn Fn(&str) -> Result<Tokens, Error>,
    ) -> Result<u64, Error> {
        let texts = self.parts.iter_mut().zip(&mut self.labels).zip(&self.choices);
        for ((part, label), choice) in texts {
            let text = match choice {
                Choice::Whole => label,
                Choice::Part => part,
                Choice::Gone => continue,
            };
            let Some(part) = text.as_mut().filter(|it| !it.is_counted) else { continue };
            let tokens = count(&part.text)?;
            let sum = self.tokens.saturating_add(tokens.0.into());
            self.tokens = sum.saturating_sub(part.tokens.0.into());
            part.tokens = tokens;
            part.is_counted = true;
        }
        Ok(self.tokens)
    }

    /// Merges the earlier digests into the new one.
    pub(super) fn merge_digests(&mut self) {
        for place in 0..self.items.len() {
            if self.judged.get(place).is_some_and(|it| it.scored.rule == "own_digest") {
                self.set(place, Choice::Gone);
            }
        }
    }

    /// Removes until at most `goal` tokens are left, about. Returns true if it changed something.
    pub(super) fn reduce(&mut self, goal: u64) -> bool {
        let mut has_changed = false;
        let mut place = 0_usize;
        // A label costs a few tokens, for which some more steps may be due.
        for _ in 0..LABELLINGS {
            let is_behind = self.steps.get(place).is_none_or(|it| it.phase > Phase::Duplicates);
            while let Some(step) = self.steps.get(place).copied() {
                let is_to_label = !is_behind && step.phase > Phase::Duplicates;
                if is_to_label || self.total() <= goal {
                    break;
                }
                has_changed |= self.take(step);
                place = place.saturating_add(1);
            }
            self.label();
            if self.total() <= goal || place >= self.steps.len() {
                break;
            }
        }
        has_changed
    }

    /// Takes back steps that were not needed, the last first, as long as at most `goal` tokens are
    /// used.
    pub(super) fn restore(&mut self, goal: u64) {
        for place in (0..self.steps.len()).rev() {
            let Some(step) = self.steps.get(place).copied() else { continue };
            if step.phase != Phase::Middle || self.total() >= goal {
                continue;
            }
            let before = self.choices_of(step.unit);
            if before.iter().all(|it| *it == Choice::Whole) || self.is_needy(step.unit) {
                continue;
            }
            self.set_unit(step.unit, |_| Choice::Whole);
            if self.total() > goal {
                self.set_back(step.unit, &before);
            }
        }
        self.label();
    }

    /// Returns true if an item of a unit needs one that is gone.
    fn is_needy(&self, unit: usize) -> bool {
        let members = self.members.get(unit).into_iter().flatten();
        let mut needs = members.filter_map(|it| self.judged.get(*it)?.need);
        needs.any(|it| self.choice(it) == Choice::Gone)
    }

    /// Removes the items that need one that is gone, as far as they may go.
    pub(super) fn drop_needy(&mut self) {
        for place in 0..self.steps.len() {
            let Some(step) = self.steps.get(place).copied() else { continue };
            if step.choice == Choice::Gone && self.is_needy(step.unit) {
                self.take(step);
            }
        }
    }

    /// Adds lines of facts below 100 to the digest, the best and newest first.
    pub(super) fn add_optional(&mut self, goal: u64) {
        let groups: Vec<usize> = (0..self.facts.groups.len()).collect();
        let score = |group: usize| self.facts.of_group(group).map_or(0, |it| it.score);
        let groups = sorted(groups, |a, b| (score(*b), b).cmp(&(score(*a), a)));
        let max = self.total().saturating_add(goal.saturating_mul(OPTIONAL_PERCENT) / 100);
        for group in groups {
            let Some(fact) = self.facts.of_group(group) else { continue };
            if self.is_held(group) || !fact.is_optional() {
                continue;
            }
            let more = digest::chars(&fact.line());
            if self.total_with(more) <= goal.min(max) {
                self.choose(group, true);
            }
        }
    }

    /// Removes the lines of facts below 100 from the digest.
    pub(super) fn drop_optional(&mut self) {
        for group in 0..self.chosen.len() {
            if self.chosen.get(group).copied().unwrap_or(false) {
                self.choose(group, false);
            }
        }
    }

    /// Chooses whether a fact below 100 is a line of the digest.
    fn choose(&mut self, group: usize, is_line: bool) {
        let before = self.lines_of(group);
        if let Some(it) = self.chosen.get_mut(group) {
            *it = is_line;
        }
        let more = self.lines_of(group);
        self.chars = self.chars.saturating_add(more).saturating_sub(before);
    }

    /// Keeps the unit of an item whole from now on.
    pub(super) fn pin(&mut self, item: usize) {
        let Some(unit) = self.units.get(item).copied() else { return };
        self.steps.retain(|it| it.unit != unit);
        self.set_unit(unit, |_| Choice::Whole);
    }

    /// Returns about how many tokens the result has.
    pub(super) fn total(&self) -> u64 {
        self.total_with(0)
    }

    fn total_with(&self, more: u64) -> u64 {
        let chars = self.chars.saturating_add(more);
        if chars == 0 {
            return self.tokens;
        }
        self.tokens.saturating_add(self.tokens_of(chars.saturating_add(HEADINGS_CHARS)))
    }

    fn tokens_of(&self, chars: u64) -> u64 {
        let (tokens, whole) = self.ratio;
        chars.saturating_mul(tokens).div_ceil(whole.max(1))
    }

    fn chars_of(&self, group: usize) -> u64 {
        self.facts.of_group(group).map_or(0, |it| digest::chars(&it.line()))
    }

    /// Takes a step if it gains something.
    fn take(&mut self, step: Step) -> bool {
        let before = self.choices_of(step.unit);
        let is_due = match step.choice {
            Choice::Gone => before.iter().any(|it| *it != Choice::Gone),
            _ => before.iter().all(|it| *it == Choice::Whole),
        };
        if !is_due {
            return false;
        }
        let total = self.total();
        if step.choice == Choice::Gone {
            self.set_unit(step.unit, |_| Choice::Gone);
        } else {
            self.set_unit(
                step.unit,
                |has_part| {
                    if has_part { Choice::Part } else { Choice::Whole }
                },
            );
        }
        if self.total() >= total {
            self.set_back(step.unit, &before);
            return false;
        }
        true
    }

    fn choices_of(&self, unit: usize) -> Vec<Choice> {
        let members = self.members.get(unit).map(Vec::as_slice).unwrap_or_default();
        members.iter().map(|it| self.choice(*it)).collect()
    }

    fn set_back(&mut self, unit: usize, choices: &[Choice]) {
        let members = self.members.get(unit).cloned().unwrap_or_default();
        for (member, choice) in members.into_iter().zip(choices) {
            self.set(member, *choice);
        }
    }

    /// Sets each item of a unit to what `choose` returns for whether it has a part.
    fn set_unit(&mut self, unit: usize, choose: impl Fn(bool) -> Choice) {
        for member in self.members.get(unit).cloned().unwrap_or_default() {
            let has_part = self.parts.get(member).is_some_and(Option::is_some);
            self.set(member, choose(has_part));
        }
    }

    /// Changes what is chosen for an item.
    pub(super) fn set(&mut self, item: usize, choice: Choice) {
        self.add(item, false);
        if let Some(it) = self.choices.get_mut(item) {
            *it = choice;
        }
        self.add(item, true);
    }

    /// Adds the item to the sums by its present choice, or subtracts it.
    pub(super) fn add(&mut self, item: usize, is_added: bool) {
        let choice = self.choice(item);
        let part = self.parts.get(item).and_then(Option::as_ref);
        let label = self.labels.get(item).and_then(Option::as_ref);
        let tokens = match (choice, label) {
            (Choice::Whole, Some(it)) => it.tokens,
            (Choice::Whole, None) => self.items.get(item).map_or(Tokens(0), |it| it.tokens),
            (Choice::Part, _) => part.map_or(Tokens(0), |it| it.tokens),
            (Choice::Gone, _) => Tokens(0),
        };
        let tokens = u64::from(tokens.0);
        self.tokens = if is_added {
            self.tokens.saturating_add(tokens)
        } else {
            self.tokens.saturating_sub(tokens)
        };
        for fact in self.facts.of(item) {
            let part = self.parts.get(item).and_then(Option::as_ref);
            let is_in = match choice {
                Choice::Whole => true,
                Choice::Part => part.is_some_and(|it| it.text.contains(fact.text)),
                Choice::Gone => false,
            };
            if !is_in {
                continue;
            }
            let before = self.lines_of(fact.group);
            if let Some(it) = self.holders.get_mut(fact.group) {
                *it = if is_added { it.saturating_add(1) } else { it.saturating_sub(1) };
            }
            let more = self.lines_of(fact.group);
            self.chars = self.chars.saturating_add(more).saturating_sub(before);
        }
    }

    /// Returns what remains of an item as a part, with its tokens estimated.
    pub(super) fn part_of(&self, text: String) -> Part {
        let chars = u64::from(approximate(&text).0).saturating_mul(4);
        let tokens = u32::try_from(self.tokens_of(chars)).unwrap_or(u32::MAX);
        Part { text, tokens: Tokens(tokens), is_counted: false }
    }
}
