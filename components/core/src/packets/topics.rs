//! The words of a conversation's subject, by which asides are recognized.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    messages::{Message, starts_aside},
    revise::GENERIC,
};
use crate::{
    item::Item,
    text::words::{Reader, Word},
};

/// The fewest words that a message of the subject shares with it.
const SHARED_MIN: usize = 2;
/// The number of rounds in which the subject grows by the messages that belong to it.
const ROUNDS: u32 = 2;

/// The words of the subject: those of messages that have words in common with the goal, or with
/// such messages.
pub(super) struct Topics {
    /// For each word, the messages of the subject that have it.
    pub(super) messages: BTreeMap<Word, Vec<usize>>,
}

impl Topics {
    pub(super) fn read(task: &str, items: &[Item], messages: &[Message<'_>]) -> Self {
        let mut reader = Reader::default();
        let generic = reader.distinct(GENERIC);
        let mut words: Vec<Vec<Word>> = Vec::new();
        for it in messages {
            let is_aside = starts_aside(it);
            let text = items.get(it.item).and_then(Item::text).unwrap_or_default();
            let mut own = reader.distinct(if is_aside { "" } else { text });
            own.retain(|it| !generic.contains(it));
            words.push(own);
        }
        let mut subject: BTreeSet<Word> = BTreeSet::new();
        subject.extend(reader.distinct(task).into_iter().filter(|it| !generic.contains(it)));
        // The first message says what the conversation is about, unless only others are about the task.
        let of_task = |own: &&Vec<Word>| own.iter().any(|it| subject.contains(it));
        let is_first =
            words.iter().take(2).any(|it| of_task(&it)) || !words.iter().any(|it| of_task(&it));
        if is_first {
            subject.extend(words.iter().take(2).flatten());
        }
        let mut is_in = vec![false; words.len()];
        for _ in 0..ROUNDS {
            let mut more: Vec<Word> = Vec::new();
            for (own, is_in) in words.iter().zip(&mut is_in) {
                let shared = own.iter().filter(|it| subject.contains(it)).count();
                if !*is_in && shared >= SHARED_MIN.min(own.len().max(1)) {
                    *is_in = true;
                    more.extend(own);
                }
            }
            subject.extend(more);
        }
        let mut found: BTreeMap<Word, Vec<usize>> = BTreeMap::new();
        for (nth, own) in words.iter().enumerate().filter(|it| is_in.get(it.0) == Some(&true)) {
            for word in own {
                found.entry(*word).or_default().push(nth);
            }
        }
        Self { messages: found }
    }

    /// Returns how many words of a text are in messages of the subject other than `own` and the one after
    /// it, which may only repeat it.
    pub(super) fn ties(&self, reader: &mut Reader, text: &str, own: usize) -> usize {
        let is_elsewhere = |it: &usize| *it != own && *it != own.saturating_add(1);
        let words = reader.distinct(text);
        let tied =
            |it: &&Word| self.messages.get(*it).is_some_and(|it| it.iter().any(is_elsewhere));
        words.iter().filter(tied).count()
    }
}
