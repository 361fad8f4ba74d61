//! Facts that a later one replaced or settled, over several rounds of compaction.

use shared_context_core::{
    compact::{Aim, Compaction, Outcome},
    item::{Item, ListedKind},
    tokens::Tokens,
};

use super::{compacted, has, item, outcome, tokens};

/// Returns `count` lines about nothing that matters.
fn talk(subject: &str, count: usize) -> String {
    let line = |it: usize| format!("and then we looked at {subject} number {it} once more");
    (0..count).map(line).collect::<Vec<_>>().join("\n")
}

fn fate(items: &[Item], found: &Compaction, id: &str) -> &'static str {
    let place = items.iter().position(|it| it.id == id).unwrap();
    found.scored.get(place).unwrap().rule
}

/// The digest with the later value stood before the message with the earlier one. The next
/// compaction took the earlier one for the latest, and lost the decision that held.
#[test]
fn a_decision_survives_beside_an_earlier_one_that_is_kept() {
    let kept = "We decided on 5 replicas. BUG-3 [HIGH]: the pool is empty";
    let mut items = vec![
        item("goal", ListedKind::UserMessage, "Plan the capacity of the shop."),
        item("old", ListedKind::UserMessage, kept),
    ];
    for turn in 0..6 {
        let text = talk("shelf", 4 + turn);
        items.push(item(&format!("m{turn}"), ListedKind::SessionHistory, &text));
    }
    let new = format!("{}\nWe decided on 42 replicas", talk("rack", 30));
    items.push(item("new", ListedKind::SessionHistory, &new));
    items.push(item("next", ListedKind::UserMessage, "Go on with the rest."));
    for round in 0..4 {
        let target = tokens(&items) * 60 / 100;
        if let Outcome::Compacted(found) = outcome(&items, Aim::Tokens(Tokens(target))) {
            items = found.items(&items);
        }
        assert!(has(&items, "We decided on 42 replicas"), "round {round}: {items:?}");
        let place = |text: &str| items.iter().rposition(|it| it.text().unwrap().contains(text));
        let (old, new) = (place("5 replicas"), place("42 replicas"));
        assert!(old < new, "round {round}: {items:?}");
        let more = talk(&format!("box {round}"), 12);
        items.push(item(&format!("more{round}"), ListedKind::SessionHistory, &more));
    }
}

/// The rule never fired, and the count of issues that hold had those that are resolved.
#[test]
fn an_issue_that_is_resolved_for_long_goes_first() {
    let mut items = vec![
        item("goal", ListedKind::UserMessage, "Find the leak."),
        item("bug", ListedKind::SessionHistory, "BUG-9 [HIGH]: it leaks"),
        item("fix", ListedKind::SessionHistory, "BUG-9 is fixed."),
    ];
    for turn in 0..15 {
        let text = talk(&format!("leak {turn}"), 2);
        items.push(item(&format!("m{turn}"), ListedKind::SessionHistory, &text));
    }
    let found = compacted(&items, tokens(&items) * 60 / 100);
    assert_eq!(fate(&items, &found, "bug"), "resolved_issue");
    assert_eq!(found.before.issues, 0);
    assert!(!has(&found.items(&items), "it leaks"));
}

/// Above 20,000 lines the facts were read in pieces, and none replaced one of another piece.
#[test]
fn a_long_conversation_keeps_only_the_last_value() {
    let mut items = vec![item("old", ListedKind::UserMessage, "The retry limit is 3")];
    for turn in 0..21 {
        let text = format!("{turn}\n").repeat(1_001);
        items.push(item(&format!("m{turn}"), ListedKind::ToolResult, &text));
    }
    items.push(item("new", ListedKind::UserMessage, "The retry limit is 5"));
    items.push(item("next", ListedKind::UserMessage, "Go on."));
    let found = compacted(&items, tokens(&items) / 2);
    assert_eq!(fate(&items, &found, "old"), "superseded");
}

/// An answer to one question was removed as the repetition of an answer to another.
#[test]
fn short_answers_to_different_questions_are_kept() {
    let mut items = Vec::new();
    for (nth, (question, answer)) in [
        ("When do we ship alpha?", "2026-03-01 10:00"),
        ("When do we ship beta?", "2026-05-09 18:00"),
        ("Is the mail relay ours?", "Yes."),
        ("Is the backup ours?", "Yes."),
    ]
    .into_iter()
    .enumerate()
    {
        items.push(item(&format!("q{nth}"), ListedKind::SessionHistory, question));
        items.push(item(&format!("a{nth}"), ListedKind::UserMessage, answer));
        let text = talk("part", nth + 8);
        items.push(item(&format!("m{nth}"), ListedKind::SessionHistory, &text));
    }
    items.push(item("next", ListedKind::UserMessage, "Go on."));
    let found = compacted(&items, tokens(&items) * 70 / 100);
    for id in ["a0", "a1", "a2", "a3"] {
        assert_ne!(fate(&items, &found, id), "repetition", "{id}");
    }
}
