//! Compaction: the kept items, the digest, and the facts that it must never lose.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod examples;
mod holding;
mod natural;
mod properties;
mod said;
mod superseded;

use shared_context_core::{
    compact::{Aim, Compaction, Outcome, Request, Weighting, compact},
    item::{Authority, Item, Kind, ListedKind},
    tokens::{Tokens, approximate},
};

/// Creates an item; the authority is what its kind suggests.
fn item(id: &str, kind: ListedKind, text: &str) -> Item {
    let mut item = Item::inline(id, Kind::Listed(kind), text);
    item.source.authority = match kind {
        ListedKind::UserMessage => Authority::User,
        ListedKind::SystemPrompt => Authority::Operator,
        ListedKind::ToolResult => Authority::ToolInternal,
        _ => Authority::Model,
    };
    item
}

fn outcome(items: &[Item], aim: Aim) -> Outcome {
    let request = Request { items, task: "", aim, weighting: Weighting::Default };
    compact(&request, &|text| Ok(approximate(text))).unwrap()
}

/// Compacts to a number of tokens that can be reached.
fn compacted(items: &[Item], target: u32) -> Compaction {
    match outcome(items, Aim::Tokens(Tokens(target))) {
        Outcome::Compacted(it) => *it,
        other @ Outcome::Unreachable { .. } => panic!("{other:?}"),
    }
}

fn tokens(items: &[Item]) -> u32 {
    items.iter().map(|it| it.tokens.0).sum()
}

/// Returns true if a text of the conversation has `text`.
fn has(items: &[Item], text: &str) -> bool {
    items.iter().filter_map(Item::text).any(|it| it.contains(text))
}
