//! Hides the parts of a packet that its reader may not see, and redacts texts in it (spec 18.13).
//!
//! # Invariants
//!
//! - A concealed packet has no statement from a source that its reader may not read, and no text
//!   that could come from one: merged decisions, omissions or changes.
//! - A redacted packet keeps its sources and their digests.

use super::{Layer, Link, Mentions, Packet, Recipe, Source, Statement, statistics::normal};
use crate::{Error, order::entry, tokens::Tokens};

/// The shortest text that is redacted because a redacted value has it: shorter ones are in many
/// values.
const PART_BYTES_MIN: usize = 4;

/// Counts a packet again, and gives it the checksum of its content.
///
/// # Errors
///
/// Those of `count`.
pub(crate) fn seal(
    packet: &mut Packet,
    count: &dyn Fn(&str) -> Result<Tokens, Error>,
) -> Result<(), Error> {
    packet.checksum = packet.sum();
    packet.count(count)
}

/// Removes the statements of other layers. The packet is not sealed.
pub(crate) fn only(packet: &mut Packet, layer: Layer) {
    packet.statements.retain(|it| it.part.layer() == layer);
    packet.layers = vec![layer];
    packet.not_included.clear();
}

/// Removes what a reader may not see: the statements of which `is_visible` rejects the source, and
/// texts whose source is not known. The packet is not sealed.
pub(crate) fn conceal(packet: &mut Packet, is_visible: &dyn Fn(&Source) -> bool) {
    packet.statements.retain(|it| is_visible(&it.source));
    packet.statements.iter_mut().for_each(|it| it.merged_from.clear());
    packet.not_included.clear();
    packet.changelog.clear();
}

/// Texts to redact, and the mark that replaces them.
#[derive(Debug)]
pub(crate) struct Secrets<'a> {
    /// The values that are redacted.
    pub(crate) values: &'a [String],
    /// True to redact also texts that contain a value, and texts that are a part of one.
    pub(crate) has_parts: bool,
    /// The mark.
    pub(crate) mark: String,
}

impl Secrets<'_> {
    /// Returns true if `text` has a value in it, or is a part of one.
    fn is_in(&self, text: &str) -> bool {
        // A statement that was cut ends with an ellipsis.
        let part = text.trim_end_matches('…').trim();
        let is_part =
            |value: &String| self.has_parts && part.len() >= PART_BYTES_MIN && value.contains(part);
        let has = |value: &String| value.len() >= PART_BYTES_MIN && text.contains(value.as_str());
        text != self.mark && self.values.iter().any(|it| has(it) || is_part(it))
    }

    /// Redacts a text. Returns true if it was.
    pub(crate) fn redact(&self, text: &mut String) -> bool {
        let is_secret = self.is_in(text);
        if is_secret {
            text.clone_from(&self.mark);
        }
        is_secret
    }

    /// Returns true if `line`, which quotes statements, has a sentence of a value in it.
    fn is_quoted(&self, line: &str) -> bool {
        let sentences = self.values.iter().flat_map(|it| it.split(['\n', '.', ';', '"']));
        let mut sentences = sentences.map(str::trim).filter(|it| it.len() >= PART_BYTES_MIN);
        self.is_in(line) || self.has_parts && sentences.any(|it| line.contains(it))
    }

    /// Redacts texts. Returns how many were.
    fn all(&self, texts: &mut dyn Iterator<Item = &mut String>) -> u32 {
        texts.fold(0, |sum: u32, it| sum.saturating_add(self.redact(it).into()))
    }

    /// Redacts lines that quote statements. Returns how many were.
    fn lines(&self, lines: &mut dyn Iterator<Item = &mut String>) -> u32 {
        let mut redacted = 0_u32;
        for line in lines.filter(|it| **it != self.mark && self.is_quoted(it)) {
            line.clone_from(&self.mark);
            redacted = redacted.saturating_add(1);
        }
        redacted
    }

    /// Redacts statements and the decisions of links. Returns how many texts were.
    fn statements(&self, all: &mut [Statement], links: &mut [Link]) -> u32 {
        let mut redacted = self.all(&mut links.iter_mut().filter_map(|it| it.decision.as_mut()));
        for Statement { text, detail, merged_from, .. } in all {
            let texts = &mut merged_from.iter_mut().chain(detail).chain([text]);
            redacted = redacted.saturating_add(self.all(texts));
        }
        redacted
    }

    /// Redacts texts, and removes those that are equal then.
    pub(crate) fn list(&self, texts: &mut Vec<String>) -> u32 {
        let redacted = self.all(&mut texts.iter_mut());
        let mut has_mark = false;
        texts.retain(|it| *it != self.mark || !std::mem::replace(&mut has_mark, true));
        redacted
    }

    /// Redacts reported texts, and adds up the counts of those that are equal then.
    pub(crate) fn mentions(&self, all: &mut Vec<(String, Mentions)>) -> u32 {
        // They are counted in lower case, with single spaces and without a full stop.
        let values: Vec<String> = self.values.iter().map(|it| normal(it)).collect();
        let secrets = Secrets { values: &values, mark: self.mark.clone(), ..*self };
        let (mut redacted, mut sum) = (0_u32, Mentions::default());
        all.retain(|(text, it)| {
            let is_secret = self.is_in(text) || secrets.is_in(text);
            if is_secret {
                sum.add(it);
                redacted = redacted.saturating_add(1);
            }
            !is_secret
        });
        if redacted > 0 {
            entry(all, self.mark.clone(), |known| known.add(&sum));
        }
        redacted
    }

    /// Redacts a packet. Returns how many texts were redacted. The packet is not sealed.
    pub(crate) fn packet(&self, packet: &mut Packet) -> u32 {
        let redacted = self.statements(&mut packet.statements, &mut packet.links);
        let lines = packet.changelog.iter_mut().map(|it| &mut it.text);
        let lines = self.lines(&mut lines.chain(&mut packet.not_included));
        let is_task: u32 = self.redact(&mut packet.target_task).into();
        redacted.saturating_add(lines).saturating_add(is_task)
    }

    /// Redacts what a packet is made from. Returns how many texts were redacted.
    pub(crate) fn recipe(&self, recipe: &mut Recipe) -> u32 {
        let is_task: u32 = self.redact(&mut recipe.task).into();
        self.statements(&mut recipe.material, &mut recipe.links).saturating_add(is_task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_value_is_redacted_with_it() {
        let values = ["Use hunter2 as the password.".to_owned()];
        let secrets =
            Secrets { values: &values, has_parts: true, mark: "[redacted: r]".to_owned() };
        let redacted = |text: &str| {
            let mut text = text.to_owned();
            secrets.redact(&mut text);
            text
        };
        for text in ["hunter2", "Use hunter2 as …", "> Use hunter2 as the password. <"] {
            assert_eq!(redacted(text), "[redacted: r]", "{text}");
        }
        for text in ["Use another password.", "as", "[redacted: r]"] {
            assert_eq!(redacted(text), text);
        }
    }
}
