//! Scores the importance of each item: 100 is always kept, 31 to 99 rather, 0 to 30 not (decision
//! 37).

use super::{
    condense::{self, Noise, is_output},
    digest,
    duplicate::{Duplicate, duplicates},
    facts::{Fact, Facts},
    needs::needs,
    request::{Fate, Request, Scored},
    weigh,
};
use crate::{
    item::{Authority, Item, Kind, ListedKind},
    text::ends_as_question,
};

/// The score of what is never removed.
const ALWAYS: u8 = 100;
/// The score of an item that repeats a later one.
const REPETITION: u8 = 5;
/// The score of an earlier version of a file.
const EARLIER_VERSION: u8 = 8;
/// The score of an item with nothing but replaced facts: to keep it would show a stale value.
const SUPERSEDED: u8 = 15;
/// The share of its text that must be replaced, in percent.
const SUPERSEDED_PERCENT: usize = 70;
/// The number of items at the end that are never noise: they may still be needed whole.
const RECENT: usize = 2;
/// An answer with at most this many words is understood only with its question.
const SHORT_ANSWER_WORDS: usize = 12;

/// The facts about an item that a selection is based on.
#[derive(Debug)]
pub(super) struct Judgement {
    /// The score and its reason.
    pub(super) scored: Scored,
    /// The reason why it is of little use.
    pub(super) noise: Option<Noise>,
    /// The reason why it is superfluous.
    pub(super) duplicate: Option<Duplicate>,
    /// True if it is the call of a tool, which has the score of its result.
    pub(super) is_call: bool,
    /// The place of the item without which it misleads.
    pub(super) need: Option<usize>,
}

/// Scores all items. `units` are the first items of their units.
pub(super) fn judge(request: &Request<'_>, facts: &Facts<'_>, units: &[usize]) -> Vec<Judgement> {
    let items = request.items;
    let duplicates = duplicates(items);
    let is_from_user = |it: &Item| it.kind == Kind::Listed(ListedKind::UserMessage);
    let has_user = |it: &Item| it.source.authority == Authority::User;
    let last_user = items.iter().rposition(is_from_user);
    let last_user = last_user.or_else(|| items.iter().rposition(has_user));
    let goal = items.iter().find(|it| is_from_user(it)).and_then(Item::text);
    let task = if request.task.trim().is_empty() { goal.unwrap_or_default() } else { request.task };
    let parts = weigh::parts(request, task);
    let bonus = weigh::user_bonus(items);
    let mut before = "";
    let mut found: Vec<Judgement> = Vec::with_capacity(items.len());
    let rows = items.iter().enumerate().zip(parts).zip(duplicates);
    for (((place, item), parts), duplicate) in rows {
        let always = always(item, last_user == Some(place));
        let is_recent = place.saturating_add(RECENT) >= items.len();
        let of_item = facts.of(place);
        let noise =
            if always.is_some() { None } else { condense::noise(item, of_item, before, is_recent) };
        let is_answer = ends_as_question(before) && is_short(item);
        // `Yes.` to one question is no repetition of `Yes.` to another.
        let is_said_again = always.is_none() && (!is_answer || is_output(item));
        let duplicate = duplicate.filter(|_| is_said_again);
        let decided = always.map(|rule| (ALWAYS, rule));
        let decided = decided.or_else(|| duplicate.map(rule_of));
        let decided = decided.or_else(|| noise.map(Noise::score));
        let is_superseded = always.is_none() && is_superseded(item, of_item);
        let decided = decided.or(is_superseded.then_some((SUPERSEDED, "superseded")));
        let weighed = || {
            let bonus = if weigh::is_said_by_user(item) { bonus } else { 0 };
            let score = weigh::score(parts, request.weighting, bonus);
            // A question and its short answer are understood only together.
            let question = found.last_mut().filter(|it| is_answer && it.scored.parts.is_some());
            let together = question.map(|it| {
                it.scored.score = it.scored.score.max(score);
                it.scored.score
            });
            (together.unwrap_or(score), "weighed")
        };
        let (score, rule) = decided.unwrap_or_else(weighed);
        let repeats = duplicate.map(|it| match it {
            Duplicate::Repeats(other) | Duplicate::Earlier(other) => other,
        });
        found.push(Judgement {
            scored: Scored {
                score,
                parts: decided.is_none().then_some(parts),
                rule,
                fate: Fate::Kept,
                repeats,
            },
            noise,
            duplicate,
            is_call: false,
            need: None,
        });
        before = item.text().unwrap_or_default();
    }
    follow_results(items, units, &mut found);
    for (place, need) in needs(items).into_iter().enumerate() {
        let Some(judged) = found.get_mut(place) else { continue };
        judged.need = need;
        let score = judged.scored.parts.map_or(0, |_| judged.scored.score);
        // A correction goes after what it corrects.
        let later = need.filter(|it| *it > place).and_then(|it| found.get_mut(it));
        if let Some(it) = later.filter(|it| it.scored.parts.is_some()) {
            it.scored.score = it.scored.score.max(score);
        }
    }
    found
}

/// Gives the calls of tools the score of their results.
fn follow_results(items: &[Item], units: &[usize], found: &mut [Judgement]) {
    let mut best: Vec<Option<u8>> = vec![None; items.len()];
    let is_result = |it: &Item| is_output(it);
    for ((item, unit), judged) in items.iter().zip(units).zip(found.iter()) {
        if is_result(item)
            && let Some(it) = best.get_mut(*unit)
        {
            *it = (*it).max(Some(judged.scored.score));
        }
    }
    for ((item, unit), judged) in items.iter().zip(units).zip(found.iter_mut()) {
        let of_result = best.get(*unit).copied().flatten();
        if let Some(score) = of_result
            && !is_result(item)
            && judged.scored.parts.is_some()
            && !weigh::is_said_by_user(item)
        {
            judged.is_call = true;
            if score < judged.scored.score {
                judged.scored.score = score;
                judged.scored.rule = "call";
                judged.scored.parts = None;
            }
        }
    }
}

/// Returns the rule that keeps an item always.
fn always(item: &Item, is_last_user: bool) -> Option<&'static str> {
    if is_last_user {
        return Some("last_user_message");
    }
    if is_instruction(item) {
        return Some(match item.kind {
            Kind::Listed(ListedKind::SystemPrompt) => "system_prompt",
            Kind::Listed(ListedKind::PolicyNote) => "policy_note",
            _ => "developer_instruction",
        });
    }
    digest::is_own(item).then_some("own_digest")
}

/// Returns true if the item instructs all others.
pub(super) fn is_instruction(item: &Item) -> bool {
    let kinds =
        [ListedKind::SystemPrompt, ListedKind::PolicyNote, ListedKind::DeveloperInstruction];
    kinds.into_iter().any(|it| item.kind == Kind::Listed(it))
}

fn rule_of(duplicate: Duplicate) -> (u8, &'static str) {
    match duplicate {
        Duplicate::Repeats(_) => (REPETITION, "repetition"),
        Duplicate::Earlier(_) => (EARLIER_VERSION, "earlier_version"),
    }
}

/// Returns true if later facts replaced all facts of an item.
fn is_superseded(item: &Item, facts: &[Fact<'_>]) -> bool {
    let length = item.text().map_or(0, |it| it.trim().len());
    let said: usize = facts.iter().map(|it| it.text.len()).sum();
    !facts.is_empty()
        && facts.iter().all(|it| !it.holds && it.score > 30)
        && said.saturating_mul(100) >= length.saturating_mul(SUPERSEDED_PERCENT)
}

fn is_short(item: &Item) -> bool {
    let words = item.text().unwrap_or_default().split_ascii_whitespace();
    words.take(SHORT_ANSWER_WORDS.saturating_add(1)).count() <= SHORT_ANSWER_WORDS
}
