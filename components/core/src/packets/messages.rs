//! The messages of people and of the team, sentence by sentence.
//!
//! # Bound
//!
//! Messages are read up to [`BYTES_MAX`]: the first of a person, and the latest ones. A message
//! over [`MESSAGE_BYTES_MAX`] was probably pasted, and is not read.

use std::cell::LazyCell;

use super::{
    cues::{self, Answer, Lower},
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
/// The longest name with a role, in bytes.
const ROLE_BYTES_MAX: usize = 40;
/// The most words of a value behind its name.
const VALUE_WORDS_MAX: usize = 2;

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
    /// Its first byte in the message.
    pub(super) start: usize,
    /// The sentence, with the name of its speaker before it.
    pub(super) whole: &'a str,
    /// The name of its speaker: `Tom` of `Tom: fine with me.`
    pub(super) by: Option<&'a str>,
    /// The sentence without that name.
    pub(super) text: &'a str,
    /// Its text in lower case.
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
pub(super) fn messages<'a>(task: &'a str, items: &'a [Item]) -> Vec<Message<'a>> {
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
    let kept = sorted(kept, Ord::cmp);
    // A word that stands elsewhere in lower case is no name: `Delimiter: a comma.`
    let texts = kept.iter().filter_map(|it| items.get(*it)?.text()).chain([task]);
    let words = texts.flat_map(|it| it.split(|c: char| !c.is_alphanumeric()));
    let words = words.filter(|it| it.starts_with(char::is_lowercase));
    // Few conversations have names before a colon.
    let words = LazyCell::new(|| sorted(words.collect::<Vec<&str>>(), Ord::cmp));
    let is_word = |it: &str| words.binary_search(&it.to_lowercase().as_str()).is_ok();
    let texts =
        kept.iter().filter_map(|it| items.get(*it)).filter(|it| speaker(it) == Speaker::User);
    let lines = texts.filter_map(Item::text).flat_map(str::lines);
    let told: Vec<&str> = lines.filter_map(|it| name(it, is_word).filter(|_| tells(it))).collect();
    let message = |place: &usize| {
        let item = items.get(*place)?;
        let speaker = speaker(item);
        let name = |it: &'a str| {
            let found = name(it, is_word).filter(|_| speaker == Speaker::User);
            found.filter(|one| tells(it) || told.contains(one))
        };
        Some(Message {
            item: *place,
            speaker,
            by: made_by(item),
            authority: extract::authority(item),
            sentences: sentences(item.text()?, name),
        })
    };
    kept.iter().filter_map(message).collect()
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

/// Returns the name of the speaker before a colon at the start of a line: a name, of which nothing
/// `is_word`, or a text with a role behind it, as in `lena (SRE)`.
fn name(line: &str, is_word: impl Fn(&str) -> bool) -> Option<&str> {
    let (name, _) = line.split_once(": ")?;
    let has_role = name.ends_with(')') && name.contains(" (");
    let is_name = has_role && name.len() <= ROLE_BYTES_MAX
        || head(line, &|_| false).speaker.is_some() && !name.split(' ').any(is_word);
    (is_name && extract::unlabelled(line).len() == line.len()).then_some(name)
}

/// Returns true unless a line has no more than a value behind its name: `Timeout: 60 seconds`.
fn tells(line: &str) -> bool {
    let said = Lower::new(line.split_once(": ").map_or("", |it| it.1));
    said.words() > VALUE_WORDS_MAX || cues::answer(&said) != Answer::Other
}

/// Returns the sentences of a message outside of code and quotations. `name` reads the speaker of a line.
fn sentences<'a>(text: &'a str, name: impl Fn(&'a str) -> Option<&'a str>) -> Vec<Sentence<'a>> {
    let mut all = Vec::new();
    for line in lines(text) {
        if line.is_fenced || line.text.trim_start().starts_with('>') {
            continue;
        }
        let skipped = head(line.text, &|_| true).rest;
        let rest = line.text.get(skipped..).unwrap_or_default();
        let by = name(rest);
        let mut from = 0;
        for end in sentence_ends(rest) {
            let whole = rest.get(from..end).unwrap_or_default();
            let lead = whole.len().saturating_sub(whole.trim_start().len());
            let start =
                line.start.saturating_add(skipped).saturating_add(from).saturating_add(lead);
            let spoken = by.filter(|_| from == 0).map_or(0, |it| it.len().saturating_add(1));
            from = end;
            let text = whole.get(spoken..).unwrap_or_default().trim();
            if text.chars().any(|it| it.is_alphanumeric() || it == '👍') {
                let (whole, lower) = (whole.trim(), Lower::new(text));
                all.push(Sentence {
                    line: line.number.saturating_add(1),
                    start,
                    whole,
                    by,
                    text,
                    lower,
                });
            }
        }
    }
    all
}

/// Returns true if a message is about something else.
pub(super) fn starts_aside(message: &Message<'_>) -> bool {
    message.sentences.first().is_some_and(|it| cues::is_aside(&it.lower))
}
