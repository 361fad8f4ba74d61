//! Assembly: chooses the candidates that an agent is shown, and orders them (spec 16.10 to 16.13).
//!
//! `screen` leaves out candidates that cannot be shown, `rank` orders the rest, `select` enforces
//! the budget, `blocks` writes the text, and `document` writes the envelope.
//!
//! # Invariants
//!
//! - An assembly never exceeds its budget, and has no item that its target may not see.
//! - Every candidate is either selected or omitted with a reason, once.
//! - The same request at the same time gives the same bytes.

mod blocks;
mod document;
mod rank;
mod screen;
mod select;

use std::collections::BTreeSet;

use super::{
    kinds::{Place, Purpose},
    plan::WindowPlan,
    segment::Segment,
};
use crate::{
    Error,
    budget::{Budget, Limit, Omission, Overrun, Reason, Size},
    closed_list::closed_list,
    item::{self, Item, Kind, ListedKind, TASK_BYTES_MAX, Target},
    text::Score,
    time::Timestamp,
    tokens::Tokens,
};

pub use blocks::Block;
pub use document::{ENVELOPE_FORMAT, Heading};
pub(crate) use document::{is_object, write_item};
pub use rank::Ranking;

/// The budget when none is given (spec 16.10).
pub const BUDGET_TOKENS_DEFAULT: Tokens = Tokens(50_000);

closed_list! {
    /// The order in which candidates are taken.
    RankBy "rank_by" {
        Both "both": "The way of loading that the score asks for, then relevance.";
        Score "score": "The score alone; what it does not preload is left out.";
        Relevance "relevance": "The relevance to the task alone.";
    }
}

closed_list! {
    /// The format of an assembled text.
    Format "format" {
        Markdown "markdown": "Markdown with a heading for each item.";
        Text "text": "Plain text with a line above each item.";
        RelevantContext "relevant_context": "Text between `<relevant_context>` tags, then the task.";
    }
}

/// The rules of an assembly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// The limits of the assembly.
    pub budget: Budget,
    /// The target that will see it.
    pub target: Target,
    /// The place where it will be shown.
    pub place: Place,
    /// Its purpose.
    pub purpose: Purpose,
    /// The order in which candidates are taken.
    pub rank_by: RankBy,
    /// The least relevance of an item that is not pinned.
    pub relevance_min: Score,
    /// The format of the text.
    pub format: Format,
    /// The ids of items that are always shown.
    pub pinned: BTreeSet<String>,
    /// The ids of items that the agent no longer needs.
    pub pruned: BTreeSet<String>,
    /// The plan of the window, and the tokens used in it. Without one, only the size of an item
    /// decides how it is loaded.
    pub window: Option<(WindowPlan, Tokens)>,
}

impl Default for Rules {
    /// Returns the rules of a request that sets none.
    fn default() -> Self {
        Self {
            budget: Budget::of(BUDGET_TOKENS_DEFAULT),
            target: Target::Model,
            place: Place::MessageHistory,
            purpose: Purpose::Task,
            rank_by: RankBy::Both,
            relevance_min: Score(0),
            format: Format::Markdown,
            pinned: BTreeSet::new(),
            pruned: BTreeSet::new(),
            window: None,
        }
    }
}

/// The input of an assembly: a task, the candidates, and the rules.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The task or question; may be empty.
    pub task: &'a str,
    /// The candidates, which [`check`] accepted.
    pub items: &'a [Item],
    /// The rules.
    pub rules: &'a Rules,
    /// The previous assembly; [`Previous::default`] without one.
    pub previous: &'a Previous,
    /// The current time.
    pub now: Timestamp,
}

/// The facts of an earlier assembly that the next one uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Previous {
    /// Its text before the blocks.
    pub open: String,
    /// Its blocks, in the order of the text.
    pub blocks: Vec<PreviousBlock>,
    /// The ids of the candidates that did not fit.
    pub passed_over: BTreeSet<String>,
    /// The tokens of its budget without the reserve.
    pub usable: Tokens,
}

/// A block of an earlier assembly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviousBlock {
    /// The id of its item; `None` for the task.
    pub item: Option<String>,
    /// The digest of its text.
    pub digest: String,
}

/// The fate of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its score and relevance, and how it is loaded; `None` if it was left out before.
    pub ranking: Option<Ranking>,
    /// Its place among the candidates that were taken in order, from 1; `None` if it was left out
    /// before.
    pub rank: Option<u32>,
    /// The reason why it was left out; `None` if it was selected.
    pub omission: Option<Omission>,
}

/// An assembly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembly {
    /// The outcome of every candidate, in the order of the request.
    pub candidates: Vec<Candidate>,
    /// The selected items and the task, in the order of the text.
    pub blocks: Vec<Block>,
    /// The text: `open`, the blocks, `close`.
    pub text: String,
    /// The text before the blocks.
    pub open: String,
    /// The text after the blocks.
    pub close: String,
    /// The part of the budget that was used. The task and the frame count as tokens and bytes.
    pub used: Size,
    /// The tokens of the blocks at the beginning that are the same as in the previous assembly.
    pub reused_prefix: Tokens,
    /// True if what was selected before was reconsidered, because something important did not fit
    /// beside it.
    pub is_replanned: bool,
}

/// Validates the task, the items and the rules of a request.
///
/// # Errors
///
/// [`Error::Malformed`] for the first of: a task over its limit, more than 2,000 items or an
/// invalid one, texts over their limit together, a budget out of range, an id in `pinned` or
/// `pruned` that no item has or that is in both.
pub fn check(task: &str, items: &[Item], rules: &Rules) -> Result<(), Error> {
    check_task(task)?;
    item::check_all(items)?;
    item::check_bytes(items, "send references for the largest")?;
    rules.budget.check()
}

/// Validates the size of a task.
///
/// # Errors
///
/// [`Error::Malformed`].
pub fn check_task(task: &str) -> Result<(), Error> {
    if task.len() <= TASK_BYTES_MAX {
        return Ok(());
    }
    Err(Error::malformed(format!(
        "task has {} bytes, at most {TASK_BYTES_MAX} fit; state the task, and send the rest as items",
        task.len()
    )))
}

/// Validates the ids in `pinned` and `pruned`. The ids of entries are known only once they are
/// loaded.
///
/// # Errors
///
/// [`Error::Malformed`] for the first id that no item has, or that is in both lists.
pub fn check_ids(items: &[Item], rules: &Rules) -> Result<(), Error> {
    if rules.pinned.is_empty() && rules.pruned.is_empty() {
        return Ok(());
    }
    let known: BTreeSet<&str> = crate::order::set(items.iter().map(|it| it.id.as_str()));
    let shown = |id: &str| -> String { id.chars().take(80).collect() };
    for (member, ids) in [("pinned", &rules.pinned), ("pruned", &rules.pruned)] {
        if let Some(id) = ids.iter().find(|it| !known.contains(it.as_str())) {
            return Err(Error::malformed(format!(
                "{member} has {:?}, which is the id of no item; take it out, or send the item",
                shown(id)
            )));
        }
    }
    match rules.pinned.intersection(&rules.pruned).next() {
        Some(id) => Err(Error::malformed(format!(
            "{:?} is both pinned and pruned; name it once",
            shown(id)
        ))),
        None => Ok(()),
    }
}

/// Assembles the request. `count` counts the tokens of a text.
///
/// # Errors
///
/// Errors of `count`; [`Error::BudgetTooSmall`] if the task and the items that are always shown do
/// not fit.
pub fn assemble(
    request: &Request<'_>,
    count: &dyn Fn(&str) -> Result<Tokens, Error>,
) -> Result<Assembly, Error> {
    let Request { items, rules, .. } = *request;
    let units = item::units::units(items);
    let fixed = fixed(items, rules, &units);
    let mut omissions = screen::screen(request, &units, &fixed);
    let mut rankings = rank::rank(request, &fixed, &mut omissions);
    screen::spread(items, &units, &mut omissions);
    let frame = blocks::Frame::new(request);
    let mut sizes = Vec::with_capacity(items.len());
    for (item, omission) in items.iter().zip(&omissions) {
        // A copy is shown if what it repeats does not fit.
        let can_be_shown =
            omission.as_ref().is_none_or(|it: &Omission| it.reason == Reason::DuplicateOf);
        sizes.push(if can_be_shown { frame.size(item, count)? } else { Size::default() });
    }
    let mut selection = select::Selection {
        request,
        units: &units,
        fixed: &fixed,
        sizes: &sizes,
        rankings: &mut rankings,
        overhead: frame.overhead(count)?,
    };
    let selected = selection.select(&mut omissions)?;
    rank::rank_copies(request, &selected.copies, &mut rankings);
    let written = frame.write(&selected.order, &sizes, count)?;
    let reused_prefix = written.reused(request.previous);
    let candidates = omissions.into_iter().zip(rankings).zip(selected.ranks);
    Ok(Assembly {
        candidates: candidates
            .map(|((omission, ranking), rank)| Candidate { ranking, rank, omission })
            .collect(),
        blocks: written.blocks,
        text: written.text,
        open: written.open,
        close: written.close,
        used: selected.used,
        reused_prefix,
        is_replanned: selected.is_replanned,
    })
}

/// Returns the places of `items` in the order in which an assembly for `task` takes them. Those that
/// it would leave out come last.
pub(crate) fn order(task: &str, items: &[Item], now: Timestamp) -> Vec<usize> {
    let (rules, previous) = (&Rules::default(), &Previous::default());
    let request = Request { task, items, rules, previous, now };
    let mut omissions = vec![None; items.len()];
    let fixed = fixed(items, rules, &item::units::units(items));
    let rankings = rank::rank(&request, &fixed, &mut omissions);
    let is_left = |place: &usize| omissions.get(*place).is_some_and(Option::is_none);
    let (left, omitted): (Vec<_>, Vec<_>) = (0..items.len()).partition(is_left);
    let in_order = |places| rank::in_order(rules.rank_by, items, &rankings, places);
    [in_order(left), in_order(omitted)].concat()
}

/// Returns which items are always shown: instructions and policies, pinned items, the last message
/// of the user, and what is in a unit with one of them.
fn fixed(items: &[Item], rules: &Rules, units: &[usize]) -> Vec<bool> {
    let is_message = |it: &Item| it.kind == Kind::Listed(ListedKind::UserMessage);
    let last = items.iter().rposition(is_message);
    let is_fixed = |(place, it): (usize, &Item)| {
        Segment::of(&it.kind) == Segment::System
            || Some(place) == last
            || rules.pinned.contains(&it.id)
    };
    let fixed = items.iter().enumerate().filter(|it| is_fixed(*it));
    let fixed: BTreeSet<usize> =
        crate::order::set(fixed.filter_map(|(place, _)| units.get(place).copied()));
    units.iter().map(|unit| fixed.contains(unit)).collect()
}

/// Creates the error for fixed items that do not fit.
fn too_small(overrun: &Overrun, needed: Size, budget: &Budget) -> Error {
    let needed = match overrun.limit {
        Limit::Tokens => needed.tokens.plus(budget.reserved).0.into(),
        Limit::Bytes => needed.bytes,
        Limit::Items => needed.items.into(),
    };
    let over = overrun.needs.saturating_sub(overrun.left);
    Error::BudgetTooSmall { limit: overrun.limit.as_str(), needed, over }
}
