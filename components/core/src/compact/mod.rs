//! Compaction: makes a conversation fit by shortening it in its own words, and reports what was
//! lost (spec 17.2).
//!
//! `facts` collects the facts that must not be lost. `score` rates each item (`weigh` its parts),
//! `duplicate` finds repetitions, `condense` shortens an item, `label` counts its repetitions,
//! `prepare` and `select` choose until the target is reached, `validate` checks that no fact of
//! score 100 was lost, `describe` reports the outcome of each item. `summary` compares a paraphrased
//! summary with the facts, `statement` and `relation` a sentence with one.
//!
//! # Invariants
//!
//! - The result is never over the target; if it cannot be reached, nothing is removed at all.
//! - Every fact of score 100 is in the result, byte for byte. Nothing is paraphrased.
//! - Items of a unit (a tool call and its result) stay or go together.
//! - A compaction of its own result to the same target changes nothing.

mod answer;
mod condense;
mod describe;
mod duplicate;
mod facts;
mod label;
mod needs;
mod prepare;
mod relation;
mod request;
mod score;
mod select;
mod statement;
mod summary;
mod validate;
mod weigh;
mod widen;

pub use request::{
    AIM_TOKENS_MAX, Aim, Command, CompactItems, Compaction, Coverage, DIGEST_HEADING, Digest,
    DigestLine, ExtractFacts, Fate, Finding, Flag, Loss, Outcome, Remainder, Reply, Request,
    SUMMARY_BYTES_MAX, ScoreParts, Scored, Section, Snapshot, SummaryRequest, TARGET_PERCENT,
    TURNS_MAX, Weighting,
};
pub use summary::{Repair, SummaryCheck, Verdict, VerdictKind, check_summary, repair};
pub(crate) use widen::points_back;

use crate::{
    Error,
    extract::{digest, extract_all},
    item::units,
    tokens::Tokens,
};
use facts::Facts;
use score::judge;
use select::Selection;

/// The most corrections of a selection before everything that may go is removed.
const ATTEMPTS: u32 = 6;
/// This part of the target, a fiftieth, is for facts below 100 of items that go.
const FACTS_SHARE: u64 = 50;

/// Compacts a conversation. `count` counts a text; the tokens of items are trusted.
///
/// # Errors
///
/// Those of `count`.
pub fn compact(
    request: &Request<'_>,
    count: &dyn Fn(&str) -> Result<Tokens, Error>,
) -> Result<Outcome, Error> {
    let items = request.items;
    let before: u64 = items.iter().map(|it| u64::from(it.tokens.0)).sum();
    let target = target(request.aim, before);
    let extraction = extract_all(items);
    let facts = Facts::new(items, &extraction);
    let units = units::units(items);
    let judged = judge(request, &facts, &units);
    let mut chosen = Selection::new(items, &facts, &judged, &units);
    let mut document = None;
    let mut digest_tokens = Tokens(0);
    if before > target {
        chosen.merge_digests();
        let mut goal = target;
        for attempt in 0..=ATTEMPTS {
            if attempt == ATTEMPTS {
                goal = 0;
            }
            chosen.drop_optional();
            chosen.reduce(goal);
            chosen.drop_needy();
            if attempt < 2 {
                // Room for other facts of what went. What they do not need is given back.
                chosen.reduce(goal.saturating_sub(goal / FACTS_SHARE));
                chosen.add_optional(goal);
                chosen.restore(goal);
                chosen.drop_needy();
            }
            document = chosen.document();
            let text = document.as_deref().unwrap_or_default();
            digest_tokens = if text.is_empty() { Tokens(0) } else { count(text)? };
            let total = chosen.counted(count)?.saturating_add(digest_tokens.0.into());
            let lost = lost(&facts, &chosen, text);
            if total <= target && lost.is_empty() {
                break;
            }
            if attempt == ATTEMPTS {
                let needed = Tokens(u32::try_from(total).unwrap_or(u32::MAX));
                return Ok(Outcome::Unreachable { target: narrowed(target), needed });
            }
            // What is not in the result byte for byte stays where it is.
            for item in lost {
                chosen.pin(item);
            }
            goal = goal.saturating_sub(total.saturating_sub(target));
        }
    }
    let document = document.map(|text| (text, digest_tokens));
    let result = describe::describe(items, &facts, &judged, &chosen, document, (before, target));
    Ok(Outcome::Compacted(Box::new(result)))
}

/// Returns the target, in tokens.
fn target(aim: Aim, before: u64) -> u64 {
    let share = |whole: u64, percent: u32| whole.saturating_mul(percent.into()) / 100;
    match aim {
        Aim::Window(it) => share(it.0.into(), TARGET_PERCENT),
        Aim::Tokens(it) => it.0.into(),
        Aim::Reduction(it) => share(before, 100_u32.saturating_sub(it.into())),
    }
}

fn narrowed(tokens: u64) -> Tokens {
    Tokens(u32::try_from(tokens).unwrap_or(u32::MAX))
}

/// Returns the items with a fact of 100 whose text the result does not have.
fn lost(facts: &Facts<'_>, chosen: &Selection<'_>, document: &str) -> Vec<usize> {
    let proofs = validate::proofs(facts, chosen, document);
    let missing = proofs.iter().enumerate().filter(|(_, is_there)| !**is_there);
    let missing = missing.filter(|(group, _)| chosen.is_needed(*group));
    missing.filter_map(|(group, _)| facts.of_group(group)).map(|it| it.item).collect()
}
