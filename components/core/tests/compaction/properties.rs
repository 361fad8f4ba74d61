//! Tests properties of every compaction, for any conversation.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*, sample::Index};
use shared_context_core::{
    compact::{Aim, Fate, Flag, Outcome},
    extract::{Position, extract},
    item::{Item, ListedKind},
    tokens::Tokens,
};

use super::{compacted, has, item, outcome, tokens};

/// Statements that have nothing to do with each other.
const STATEMENTS: [&str; 12] = [
    "DECISION: Store sessions in PostgreSQL",
    "DECISION: Deploy with containers\nRationale: one artifact everywhere",
    "Constraint: Never log passwords",
    "DECISION: Write the parser by hand because errors matter",
    "BUG-17 [CRITICAL]: Uploads stop at midnight",
    "DECISION: Charts come from the browser",
    "Constraint: Answers take at most 200 ms",
    "DECISION: Mail leaves through a queue",
    "BUG-4711 [HIGH]: Umlauts break the search",
    "DECISION: Colours follow the theme of the system",
    "Constraint: Keep backups for seven years",
    "DECISION: Rename the billing service to ledger",
];

const KINDS: [ListedKind; 5] = [
    ListedKind::UserMessage,
    ListedKind::SessionHistory,
    ListedKind::ToolResult,
    ListedKind::FileExcerpt,
    ListedKind::ManualNote,
];

/// A turn: its kind, the number of words it has, what it states, and whether it belongs to the turn
/// before.
type Turn = (usize, usize, Option<Index>, bool);

fn turns(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Turn>> {
    let stated = proptest::option::weighted(0.25, any::<Index>());
    vec((0..KINDS.len(), 0_usize..120, stated, proptest::bool::weighted(0.2)), count)
}

fn conversation(turns: &[Turn], round: usize) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    if round == 0 {
        items.push(item("system", ListedKind::SystemPrompt, "You help with a project."));
    }
    for (nth, (kind, words, stated, is_paired)) in turns.iter().enumerate() {
        let word = |it: usize| format!("word{}", it * (nth % 7 + 1));
        let mut text = (0..*words).map(word).collect::<Vec<_>>().join(" ");
        if let Some(stated) = stated {
            text.push('\n');
            let stated: &&str = stated.get(&STATEMENTS);
            text.push_str(stated);
        }
        if text.trim().is_empty() {
            text.push_str("Thanks, great");
        }
        let kind = KINDS.get(*kind).copied().unwrap_or(ListedKind::Custom);
        let mut item = item(&format!("r{round}:{nth}"), kind, text.trim_end());
        if *is_paired && nth > 0 {
            item.pair = items.last().map(|it| it.id.clone()).filter(|it| it != "system");
        }
        items.push(item);
    }
    items
}

/// Returns the texts that no compaction may lose.
fn preserved(items: &[Item]) -> BTreeSet<String> {
    let facts = extract(items, Position::default()).facts;
    let facts = facts.into_iter().filter(|it| it.is_preserved() && it.superseded_by.is_none());
    facts.map(|it| it.text).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_compaction_keeps_what_it_promises(turns in turns(0..30), percent in 1_u32..110) {
        let items = conversation(&turns, 0);
        let target = (tokens(&items) * percent / 100).max(1);
        let aim = Aim::Tokens(Tokens(target));
        let found = outcome(&items, aim);
        prop_assert_eq!(&found, &outcome(&items, aim), "the same input gives the same result");
        let compaction = match found {
            Outcome::Unreachable { target: aimed, needed } => {
                prop_assert!(aimed.0 == target && needed.0 > target);
                return Ok(());
            }
            Outcome::Compacted(it) => it,
        };
        let result = compaction.items(&items);
        prop_assert!(tokens(&result) <= target, "{} of {target}", tokens(&result));
        prop_assert_eq!(tokens(&result), compaction.after.tokens.0);
        for text in preserved(&items) {
            prop_assert!(has(&result, &text), "{text:?} is lost in {result:?}");
        }
        for (item, scored) in items.iter().zip(&compaction.scored) {
            prop_assert!(scored.score < 100 || scored.fate == Fate::Kept);
            let is_gone = |id: &String| {
                let place = items.iter().position(|it| it.id == *id);
                let fate = place.and_then(|it| compaction.scored.get(it)).map(|it| it.fate);
                matches!(fate, Some(Fate::Digested | Fate::Removed))
            };
            if let Some(pair) = &item.pair {
                prop_assert_eq!(is_gone(pair), is_gone(&item.id), "a unit stays or goes");
            }
        }
        prop_assert!(
            compaction.findings.iter().filter(|it| it.check != "saved").all(|it| it.holds)
        );
        let again = compacted(&result, target);
        prop_assert_eq!(again.items(&result), result);
        prop_assert!(again.flags.contains(&Flag::NothingToGain));
    }

    #[test]
    fn five_rounds_lose_nothing(rounds in vec(turns(6..20), 5), percent in 45_u32..80) {
        let mut history = Vec::new();
        let mut result: Vec<Item> = Vec::new();
        for (round, turns) in rounds.iter().enumerate() {
            let more = conversation(turns, round);
            history.extend(more.iter().cloned());
            result.extend(more);
            let aim = Aim::Tokens(Tokens((tokens(&result) * percent / 100).max(1)));
            if let Outcome::Compacted(compaction) = outcome(&result, aim) {
                let digests = result.iter().filter(|it| it.id.starts_with("digest:")).count();
                prop_assert!(digests <= 1);
                result = compaction.items(&result);
            }
            for text in preserved(&history) {
                prop_assert!(has(&result, &text), "round {round} lost {text:?}: {result:?}");
            }
        }
    }
}
