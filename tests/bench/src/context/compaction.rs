//! Compaction: the evidence that is left without knowing the questions, and its cost.

use std::{collections::BTreeSet, hint::black_box};

use anyhow::{Result, bail};
use shared_context_core::{
    compact::{Aim, Compaction, Outcome, Request, Weighting, compact},
    item::{Authority, Item, Kind, ListedKind},
    tokens::{Tokens, approximate},
};

use super::{locomo::Conversation, reference::float};
use crate::{report::Report, rules::cpu_micros_of};

/// The share of the tokens that is left, in percent.
const LEFT_PERCENT: u32 = 65;
/// Number of measurements per figure; the least counts.
const TIMES: u32 = 10;

/// The roles of the speakers of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speakers {
    BothUsers,
    FirstIsUser,
    SecondIsUser,
}

/// Measures which turns with the answer to a question are left.
pub(super) fn evidence(report: &mut Report, conversations: &[Conversation]) -> Result<()> {
    report.section("Compaction to 65 % of the tokens: evidence turns left (%), no question known");
    let newest = mean(conversations, |it, items| Ok(share(it, &newest(items))))?;
    report.line("the newest turns", format!("{newest:6.1}"));
    for (speakers, name) in [
        (Speakers::BothUsers, "both users"),
        (Speakers::FirstIsUser, "the first a user, the second a model"),
        (Speakers::SecondIsUser, "the second a user, the first a model"),
    ] {
        for (weighting, least) in [(Weighting::Default, 72.0), (Weighting::Dense, 84.0)] {
            let figure = mean(conversations, |it, _| {
                let items = turns(it, speakers);
                let total: u32 = items.iter().map(|it| it.tokens.0).sum();
                let target = Tokens(total * LEFT_PERCENT / 100);
                let found = compacted(&items, Aim::Tokens(target), weighting)?;
                let whole = found.remainders.iter().filter(|it| it.text.is_none());
                Ok(share(it, &whole.map(|it| it.item).collect()))
            })?;
            let name = format!("{} weights, {name}", weighting.as_str());
            let (text, goal) = (format!("{figure:6.1}"), format!("at least {least}"));
            if speakers == Speakers::BothUsers {
                report.goal(&name, text, &goal, figure >= least);
            } else {
                report.line(&name, text);
            }
        }
    }
    Ok(())
}

/// Measures the cost.
pub(super) fn cost(report: &mut Report) -> Result<()> {
    report.section("One compaction (CPU, ms)");
    for (name, items, limit) in [
        ("1,000 turns, 800 KB", made_up(1_000, 800, false), 60.0),
        ("2,000 near-duplicates, 800 KB", made_up(2_000, 400, true), 250.0),
    ] {
        let mut least = f64::INFINITY;
        for _ in 0..TIMES {
            let mut found = None;
            let micros = cpu_micros_of(|| {
                found = Some(black_box(compacted(&items, Aim::Reduction(35), Weighting::Default)));
            });
            if let Some(Err(error)) = found {
                return Err(error);
            }
            least = least.min(micros / 1_000.0);
        }
        report.goal(name, format!("{least:6.2}"), &format!("under {limit}"), least < limit);
    }
    Ok(())
}

fn compacted(items: &[Item], aim: Aim, weighting: Weighting) -> Result<Compaction> {
    let request = Request { items, task: "", aim, weighting };
    match compact(&request, &|text| Ok(approximate(text)))? {
        Outcome::Compacted(it) => Ok(*it),
        Outcome::Unreachable { target, needed } => bail!("needs {needed} of {target}"),
    }
}

/// Returns the mean of a figure over the conversations.
fn mean(
    conversations: &[Conversation],
    figure: impl Fn(&Conversation, &[Item]) -> Result<f64>,
) -> Result<f64> {
    let mut sum = 0.0;
    for conversation in conversations {
        sum += figure(conversation, &turns(conversation, Speakers::BothUsers))?;
    }
    Ok(sum / float(conversations.len()).max(1.0))
}

/// Returns the share of the turns with evidence that are left, in percent.
fn share(conversation: &Conversation, left: &BTreeSet<usize>) -> f64 {
    let evidence: BTreeSet<usize> =
        conversation.questions.iter().flat_map(|it| it.evidence.iter().copied()).collect();
    float(evidence.intersection(left).count()) * 100.0 / float(evidence.len()).max(1.0)
}

/// Returns the newest turns that fit.
fn newest(items: &[Item]) -> BTreeSet<usize> {
    let total: u32 = items.iter().map(|it| it.tokens.0).sum();
    let mut left = total * LEFT_PERCENT / 100;
    let places = items.iter().enumerate().rev();
    let fitting = places.map_while(|(place, item)| {
        left = left.checked_sub(item.tokens.0)?;
        Some(place)
    });
    fitting.collect()
}

fn turns(conversation: &Conversation, speakers: Speakers) -> Vec<Item> {
    let speaker = |said: &str| said.split(':').next().map(str::to_owned);
    let first = conversation.turns.first().and_then(|it| speaker(&it.said));
    let turns = conversation.turns.iter().map(|turn| {
        let is_first = speaker(&turn.said) == first;
        let is_user = match speakers {
            Speakers::BothUsers => true,
            Speakers::FirstIsUser => is_first,
            Speakers::SecondIsUser => !is_first,
        };
        let (kind, authority) = if is_user {
            (ListedKind::UserMessage, Authority::User)
        } else {
            (ListedKind::SessionHistory, Authority::Model)
        };
        let mut item = Item::inline(turn.id.as_str(), Kind::Listed(kind), turn.said.as_str());
        item.source.authority = authority;
        item
    });
    turns.collect()
}

/// Returns a conversation of words that look like those of a project.
fn made_up(turns: usize, bytes: usize, is_alike: bool) -> Vec<Item> {
    const WORDS: [&str; 8] =
        ["pool", "queue", "token", "session", "limit", "index", "commit", "branch"];
    let kinds = [ListedKind::UserMessage, ListedKind::SessionHistory, ListedKind::ToolResult];
    let text = |turn: usize| {
        let mut text = String::new();
        let mut state = u64::try_from(turn).unwrap_or(0) * 7_919 + 13;
        while text.len() < bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let word = usize::try_from(state >> 33).unwrap_or(0) % WORDS.len();
            text.push_str(WORDS.get(word).copied().unwrap_or_default());
            text.push_str(&((state >> 40) % 400).to_string());
            text.push(' ');
        }
        let state =
            if turn.is_multiple_of(10) { "\nDECISION: Use it for part " } else { "\npart " };
        text.push_str(state);
        text
    };
    let item = |turn: usize| {
        let kind = kinds.iter().cycle().nth(turn % kinds.len()).copied();
        let mut text = text(if is_alike { 1 } else { turn });
        text.push_str(&turn.to_string());
        Item::inline(turn.to_string(), Kind::Listed(kind.unwrap_or(ListedKind::Custom)), text)
    };
    (0..turns).map(item).collect()
}
