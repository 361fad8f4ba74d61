//! Trims a packet until it is within its budget: the least important first (spec 18.2).
//!
//! The order: the history is shortened, then cut down to its share; the codebase to its share; the
//! goal is cut to a sentence; the lightest statements of a conversation go; decisions are shortened,
//! then cut down to their share; then all of the history, of the codebase and of the decisions, the
//! older first; criteria of success; constraints; at last the goal, of which the task remains.
//!
//! # Invariant
//!
//! A candidate is shown in full, shorter, or not at all. Those that are not shown are counted.

use super::{
    gather::Gathered,
    kinds::{Layer, Part},
    material::{SENTENCE_CHARS_MAX, first_sentence, shortened},
    statement::{BINDING, PASSING, Statement},
};
use crate::{Error, count::widen, order::sorted, tokens::Tokens};

/// The longest tag, in characters.
const TAG_CHARS_MAX: usize = 24;
/// Statements from this weight on are shortened before they are left out.
const HEAVY: u8 = 5;
/// The cost of the title of a part.
const TITLE_TOKENS: u32 = 4;
/// From this budget on, the packet describes its omissions as text.
const WORDS_FROM: Tokens = Tokens(200);

/// The extent to which a statement is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detail {
    /// Nothing.
    None,
    /// A word or two.
    Tag,
    /// One sentence of at most 120 characters.
    Sentence,
    /// Everything.
    Full,
}

/// A candidate that may be shown.
#[derive(Debug, Clone)]
struct Choice {
    /// Its place among the candidates.
    place: usize,
    part: Part,
    weight: u8,
    /// Its age: 0 for the newest third, 2 for the oldest.
    third: u8,
    /// Its cost at each detail, from none to all.
    costs: [u32; 4],
    detail: Detail,
}

/// The details at which the candidates are shown.
#[derive(Debug, Clone)]
pub(super) struct Trimmed {
    /// The candidates that may be shown, in the order of the candidates.
    choices: Vec<Choice>,
    /// True if omissions are described as text.
    pub(super) in_words: bool,
}

impl Trimmed {
    /// Begins with everything that belongs to `layers` and has no reason to be left out. `cost`
    /// counts what a text costs.
    pub(super) fn new(
        gathered: &Gathered,
        layers: &[Layer],
        budget: Tokens,
        cost: &dyn Fn(&Statement, &str) -> Result<Tokens, Error>,
    ) -> Result<Self, Error> {
        let mut choices: Vec<Choice> = Vec::new();
        // What cannot fit beside what is before it is not measured.
        let mut left = [u64::from(budget.0).saturating_mul(2); Part::ALL.len()];
        for (place, it) in gathered.statements.iter().enumerate() {
            let is_free = gathered.reasons.get(place).is_some_and(Option::is_none);
            if !is_free || !layers.contains(&it.part.layer()) {
                continue;
            }
            let part = Part::ALL.iter().position(|part| *part == it.part).unwrap_or_default();
            let Some(left) = left.get_mut(part).filter(|it| **it > 0) else { continue };
            let full = cost(it, &it.text)?.0;
            let (mut sentence, mut tag) = (full, full);
            if it.part.layer() != Layer::Codebase && it.part != Part::Constraint {
                let bare = Statement { detail: None, ..it.clone() };
                sentence = cost(&bare, shown(it, Detail::Sentence))?.0.min(full);
                tag = cost(&bare, shown(it, Detail::Tag))?.0.min(sentence);
            }
            let costs = [0, tag, sentence, full];
            *left = left.saturating_sub(tag.max(1).into());
            choices.push(Choice {
                place,
                part: it.part,
                weight: if it.is_weak { it.weight.min(PASSING) } else { it.weight },
                third: 0,
                costs,
                detail: Detail::Full,
            });
        }
        let mut trimmed = Self { choices, in_words: budget >= WORDS_FROM };
        trimmed.age(gathered, Layer::Decisions);
        trimmed.age(gathered, Layer::History);
        Ok(trimmed)
    }

    /// Divides the statements of a layer into thirds by their age.
    fn age(&mut self, gathered: &Gathered, layer: Layer) {
        let of_layer: Vec<usize> = (0..self.choices.len())
            .filter(|it| self.choices.get(*it).is_some_and(|it| it.part.layer() == layer))
            .collect();
        let rank = |it: &usize| {
            let place = self.choices.get(*it).map(|it| it.place);
            place.and_then(|it| gathered.statements.get(it)).map_or(0, |it| it.rank)
        };
        let newest_first = sorted(of_layer, |a, b| rank(b).cmp(&rank(a)));
        let count = newest_first.len();
        for (nth, place) in newest_first.into_iter().enumerate() {
            let third = nth.saturating_mul(3).checked_div(count).unwrap_or_default();
            if let Some(it) = self.choices.get_mut(place) {
                it.third = u8::try_from(third).unwrap_or(2);
            }
        }
    }

    /// Returns the same choices, none of which is shown.
    pub(super) fn emptied(&self) -> Self {
        let mut empty = self.clone();
        empty.choices.iter_mut().for_each(|it| it.detail = Detail::None);
        empty
    }

    /// Returns the least that can be shown.
    pub(super) fn least(&self) -> Self {
        Self { in_words: false, ..self.emptied() }
    }

    /// Returns how much of a candidate is shown.
    pub(super) fn detail(&self, place: usize) -> Detail {
        let found = self.choices.binary_search_by(|it| it.place.cmp(&place)).ok();
        found.and_then(|it| self.choices.get(it)).map_or(Detail::None, |it| it.detail)
    }

    /// Returns true if nothing is shown that may be left out.
    pub(super) fn is_least(&self) -> bool {
        !self.in_words && self.choices.iter().all(|it| it.detail == Detail::None)
    }

    /// Shows all in full, then less of it until the costs and `fixed` are within `goal`.
    pub(super) fn fit(&mut self, layers: &[Layer], goal: Tokens, fixed: Tokens) {
        self.choices.iter_mut().for_each(|it| it.detail = Detail::Full);
        let share = |layer: Layer| share(layers, layer, goal);
        let first = [
            (Layer::History, Step::Age),
            (Layer::History, Step::DropTo(share(Layer::History))),
            (Layer::Codebase, Step::DropTo(share(Layer::Codebase))),
            (Layer::Goal, Step::Shorten),
        ];
        let lightest = (0..HEAVY).flat_map(|weight| {
            [Layer::Decisions, Layer::Goal].map(|it| (it, Step::DropLight(weight)))
        });
        let then = [
            (Layer::Decisions, Step::Age),
            (Layer::Decisions, Step::DropTo(share(Layer::Decisions))),
            (Layer::History, Step::DropTo(0)),
            (Layer::Codebase, Step::DropTo(0)),
            (Layer::Decisions, Step::DropTo(0)),
            (Layer::Goal, Step::Drop(Part::SuccessCriterion)),
            (Layer::Goal, Step::Drop(Part::Constraint)),
            (Layer::Goal, Step::Drop(Part::Goal)),
        ];
        let steps = first.into_iter().chain(lightest).chain(then);
        for (layer, step) in steps {
            let over = self.total(fixed).saturating_sub(goal.0.into());
            if over == 0 {
                return;
            }
            self.step(layer, step, over);
        }
    }

    /// Returns what everything that is shown costs, with the titles of its parts.
    fn total(&self, fixed: Tokens) -> u64 {
        let shown = || self.choices.iter().filter(|it| it.detail > Detail::None);
        let parts = Part::ALL.iter().filter(|part| shown().any(|it| it.part == **part)).count();
        let titles = u64::try_from(parts).unwrap_or_default().saturating_mul(TITLE_TOKENS.into());
        shown()
            .map(|it| u64::from(it.cost()))
            .sum::<u64>()
            .saturating_add(fixed.0.into())
            .saturating_add(titles)
    }

    /// Takes a step, as far as `over` tokens are to be saved.
    fn step(&mut self, layer: Layer, step: Step, over: u64) {
        let mut saved: u64 = 0;
        let mut cost: u64 = self
            .choices
            .iter()
            .filter(|it| it.part.layer() == layer)
            .map(|it| u64::from(it.cost()))
            .sum();
        // Of the parts of a layer the last goes first; of a part the least important.
        let of_layer = self.choices.iter_mut().rev().filter(|it| it.part.layer() == layer);
        let places: Vec<&mut Choice> = of_layer.collect();
        for it in places {
            if saved >= over {
                return;
            }
            let before = it.cost();
            match step {
                Step::Age => it.shorten(match it.third {
                    0 => Detail::Full,
                    1 => Detail::Sentence,
                    _ => Detail::Tag,
                }),
                Step::Shorten if it.part == Part::Goal => it.shorten(Detail::Sentence),
                Step::DropLight(weight) if it.weight <= weight && it.part != Part::Goal => {
                    it.shorten(Detail::None);
                }
                Step::DropTo(share) if cost > u64::from(share) => it.shorten(Detail::None),
                Step::Drop(part) if it.part == part => it.shorten(Detail::None),
                _ => {}
            }
            let less = u64::from(before.saturating_sub(it.cost()));
            saved = saved.saturating_add(less);
            cost = cost.saturating_sub(less);
        }
    }

    /// Shows more, as long as `left` tokens suffice: the most important first. Returns true if it
    /// found something.
    pub(super) fn refill(&mut self, left: Tokens) -> bool {
        let mut left = left.0;
        let mut has_found = false;
        let is_shown = |it: &&Choice| it.detail > Detail::None;
        let mut shown: Vec<Part> = self.choices.iter().filter(is_shown).map(|it| it.part).collect();
        for place in self.by_importance() {
            let Some(it) = self.choices.get_mut(place) else { continue };
            for detail in [Detail::Full, Detail::Sentence] {
                let title = if shown.contains(&it.part) { 0 } else { TITLE_TOKENS };
                let more = it.cost_at(detail).saturating_sub(it.cost()).saturating_add(title);
                if it.detail < detail && more <= left {
                    left = left.saturating_sub(more);
                    it.detail = detail;
                    shown.push(it.part);
                    has_found = true;
                }
            }
        }
        has_found
    }

    /// Shows one of the candidates that are not shown: the `nth` most important one. Returns false if
    /// there are fewer.
    pub(super) fn show_next(&mut self, nth: usize) -> bool {
        let places = self.by_importance().into_iter();
        let is_hidden =
            |it: &usize| self.choices.get(*it).is_some_and(|it| it.detail == Detail::None);
        let hidden = places.filter(is_hidden).nth(nth);
        let found = hidden.and_then(|it| self.choices.get_mut(it));
        found.map(|it| it.detail = Detail::Full).is_some()
    }

    /// Returns the places of the choices, those that bind most first, then by part.
    fn by_importance(&self) -> Vec<usize> {
        let key = |place: &usize| {
            let it = self.choices.get(*place)?;
            Some((
                BINDING.saturating_sub(it.weight),
                REFILL.iter().position(|part| *part == it.part),
            ))
        };
        sorted((0..self.choices.len()).collect(), |a, b| key(a).cmp(&key(b)))
    }
}

/// The order in which parts are shown again.
const REFILL: [Part; 11] = [
    Part::Constraint,
    Part::Goal,
    Part::SuccessCriterion,
    Part::Decision,
    Part::Pattern,
    Part::AntiPattern,
    Part::File,
    Part::Example,
    Part::FailedAttempt,
    Part::OpenQuestion,
    Part::Pivot,
];

/// A step of trimming.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Shorten each as its age allows.
    Age,
    /// Shorten the goal to one sentence.
    Shorten,
    /// Leave out statements of at most this weight.
    DropLight(u8),
    /// Leave out statements while the layer costs more.
    DropTo(u32),
    /// Leave out statements of a part.
    Drop(Part),
}

impl Choice {
    fn cost(&self) -> u32 {
        self.cost_at(self.detail)
    }

    fn cost_at(&self, detail: Detail) -> u32 {
        let [none, tag, sentence, full] = self.costs;
        match detail {
            Detail::None => none,
            Detail::Tag => tag,
            Detail::Sentence => sentence,
            Detail::Full => full,
        }
    }

    fn shorten(&mut self, detail: Detail) {
        self.detail = self.detail.min(detail);
    }
}

/// Returns the share of a layer in a short budget: as its least size is to those of all layers.
fn share(layers: &[Layer], layer: Layer, budget: Tokens) -> u32 {
    let least = |it: &Layer| u64::from(it.target().0.0);
    let all: u64 = layers.iter().map(least).sum();
    let share = u64::from(budget.0).saturating_mul(least(&layer)).checked_div(all);
    share.and_then(|it| u32::try_from(it).ok()).unwrap_or_default()
}

/// Returns what is shown of a statement's text.
pub(super) fn shown(it: &Statement, detail: Detail) -> &str {
    match detail {
        Detail::None => "",
        Detail::Tag => tag(&it.text),
        Detail::Sentence => it.text.split_once("? — ").map_or_else(
            || first_sentence(&it.text),
            // A question says nothing without its answer.
            |(_, answer)| {
                let is_short = it.text.chars().nth(widen(SENTENCE_CHARS_MAX)).is_none();
                if is_short { it.text.as_str() } else { first_sentence(answer) }
            },
        ),
        Detail::Full => &it.text,
    }
}

/// Returns the most specific word: the first name or number, else the longest word.
fn tag(text: &str) -> &str {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':');
    let words = text
        .split(|c: char| !is_inner(c))
        .map(|it| it.trim_matches(|c: char| !c.is_alphanumeric()));
    let words: Vec<&str> = words.filter(|it| !it.is_empty()).collect();
    let is_name = |it: &&&str| {
        it.contains(|c: char| c.is_ascii_digit()) || it.chars().skip(1).any(char::is_uppercase)
    };
    let longest = || {
        let longest =
            words.iter().fold("", |best, it| if it.len() > best.len() { it } else { best });
        Some(longest).filter(|it| !it.is_empty())
    };
    let found = words.iter().find(is_name).copied().or_else(longest).unwrap_or(text);
    shortened(found, TAG_CHARS_MAX)
}
