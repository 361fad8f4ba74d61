//! The messages of people and of the team, sentence by sentence.
//!
//! # Bound
//!
//! Messages are read up to [`BYTES_MAX`]: the first of a person, and the latest ones. A message
//! over [`MESSAGE_BYTES_MAX`] was probably pasted, and is not read.

use super::{
    cues::{self, Lower},
    kinds::MadeBy,
};
use crate::{
    extract::{
        self,
        line::{head, lines, sentence_ends},
    },
    item::{Authority, Item, Kind, ListedKind},
    order::sorted,
};

/// The most bytes of messages whose sentences are read.
const BYTES_MAX: usize = 64 << 10;
/// The most bytes of one such message: a longer one is pasted.
const MESSAGE_BYTES_MAX: usize = 8 << 10;

/// The speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Model,
    Other,
}

/// A sentence of a message.
#[derive(Debug, Clone)]
pub(super) struct Sentence<'a> {
    pub(super) line: u32,
    pub(super) start: usize,
    pub(super) text: &'a str,
    pub(super) lower: Lower,
}

/// A message whose sentences are read.
pub(super) struct Message<'a> {
    pub(super) item: usize,
    pub(super) speaker: Speaker,
    pub(super) by: MadeBy,
    pub(super) authority: Authority,
    pub(super) sentences: Vec<Sentence<'a>>,
}

/// Returns the messages of people and of the team, with their sentences.
pub(super) fn messages(items: &[Item]) -> Vec<Message<'_>> {
    let mut left = BYTES_MAX;
    let mut kept: Vec<usize> = Vec::new();
    let first = items.iter().position(|it| speaker(it) == Speaker::User);
    for place in first.into_iter().chain((0..items.len()).rev()) {
        let Some(it) = items.get(place).filter(|it| speaker(it) != Speaker::Other) else {
            continue;
        };
        let bytes = it.text().map_or(0, str::len);
        if kept.contains(&place) && Some(place) == first || bytes > MESSAGE_BYTES_MAX {
            continue;
        }
        let Some(rest) = left.checked_sub(bytes) else { break };
        left = rest;
        kept.push(place);
    }
    let message = |place: usize| {
        let item = items.get(place)?;
        Some(Message {
            item: place,
            speaker: speaker(item),
            by: made_by(item),
            authority: extract::authority(item),
            sentences: sentences(item.text()?),
        })
    };
    sorted(kept, Ord::cmp).into_iter().filter_map(message).collect()
}

fn speaker(item: &Item) -> Speaker {
    match extract::authority(item) {
        Authority::User => Speaker::User,
        Authority::Model if !matches!(item.kind, Kind::Listed(ListedKind::ToolResult)) => {
            Speaker::Model
        }
        _ => Speaker::Other,
    }
}

pub(super) fn made_by(item: &Item) -> MadeBy {
    match item.kind {
        Kind::Listed(ListedKind::PeerAgentMessage) => MadeBy::Agent,
        _ => MadeBy::authority(extract::authority(item)),
    }
}

/// Returns the sentences of a message outside of code and quotations.
fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut all = Vec::new();
    for line in lines(text) {
        if line.is_fenced || line.text.trim_start().starts_with('>') {
            continue;
        }
        let skipped = head(line.text, |_| true).rest;
        let rest = line.text.get(skipped..).unwrap_or_default();
        let mut from = 0;
        for end in sentence_ends(rest) {
            let sentence = rest.get(from..end).unwrap_or_default();
            let lead = sentence.len().saturating_sub(sentence.trim_start().len());
            let start =
                line.start.saturating_add(skipped).saturating_add(from).saturating_add(lead);
            from = end;
            let text = sentence.trim();
            if text.chars().any(char::is_alphanumeric) {
                let lower = Lower::new(text);
                all.push(Sentence { line: line.number.saturating_add(1), start, text, lower });
            }
        }
    }
    all
}

/// Returns true if a message is about something else.
pub(super) fn starts_aside(message: &Message<'_>) -> bool {
    message.sentences.first().is_some_and(|it| cues::is_aside(&it.lower))
}
