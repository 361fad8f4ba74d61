//! A handoff in the document of a project.

use serde::Serialize;
use serde_json::Value;
use shared_context_core::{
    Error, Line,
    budget::{Omission, Reason},
    canonical,
    handoffs::{Handoff, HandoffId, HandoffKind, HandoffState, Party, Trigger},
    memories::Origins,
    portable::PortableHandoff,
    tokens::Tokens,
};

use super::{memory_item::number, section_item::PartyItem};
use crate::{
    form::form, handoffs::CoreDocument, json::Time, memories::content::raw, values::invalid,
};

/// A handoff with its package.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_handoff"))]
#[serde(deny_unknown_fields)]
pub(super) struct HandoffItem {
    /// Its id.
    pub(super) handoff_id: String,
    /// `complete`, `specialist`, `continuation` or `emergency`.
    handoff_type: String,
    reason: String,
    /// `accepted`, `declined` or `expired`.
    state: String,
    from: PartyItem,
    to: PartyItem,
    is_takeover: bool,
    offered_at: Time,
    expires_at: Time,
    /// When and by which party it was accepted or declined.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_by: Option<PartyItem>,
    /// Why it was declined.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The markers of the sections whose ownership it transferred.
    sections: Vec<String>,
    max_tokens: u32,
    /// The tokens of the package.
    tokens: u32,
    /// The digest of the package.
    digest: String,
    /// The digest of the handoff by which the agent received the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    /// The memory that the acceptance added.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_id: Option<String>,
    /// The memories in the package.
    named: Vec<String>,
    /// The package; absent if it was redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<CoreDocument>,
    /// What did not fit the package.
    omitted: Vec<OmittedItem>,
    /// Why the package was redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<String>,
}

form! {
    HandoffItem:
    handoff_id, handoff_type, reason, state, from, to, is_takeover, offered_at, expires_at, settled_at,
    settled_by, note, sections, max_tokens, tokens, digest, previous, memory_id, named, package, omitted,
    redacted
}

/// What did not fit a package.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_omitted"))]
#[serde(deny_unknown_fields)]
struct OmittedItem {
    item: String,
    /// The tokens that it needs.
    tokens: u64,
    /// The tokens that were left.
    tokens_left: u64,
}

form! { OmittedItem: item, tokens, tokens_left }

fn party(it: &Party) -> PartyItem {
    PartyItem::new(&it.participant, it.session.as_ref())
}

fn read_party(it: &PartyItem) -> Result<Party, Error> {
    let (participant, session) = it.read()?;
    Ok(Party { participant, session })
}

impl HandoffItem {
    pub(super) fn new(it: &PortableHandoff, origins: &Origins) -> Self {
        let one = &it.handoff;
        let id = |number: u64| origins.id(number).to_string();
        let line = |it: &Option<Line>| it.as_ref().map(|it| it.as_str().to_owned());
        let omitted = |it: &Omission| {
            let number = |nth: usize| it.numbers.get(nth).map_or(0, |it| it.1);
            OmittedItem { item: it.item.clone(), tokens: number(0), tokens_left: number(1) }
        };
        Self {
            handoff_id: one.id.to_string(),
            handoff_type: one.kind.as_str().to_owned(),
            reason: one.reason.as_str().to_owned(),
            state: one.state.as_str().to_owned(),
            from: party(&one.from),
            to: party(&one.to),
            is_takeover: one.is_takeover,
            offered_at: Time(one.offered_at),
            expires_at: Time(one.expires_at),
            settled_at: one.settled.as_ref().map(|it| Time(it.0)),
            settled_by: one.settled.as_ref().map(|it| party(&it.1)),
            note: line(&one.note),
            sections: one.sections.clone(),
            max_tokens: one.budget.0,
            tokens: one.tokens.0,
            digest: one.digest.clone(),
            previous: one.previous.clone(),
            memory_id: one.memory.map(id),
            named: one.named.iter().copied().map(id).collect(),
            package: it.package.clone().map(|it| CoreDocument(raw(it))),
            omitted: it.omitted.iter().map(omitted).collect(),
            redacted: line(&one.redacted),
        }
    }

    pub(super) fn handoff(self, origins: &Origins) -> Result<PortableHandoff, Error> {
        let line = |name: &str, it: Option<String>| it.map(|it| Line::parse(name, &it)).transpose();
        let settled_by = self.settled_by.as_ref().map(read_party).transpose()?;
        if settled_by.is_some() != self.settled_at.is_some() {
            return Err(invalid("settled_at and settled_by are there together"));
        }
        let named = self.named.iter().map(|it| number(it, origins));
        let omitted = self.omitted.into_iter().map(|it| Omission {
            item: it.item,
            reason: Reason::OverBudget,
            numbers: vec![("tokens", it.tokens), ("tokens_left", it.tokens_left)],
            other: None,
        });
        let package = self.package.map(|it| {
            // Proxies may write the same JSON in another way.
            let value: Value = serde_json::from_slice(it.0.get().as_bytes()).unwrap_or_default();
            canonical::text(&value).unwrap_or_default()
        });
        let handoff = Handoff {
            id: HandoffId::parse(&self.handoff_id)?,
            kind: HandoffKind::parse(&self.handoff_type)?,
            reason: Trigger::parse(&self.reason)?,
            state: HandoffState::parse(&self.state)?,
            from: read_party(&self.from)?,
            to: read_party(&self.to)?,
            is_takeover: self.is_takeover,
            offered_at: self.offered_at.0,
            expires_at: self.expires_at.0,
            settled: self.settled_at.map(|it| it.0).zip(settled_by),
            note: line("note", self.note)?,
            sections: self.sections,
            budget: Tokens(self.max_tokens),
            tokens: Tokens(self.tokens),
            digest: self.digest,
            previous: self.previous,
            memory: self.memory_id.map(|it| number(&it, origins)).transpose()?,
            named: named.collect::<Result<_, _>>()?,
            redacted: line("redacted", self.redacted)?,
        };
        Ok(PortableHandoff { handoff, package, omitted: omitted.collect() })
    }
}
