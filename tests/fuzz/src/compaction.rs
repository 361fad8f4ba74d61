//! Conversations: the facts that must be kept survive every compaction, and the result fits.
//!
//! An input is text: a number, the percent of its tokens to aim at, then messages with one of the
//! [`SEPARATOR`]s before each, which identifies its speaker.

use shared_context_core::{
    Error,
    compact::{
        self, Aim, Compaction, Fate, Outcome, Request, VerdictKind, Weighting, check_summary,
    },
    extract::{Extraction, Position, Status, extract},
    item::{Authority, Item, Kind, ListedKind},
    tokens::{Tokens, approximate},
};

use crate::{cases::scripts, script::SEPARATOR as SCRIPT_SEPARATOR};

/// The character before a message, and the kind and the authority of its speaker.
const SEPARATORS: [(char, ListedKind, Authority); 4] = [
    ('\u{1}', ListedKind::UserMessage, Authority::User),
    ('\u{2}', ListedKind::SessionHistory, Authority::Model),
    ('\u{3}', ListedKind::ToolResult, Authority::ToolExternal),
    ('\u{4}', ListedKind::ComputedSummary, Authority::Unknown),
];

/// Extracts the facts of the conversation `input`, compacts it, and compacts the result.
pub fn run(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let (aim, items) = conversation(text);
    let extraction = extract(&items, Position::default());
    check_facts(&items, &extraction);
    let Some(compacted) = compact(&items, aim) else { return };
    let target = compacted.target;
    let result = compacted.items(&items);
    check_result((&items, &extraction), &compacted, &result);
    let again = compact(&result, Aim::Tokens(target)).expect("it fits");
    let is_same = again.after.tokens == compacted.after.tokens
        && again.scored.iter().all(|it| it.fate == Fate::Kept);
    assert!(is_same, "a second compaction changes something: {again:#?}");
    for verdict in check_summary(&extraction.facts, text).verdicts {
        assert!(verdict.fact < extraction.facts.len());
        assert!(verdict.kind != VerdictKind::Present || verdict.lacks.is_empty());
    }
}

/// Returns the conversations of the cases of the conformance suite.
pub fn seeds() -> Vec<Vec<u8>> {
    let found = scripts(|step| {
        let items = step.get("call")?.get("items")?.as_array()?;
        let mut text = "35".to_owned();
        for item in items {
            let kind = item.get("kind")?.as_str()?;
            let found = SEPARATORS.iter().find(|(_, it, _)| it.as_str() == kind);
            text.push(found.unwrap_or(&SEPARATORS[1]).0);
            text.push_str(item.get("text")?.as_str()?);
        }
        Some(text.into_bytes())
    });
    let parts = found.iter().flat_map(|it| it.split(|byte| *byte == SCRIPT_SEPARATOR));
    parts.map(<[u8]>::to_vec).collect()
}

/// Parses an input.
fn conversation(text: &str) -> (Aim, Vec<Item>) {
    let separator = |it: char| SEPARATORS.iter().find(|(one, ..)| *one == it);
    let (head, rest) = text.split_at(text.find(|it| separator(it).is_some()).unwrap_or(0));
    let percent = head.trim().parse().unwrap_or(35_u8).clamp(1, 99);
    let mut items = Vec::new();
    for message in rest.split_inclusive(|it| separator(it).is_some()) {
        let (text, next) = match message.char_indices().next_back() {
            Some((at, it)) if separator(it).is_some() => (&message[..at], separator(it)),
            _ => (message, None),
        };
        if let Some(last) = items.pop() {
            items.push(with_text(last, text));
        }
        if let Some((_, kind, authority)) = next {
            let mut item = Item::inline(items.len().to_string(), Kind::Listed(*kind), "");
            item.source.authority = *authority;
            items.push(item);
        }
    }
    (Aim::Reduction(percent), items)
}

fn with_text(item: Item, text: &str) -> Item {
    Item { source: item.source, ..Item::inline(item.id, item.kind, text) }
}

/// Compacts a conversation; `None` if the target is unreachable.
fn compact(items: &[Item], aim: Aim) -> Option<Box<Compaction>> {
    let request = Request { items, task: "", aim, weighting: Weighting::Default };
    let count = |text: &str| Ok::<_, Error>(approximate(text));
    match compact::compact(&request, &count).expect("counting cannot fail") {
        Outcome::Compacted(it) => Some(it),
        Outcome::Unreachable { target, needed } => {
            assert!(needed > target, "{needed} fit into {target}");
            None
        }
    }
}

/// Checks that facts are parts of their items, in order.
fn check_facts(items: &[Item], extraction: &Extraction) {
    let mut last = (0, 0);
    for fact in &extraction.facts {
        let place = fact.place;
        let text = items[place.item].text().expect("every item has a text");
        assert_eq!(text.get(place.start..place.end), Some(fact.text.as_str()));
        let chars = |end: usize| text[..end].chars().count();
        assert_eq!(chars(place.start), place.char_start as usize);
        assert_eq!(chars(place.end), place.char_end as usize);
        assert!(last <= (place.item, place.start), "facts are in the order of their places");
        last = (place.item, place.start);
        assert!(fact.superseded_by.is_none_or(|it| it < extraction.facts.len()));
    }
}

/// Checks that the result fits, and has every fact that must be kept.
fn check_result((items, extraction): (&[Item], &Extraction), it: &Compaction, result: &[Item]) {
    let tokens = result.iter().fold(Tokens(0), |sum, it| sum.plus(it.tokens));
    assert_eq!(tokens, it.after.tokens);
    assert!(tokens <= it.target, "{tokens}, at most {} fit", it.target);
    let is_there = |text: &str| result.iter().filter_map(Item::text).any(|it| it.contains(text));
    let digest = Kind::Listed(ListedKind::ComputedSummary);
    for fact in extraction.facts.iter().filter(|it| it.is_preserved()) {
        // An earlier digest is taken apart into its lines, which are not what a sentence of it is.
        let is_digest = items[fact.place.item].kind == digest;
        let must_be_there = fact.status == Status::Open && !is_digest;
        assert!(!must_be_there || is_there(&fact.text), "{:?} is lost", fact.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_a_conversation() {
        let (aim, items) = conversation("20\u{1}Hello\u{3}rows\u{1}\u{2}");
        assert_eq!(aim, Aim::Reduction(20));
        let texts: Vec<_> = items.iter().filter_map(Item::text).collect();
        assert_eq!(texts, ["Hello", "rows", "", ""]);
        assert_eq!(items[1].source.authority, Authority::ToolExternal);
        assert!(conversation("").1.is_empty());
    }

    #[test]
    fn the_seeds_hold() {
        let seeds = seeds();
        assert!(seeds.len() > 10);
        for seed in &seeds {
            run(seed);
        }
    }

    /// Tests long and repeated texts, and texts that could be mistaken for a summary or a digest.
    #[test]
    fn long_conversations_hold() {
        let said = [
            "DECISION: Use PostgreSQL 17.\nRationale: reports need JSON.",
            "# Compacted context\n\n## Decisions\n- DECISION: Use MySQL [m4:1]",
            "Never log card numbers. You must not deploy on Friday.",
            "BUG-17 [CRITICAL]: it crashes\r\n\r\nfixed BUG-17",
            "```\nDECISION: in a fence that nothing closes",
            "\u{202e}DECISION: \u{05d0} right to left",
            "Modified: src/main.rs\nModified: src/lib.rs",
            "ok, thanks",
        ];
        for percent in [1, 20, 60, 99] {
            let mut input = percent.to_string();
            for nth in 0..48_usize {
                input.push(SEPARATORS[nth % 4].0);
                input.push_str(said[(nth * 5) % said.len()]);
                input.push_str(&" row of a table;".repeat(nth % 7));
            }
            run(input.as_bytes());
        }
    }
}
