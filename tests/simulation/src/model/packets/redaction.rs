//! Models the effect of a redaction on packets and feedback.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use shared_context_core::packets::{Mentions, Packet, Recipe};

use super::{super::state::Model, conceal::sealed};

/// The fewest bytes of a value or of a part that is redacted inside of other texts.
const BYTES_MIN: usize = 4;

/// Values that are redacted, and the mark that replaces texts.
pub(in super::super) struct Secrets {
    /// The values.
    pub(in super::super) values: Vec<String>,
    /// True if parts of the values are redacted, too.
    pub(in super::super) has_parts: bool,
    /// The mark.
    pub(in super::super) mark: String,
}

impl Secrets {
    fn has(&self, text: &str) -> bool {
        let part = text.trim_end_matches('…').trim();
        let is_secret = |value: &String| {
            let is_in = value.len() >= BYTES_MIN && text.contains(value);
            is_in || self.has_parts && part.len() >= BYTES_MIN && value.contains(part)
        };
        text != self.mark && self.values.iter().any(is_secret)
    }

    /// Returns true if a line quotes a sentence of a value.
    fn quotes(&self, line: &str) -> bool {
        let sentences = self.values.iter().flat_map(|it| it.split(['\n', '.', ';', '"']));
        let mut sentences = sentences.map(str::trim).filter(|it| it.len() >= BYTES_MIN);
        self.has(line) || self.has_parts && sentences.any(|it| line.contains(it))
    }

    fn one(&self, text: &mut String) -> u32 {
        let has = self.has(text);
        if has {
            text.clone_from(&self.mark);
        }
        has.into()
    }

    fn line(&self, text: &mut String) -> u32 {
        let quotes = *text != self.mark && self.quotes(text);
        if quotes {
            text.clone_from(&self.mark);
        }
        quotes.into()
    }

    /// Redacts texts, and leaves one mark.
    fn list(&self, texts: &mut Vec<String>) -> u32 {
        let redacted = texts.iter_mut().map(|it| self.one(it)).sum();
        let mut marks = 0;
        texts.retain(|it| {
            marks += u32::from(*it == self.mark);
            *it != self.mark || marks == 1
        });
        redacted
    }

    fn mentions(&self, list: &mut Vec<(String, Mentions)>) -> u32 {
        let mut all: BTreeMap<String, Mentions> = list.drain(..).collect();
        let lower = Self {
            values: self.values.iter().map(|it| reported(it)).collect(),
            has_parts: self.has_parts,
            mark: self.mark.clone(),
        };
        let is_secret = |it: &&String| self.has(it) || lower.has(it);
        let secret: BTreeSet<String> = all.keys().filter(is_secret).cloned().collect();
        for text in &secret {
            let it = all.remove(text).unwrap();
            let sum = all.entry(self.mark.clone()).or_default();
            sum.count += it.count;
            sum.ended += it.ended;
            sum.failed += it.failed;
        }
        *list = all.into_iter().collect();
        secret.len() as u32
    }

    fn packet(&self, packet: &mut Packet) -> u32 {
        let mut texts: Vec<&mut String> = vec![&mut packet.target_task];
        for it in &mut packet.statements {
            texts.push(&mut it.text);
            texts.extend(&mut it.detail);
            texts.extend(&mut it.merged_from);
        }
        for it in &mut packet.links {
            texts.extend(&mut it.decision);
        }
        let redacted: u32 = texts.into_iter().map(|it| self.one(it)).sum();
        let lines = packet.changelog.iter_mut().map(|it| &mut it.text);
        redacted + lines.chain(&mut packet.not_included).map(|it| self.line(it)).sum::<u32>()
    }

    fn recipe(&self, recipe: &mut Recipe) -> u32 {
        let mut texts = vec![&mut recipe.task];
        for it in &mut recipe.material {
            texts.push(&mut it.text);
            texts.extend(&mut it.detail);
            texts.extend(&mut it.merged_from);
        }
        for it in &mut recipe.links {
            texts.extend(&mut it.decision);
        }
        texts.into_iter().map(|it| self.one(it)).sum()
    }
}

/// Returns a text as reports of gaps are counted.
fn reported(text: &str) -> String {
    let text = text.to_lowercase();
    let text = text.trim();
    let text = text.strip_prefix("needed:").or(text.strip_prefix("received:")).unwrap_or(text);
    let text: Vec<&str> = text.split_whitespace().collect();
    text.join(" ").trim_end_matches(['.', '!']).to_owned()
}

impl Model {
    /// Redacts packets, what they are made from, and feedback. Returns how many texts were.
    pub(in super::super) fn redact_packets(&mut self, secrets: &Secrets) -> u32 {
        let kept = Rc::make_mut(&mut self.packets);
        let mut redacted = 0;
        for packet in &mut kept.packets {
            for version in &mut packet.versions {
                let in_packet = secrets.packet(&mut version.packet);
                if in_packet > 0 {
                    version.packet = sealed(version.packet.clone());
                }
                redacted += in_packet + secrets.recipe(&mut version.recipe);
            }
            for reader in &mut packet.readers {
                redacted += secrets.list(&mut reader.questions);
            }
        }
        for it in &mut kept.feedback {
            redacted += secrets.list(&mut it.feedback.gaps);
            redacted += secrets.list(&mut it.feedback.unused);
            redacted += secrets.list(&mut it.questions);
            redacted += it.feedback.note.as_mut().map_or(0, |it| secrets.one(it));
        }
        for (_, it) in &mut kept.statistics.types {
            redacted += secrets.mentions(&mut it.gaps) + secrets.mentions(&mut it.unused);
        }
        redacted
    }
}
