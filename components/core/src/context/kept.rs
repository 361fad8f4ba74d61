//! The records of the context pipeline that a session keeps: envelopes, injections, missing context
//! (spec 16.13, 16.14).

use serde_json::Value;

use super::{
    assembly::{Assembly, ENVELOPE_FORMAT, Heading, Request},
    compacted::COMPACTION_FORMAT,
    entries,
    kinds::{MissingKind, Place, Target},
};
use crate::{
    Error, canonical, digest,
    item::{Body, Item},
    key::{Key, Label},
    kv::Revision,
    participant::Participant,
    time::Timestamp,
};

/// The most envelopes that a session keeps.
pub const ENVELOPES_MAX: usize = 32;
/// The most bytes of all kept envelopes as documents: 2 MiB.
pub const ENVELOPES_BYTES_MAX: u64 = 2 << 20;
/// The most injections that a session keeps.
pub const INJECTIONS_MAX: usize = 1_000;
/// The most missing context that is open, and the most answers that a session keeps.
pub const MISSING_MAX: usize = 200;
/// The longest text of missing context and of an answer, in characters.
pub const MISSING_CHARS_MAX: usize = 2_000;
/// The bytes of a part of an envelope besides its texts, in a document.
const PART_BYTES: u64 = 320;

/// An id of something kept: a prefix and a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeptId {
    prefix: &'static str,
    /// Its number, from 1.
    pub number: u64,
}

impl KeptId {
    /// Creates the id of an envelope.
    pub fn envelope(number: u64) -> Self {
        Self { prefix: "ENV", number }
    }

    /// Creates the id of missing context.
    pub fn missing(number: u64) -> Self {
        Self { prefix: "MIS", number }
    }

    /// Parses the id of an envelope.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse_envelope(member: &str, text: &str) -> Result<Self, Error> {
        parse(member, text, Self::envelope)
    }

    /// Parses the id of missing context.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse_missing(member: &str, text: &str) -> Result<Self, Error> {
        parse(member, text, Self::missing)
    }

    /// Returns the id as a label of an event.
    pub(crate) fn label(self) -> Option<Label> {
        Label::parse(&self.to_string()).ok()
    }
}

impl std::fmt::Display for KeptId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.prefix, self.number)
    }
}

impl std::fmt::Debug for KeptId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

fn parse(member: &str, text: &str, new: fn(u64) -> KeptId) -> Result<KeptId, Error> {
    let number = text.split_once('-').and_then(|(_, number)| number.parse().ok());
    let id = number.map(new).filter(|it| it.number > 0 && it.to_string() == text);
    id.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        let example = new(3);
        Error::malformed(format!("{member} is {shown:?}; it is an id such as {example}"))
    })
}

/// A kept envelope: of an assembly with the texts that were shown, of a compaction with the texts of
/// its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptEnvelope {
    /// Its number.
    pub number: u64,
    /// The participant that asked for it.
    pub created_by: Participant,
    /// The envelope as canonical JSON. It never changes, so its digest stays.
    pub head: String,
    /// The text before the parts.
    pub open: String,
    /// The parts of the text, in order.
    pub parts: Vec<Part>,
    /// The text after the parts.
    pub close: String,
}

/// A part of an assembled text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The id of the item; `None` for the task.
    pub item: Option<String>,
    /// The digest of its text, which a redaction keeps.
    pub digest: String,
    /// The text before its text.
    pub before: String,
    /// Its text.
    pub content: Content,
    /// The text after its text.
    pub after: String,
    /// The entry that the text was the value of.
    pub entry: Option<(Key, Revision)>,
    /// True if auditors may see the text.
    pub is_evidence: bool,
}

/// The text of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The text.
    Text(String),
    /// The text was redacted, for this reason.
    Redacted(String),
    /// Only a reference was shown.
    Reference,
    /// The reader may not see the text. It is never stored.
    Withheld,
}

/// A record of where a context became visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// Its number in the session, from 1.
    pub number: u64,
    /// The envelope.
    pub envelope: KeptId,
    /// The place.
    pub place: Place,
    /// The target that saw it.
    pub target: Target,
    /// The time of the record.
    pub at: Timestamp,
    /// The participant that recorded it.
    pub by: Participant,
}

/// Context that a participant lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Its id.
    pub id: KeptId,
    /// Its kind.
    pub kind: MissingKind,
    /// A description of the missing context.
    pub text: String,
    /// The envelope in which it is missing.
    pub envelope: Option<KeptId>,
    /// The time of the report.
    pub at: Timestamp,
    /// The participant that reported it.
    pub by: Participant,
    /// The answer, once there is one.
    pub answer: Option<Answer>,
}

/// The answer to missing context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The answer.
    pub text: String,
    /// The time of the answer.
    pub at: Timestamp,
    /// The participant that answered.
    pub by: Participant,
}

/// Everything that a session keeps of the context pipeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptContext {
    /// The number of the last envelope, kept or not.
    pub last_envelope: u64,
    /// The number of the last injection.
    pub last_injection: u64,
    /// The number of the last missing context.
    pub last_missing: u64,
    /// The envelopes, oldest first.
    pub envelopes: Vec<KeptEnvelope>,
    /// The injections, oldest first.
    pub injections: Vec<Injection>,
    /// The missing context, oldest first.
    pub missing: Vec<Missing>,
}

impl KeptContext {
    /// Returns true if nothing was ever kept.
    pub fn is_empty(&self) -> bool {
        self.last_envelope == 0 && self.last_injection == 0 && self.last_missing == 0
    }

    /// Returns the time of the last injection, report or answer.
    pub(crate) fn latest_time(&self) -> Timestamp {
        let answers = self.missing.iter().filter_map(|it| it.answer.as_ref()).map(|it| it.at);
        let times = self.missing.iter().map(|it| it.at).chain(answers);
        times.chain(self.injections.iter().map(|it| it.at)).max().unwrap_or_default()
    }

    /// Rejects what no session can have exported. `number_max` is the highest valid number.
    pub(crate) fn check(&self, number_max: u64) -> Result<(), Error> {
        let numbers = [
            ("envelope", self.last_envelope, self.envelopes.iter().map(|it| it.number).collect()),
            (
                "injection",
                self.last_injection,
                self.injections.iter().map(|it| it.number).collect(),
            ),
            (
                "missing context",
                self.last_missing,
                self.missing.iter().map(|it| it.id.number).collect(),
            ),
        ];
        let invalid = |what: String| Err(Error::invalid_document(what));
        for (what, last, numbers) in numbers {
            let numbers: Vec<u64> = numbers;
            let is_ascending = numbers.windows(2).all(|it| it.first() < it.last());
            let is_within = numbers.first().is_none_or(|it| *it > 0)
                && numbers.last().is_none_or(|it| *it <= last)
                && last <= number_max;
            if !(is_ascending && is_within) {
                return invalid(format!("an {what} is not in its place"));
            }
        }
        let open = self.missing.iter().filter(|it| it.answer.is_none()).count();
        let answered = self.missing.len().saturating_sub(open);
        if self.envelopes.len() > ENVELOPES_MAX
            || self.injections.len() > INJECTIONS_MAX
            || open.max(answered) > MISSING_MAX
        {
            return invalid("it keeps more of the context pipeline than a session may".to_owned());
        }
        for it in &self.envelopes {
            it.check()?;
        }
        for it in &self.missing {
            let answer = it.answer.as_ref().map(|it| it.text.as_str());
            for text in answer.into_iter().chain([it.text.as_str()]) {
                if Missing::check_text("text", text).is_err() {
                    return invalid(format!("{} has an invalid text", it.id));
                }
            }
        }
        Ok(())
    }
}

impl KeptEnvelope {
    /// Creates the envelope of an assembly of `request`. `entry` returns the entry that an item is
    /// the value of.
    pub(crate) fn new(
        number: u64,
        assembly: &Assembly,
        request: &Request<'_>,
        heading: &Heading<'_>,
        created_by: &Participant,
        entry: impl Fn(usize) -> Option<(Key, Revision)>,
    ) -> Self {
        let Request { task, items, .. } = *request;
        let parts = assembly.blocks.iter().map(|block| {
            let item = block.place.and_then(|it| items.get(it));
            Part {
                item: item.map(|it| it.id.clone()),
                digest: match item.map(|it| &it.body) {
                    None => digest::sha256(task.trim_end()),
                    Some(Body::Text(text)) => digest::sha256(text),
                    Some(Body::Reference { digest }) => digest.clone(),
                },
                before: block.before.clone(),
                content: match (item, item.and_then(Item::text)) {
                    (None, _) => Content::Text(task.trim_end().to_owned()),
                    (Some(_), Some(text)) => Content::Text(text.to_owned()),
                    (Some(_), None) => Content::Reference,
                },
                after: block.after.clone(),
                entry: block.place.and_then(&entry),
                is_evidence: item.is_none_or(|it| it.visibility.has(Target::EvidenceExport)),
            }
        });
        Self {
            number,
            created_by: created_by.clone(),
            head: assembly.envelope(request, heading),
            open: assembly.open.clone(),
            parts: parts.collect(),
            close: assembly.close.clone(),
        }
    }

    /// Returns true for the envelope of a compaction.
    pub fn is_of_compaction(&self) -> bool {
        let value: Value = serde_json::from_slice(self.head.as_bytes()).unwrap_or_default();
        value.pointer("/format").and_then(Value::as_str) == Some(COMPACTION_FORMAT)
    }

    /// Returns true if a candidate is the value of an entry that `is_one` accepts.
    pub(crate) fn has_entry(&self, is_one: impl Fn(&Key) -> bool) -> bool {
        let value: Value = serde_json::from_slice(self.head.as_bytes()).unwrap_or_default();
        let items = value.pointer("/items").and_then(Value::as_array).into_iter().flatten();
        let mut ids = items.filter_map(|it| it.pointer("/id")?.as_str());
        ids.any(|id| entries::key(id).is_some_and(|it| is_one(&it)))
    }

    /// Returns its id.
    pub fn id(&self) -> KeptId {
        KeptId::envelope(self.number)
    }

    /// Returns the digest of the envelope.
    pub fn digest(&self) -> String {
        digest::sha256(&self.head)
    }

    /// Returns the text that was shown, with a mark in place of each text that was redacted or
    /// is withheld.
    pub fn text(&self) -> String {
        let mut text = self.open.clone();
        for part in &self.parts {
            text.push_str(&part.before);
            match &part.content {
                Content::Text(it) => text.push_str(it),
                Content::Redacted(reason) => {
                    text.push_str("[redacted: ");
                    text.push_str(reason);
                    text.push(']');
                }
                Content::Withheld => text.push_str("[withheld]"),
                Content::Reference => {}
            }
            text.push_str(&part.after);
        }
        text.push_str(&self.close);
        text
    }

    /// Returns an upper bound of its bytes in a document.
    pub(crate) fn bytes(&self) -> u64 {
        let string = canonical::string_bytes_max;
        let text = |it: &Content| match it {
            Content::Text(it) | Content::Redacted(it) => string(it),
            Content::Reference | Content::Withheld => 0,
        };
        let part = |it: &Part| {
            let texts = [&it.before, &it.after].into_iter().map(|it| string(it));
            let item = it.item.as_ref().map_or(0, |it| string(it));
            texts
                .fold(PART_BYTES.saturating_add(text(&it.content)), u64::saturating_add)
                .saturating_add(item)
        };
        let head = u64::try_from(self.head.len()).unwrap_or(u64::MAX);
        let frame = string(&self.open).saturating_add(string(&self.close));
        self.parts.iter().map(part).fold(head.saturating_add(frame), u64::saturating_add)
    }

    /// Rejects an envelope that no session can have exported.
    fn check(&self) -> Result<(), Error> {
        let invalid =
            |what: &str| Err(Error::invalid_document(format!("envelope {} {what}", self.id())));
        let value: Option<Value> = serde_json::from_slice(self.head.as_bytes()).ok();
        let Some(value) = value.filter(|it| canonical::text(it).is_ok_and(|it| it == self.head))
        else {
            return invalid("is not canonical JSON");
        };
        let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let shown = match text("/format") {
            ENVELOPE_FORMAT => "/assembly/blocks",
            COMPACTION_FORMAT => "/result",
            _ => return invalid("has another format"),
        };
        if text("/id") != self.id().to_string() {
            return invalid("has another id");
        }
        let shown = value.pointer(shown).and_then(Value::as_array).into_iter().flatten();
        let items = shown.map(|it| it.pointer("/item").and_then(Value::as_str));
        if !items.eq(self.parts.iter().map(|it| it.item.as_deref())) {
            return invalid("has other blocks than texts");
        }
        for part in &self.parts {
            let is_same = match &part.content {
                Content::Text(text) => digest::sha256(text) == part.digest,
                Content::Redacted(_) | Content::Reference | Content::Withheld => true,
            };
            if !is_same {
                return Err(Error::DocumentAltered { place: format!("context.{}", self.id()) });
            }
        }
        Ok(())
    }

    /// Redacts the texts of `parts` that `is_secret` accepts, for `reason`. Returns how many.
    pub(crate) fn redact(&mut self, reason: &str, is_secret: impl Fn(&Part, &str) -> bool) -> u32 {
        let mut count = 0_u32;
        for part in &mut self.parts {
            if let Content::Text(text) = &part.content
                && is_secret(part, text)
            {
                part.content = Content::Redacted(reason.to_owned());
                count = count.saturating_add(1);
            }
        }
        count
    }
}

impl Part {
    /// Leaves out its text, if it has one.
    pub(crate) fn withhold(&mut self) {
        if matches!(self.content, Content::Text(_)) {
            self.content = Content::Withheld;
        }
    }
}

impl Missing {
    /// Validates the text of missing context or of an answer.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], naming the `member`.
    pub fn check_text(member: &str, text: &str) -> Result<(), Error> {
        let chars = text.chars().count();
        if text.trim().is_empty() || chars > MISSING_CHARS_MAX {
            return Err(Error::malformed(format!(
                "{member} has {chars} characters; it must be 1 to {MISSING_CHARS_MAX}, and not only \
                 spaces"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_prefix_and_a_number() {
        let id = |text| KeptId::parse_envelope("previous", text).map(|it| it.number);
        assert_eq!(id("ENV-1"), Ok(1));
        assert_eq!(id("ENV-18446744073709551615"), Ok(u64::MAX));
        for bad in ["", "ENV-0", "ENV-01", "ENV-+1", "env-1", "MIS-1", "ENV-1 ", "ENV-1-2"] {
            let error = id(bad).unwrap_err().to_string();
            assert!(error.contains("an id such as ENV-3"), "{error}");
        }
        assert_eq!(KeptId::missing(2).label().unwrap().as_str(), "MIS-2");
    }
}
