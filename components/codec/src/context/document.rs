//! What a session keeps of the context pipeline, in a session document (spec 8.5.3).

use serde::{Serialize, Serializer};
use serde_json::{Value, value::RawValue};
use shared_context_core::{
    Error, Key, Participant, canonical,
    context::{
        kept::{Answer, Content, Injection, KeptContext, KeptEnvelope, KeptId, Missing, Part},
        kinds::{MissingKind, Place},
    },
    item::Target,
    port::Revision,
};

use crate::{
    form::{Member, Slot, form},
    json::Time,
    values::invalid,
};

/// Envelopes, injections and missing context.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_context"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct ContextItem {
    /// The number of the last envelope, kept or not.
    last_envelope: u64,
    /// The number of the last injection.
    last_injection: u64,
    /// The number of the last missing context.
    last_missing: u64,
    /// The envelopes, oldest first.
    envelopes: Vec<EnvelopeItem>,
    /// The injections, oldest first.
    injections: Vec<InjectionItem>,
    /// The missing context, oldest first.
    missing: Vec<MissingItem>,
}

/// A kept envelope, with the texts that were shown.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_envelope"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct EnvelopeItem {
    envelope: u64,
    created_by: String,
    /// The envelope itself.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, Value>"))]
    head: Head,
    /// What stands before the parts.
    open: String,
    /// What was shown, in order.
    parts: Vec<PartItem>,
    /// What stands after the parts.
    close: String,
}

/// The canonical JSON of an envelope.
#[derive(Debug, Default)]
struct Head(Box<RawValue>);

impl Serialize for Head {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Member for Head {
    fn slot(&mut self) -> Slot<'_> {
        self.0.slot()
    }
}

/// A part of the text that was shown.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_part"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct PartItem {
    /// The id of the item; absent for the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<String>,
    /// The digest of the text.
    digest: String,
    before: String,
    /// The text; absent if only a reference was shown, or it was redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Why the text was redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<String>,
    after: String,
    /// The key of the entry that the text was the value of.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The revision that wrote that value.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_revision: Option<u64>,
    /// True if auditors may see the text.
    evidence: bool,
}

/// Where a context became visible.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_injection"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct InjectionItem {
    injection: u64,
    envelope: u64,
    place: String,
    target: String,
    at: Time,
    by: String,
}

/// Missing context.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_missing"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct MissingItem {
    missing: u64,
    kind: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    envelope: Option<u64>,
    at: Time,
    by: String,
    /// The answer; absent, with what follows, while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<String>,
}

form! {
    ContextItem: last_envelope, last_injection, last_missing, envelopes, injections, missing
}
form! { EnvelopeItem: envelope, created_by, head, open, parts, close }
form! { PartItem: item, digest, before, text, redacted, after, key, key_revision, evidence }
form! { InjectionItem: injection, envelope, place, target, at, by }
form! {
    MissingItem: missing, kind, text, envelope, at, by, answer, answered_at, answered_by
}

impl ContextItem {
    /// Creates the item; `None` if nothing was ever kept.
    pub(crate) fn new(it: &KeptContext) -> Option<Self> {
        (!it.is_empty()).then(|| Self {
            last_envelope: it.last_envelope,
            last_injection: it.last_injection,
            last_missing: it.last_missing,
            envelopes: it.envelopes.iter().map(EnvelopeItem::new).collect(),
            injections: it.injections.iter().map(InjectionItem::new).collect(),
            missing: it.missing.iter().map(MissingItem::new).collect(),
        })
    }

    pub(crate) fn restore(&self) -> Result<KeptContext, Error> {
        Ok(KeptContext {
            last_envelope: self.last_envelope,
            last_injection: self.last_injection,
            last_missing: self.last_missing,
            envelopes: self
                .envelopes
                .iter()
                .map(EnvelopeItem::restore)
                .collect::<Result<_, _>>()?,
            injections: self
                .injections
                .iter()
                .map(InjectionItem::restore)
                .collect::<Result<_, _>>()?,
            missing: self.missing.iter().map(MissingItem::restore).collect::<Result<_, _>>()?,
        })
    }
}

impl EnvelopeItem {
    fn new(it: &KeptEnvelope) -> Self {
        Self {
            envelope: it.number,
            created_by: it.created_by.as_str().to_owned(),
            // What the core wrote is JSON.
            head: Head(RawValue::from_string(it.head.clone()).unwrap_or_default()),
            open: it.open.clone(),
            parts: it.parts.iter().map(PartItem::new).collect(),
            close: it.close.clone(),
        }
    }

    fn restore(&self) -> Result<KeptEnvelope, Error> {
        let value: Option<Value> = serde_json::from_slice(self.head.0.get().as_bytes()).ok();
        let head = value.and_then(|it| canonical::text(&it).ok());
        Ok(KeptEnvelope {
            number: self.envelope,
            created_by: Participant::parse(&self.created_by)?,
            head: head.ok_or_else(|| invalid("the head of an envelope is no JSON"))?,
            open: self.open.clone(),
            parts: self.parts.iter().map(PartItem::restore).collect::<Result<_, _>>()?,
            close: self.close.clone(),
        })
    }
}

impl PartItem {
    fn new(it: &Part) -> Self {
        let (text, redacted) = match &it.content {
            Content::Text(text) => (Some(text.clone()), None),
            Content::Redacted(reason) => (None, Some(reason.clone())),
            Content::Reference | Content::Withheld => (None, None),
        };
        Self {
            item: it.item.clone(),
            digest: it.digest.clone(),
            before: it.before.clone(),
            text,
            redacted,
            after: it.after.clone(),
            key: it.entry.as_ref().map(|(key, _)| key.as_str().to_owned()),
            key_revision: it.entry.as_ref().map(|(_, revision)| revision.0),
            evidence: it.is_evidence,
        }
    }

    fn restore(&self) -> Result<Part, Error> {
        let entry = match (&self.key, self.key_revision) {
            (Some(key), Some(revision)) => Some((Key::parse(key)?, Revision(revision))),
            (None, None) => None,
            _ => return Err(invalid("a part of an envelope has a key or its revision alone")),
        };
        Ok(Part {
            item: self.item.clone(),
            digest: self.digest.clone(),
            before: self.before.clone(),
            content: match (&self.text, &self.redacted) {
                (Some(text), None) => Content::Text(text.clone()),
                (None, Some(reason)) => Content::Redacted(reason.clone()),
                (None, None) => Content::Reference,
                (Some(_), Some(_)) => {
                    return Err(invalid("a part of an envelope is redacted and has its text"));
                }
            },
            after: self.after.clone(),
            entry,
            is_evidence: self.evidence,
        })
    }
}

impl InjectionItem {
    fn new(it: &Injection) -> Self {
        Self {
            injection: it.number,
            envelope: it.envelope.number,
            place: it.place.as_str().to_owned(),
            target: it.target.as_str().to_owned(),
            at: Time(it.at),
            by: it.by.as_str().to_owned(),
        }
    }

    fn restore(&self) -> Result<Injection, Error> {
        Ok(Injection {
            number: self.injection,
            envelope: KeptId::envelope(self.envelope),
            place: Place::parse(&self.place)?,
            target: Target::parse(&self.target)?,
            at: self.at.0,
            by: Participant::parse(&self.by)?,
        })
    }
}

impl MissingItem {
    fn new(it: &Missing) -> Self {
        let answer = it.answer.as_ref();
        Self {
            missing: it.id.number,
            kind: it.kind.as_str().to_owned(),
            text: it.text.clone(),
            envelope: it.envelope.map(|it| it.number),
            at: Time(it.at),
            by: it.by.as_str().to_owned(),
            answer: answer.map(|it| it.text.clone()),
            answered_at: answer.map(|it| Time(it.at)),
            answered_by: answer.map(|it| it.by.as_str().to_owned()),
        }
    }

    fn restore(&self) -> Result<Missing, Error> {
        let answer = match (&self.answer, self.answered_at, &self.answered_by) {
            (Some(text), Some(at), Some(by)) => {
                Some(Answer { text: text.clone(), at: at.0, by: Participant::parse(by)? })
            }
            (None, None, None) => None,
            _ => return Err(invalid("an answer to missing context is not complete")),
        };
        Ok(Missing {
            id: KeptId::missing(self.missing),
            kind: MissingKind::parse(&self.kind)?,
            text: self.text.clone(),
            envelope: self.envelope.map(KeptId::envelope),
            at: self.at.0,
            by: Participant::parse(&self.by)?,
            answer,
        })
    }
}
