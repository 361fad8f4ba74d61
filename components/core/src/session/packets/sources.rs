//! Collects the data of a session for a packet.

use serde_json::Value;

use super::OpenSession;
use crate::{
    Error,
    context::{
        kept::{Content, KeptEnvelope},
        stored::StoredContext,
    },
    digest,
    item::{Authority, Item, Kind},
    key::Key,
    kv::Bucket,
    packets::{
        Address, EntrySource, EnvelopeSource, MissingSource, Recipe, Sources, StateSource,
        WITHHELD_MAX,
    },
    participant::Role,
    rounds::stored::StoredRounds,
    store::Entry,
};

/// The prefix of the id of an item that is the state after a round.
const ROUND: &str = "round:";

impl<B: Bucket> OpenSession<'_, B> {
    /// Collects what the receiver of a packet and the caller may read, and the keys that the
    /// receiver may not. Redacted entries are no sources.
    pub(super) fn packet_sources(&self, recipe: &Recipe) -> Result<(Sources, Vec<Key>), Error> {
        let (mut sources, withheld) = self.sources(&|it| self.is_source(it, recipe))?;
        let mut envelopes = StoredContext(self.bucket).envelopes()?;
        envelopes.retain(|it| is_own_envelope(it, &recipe.address));
        sources.envelopes.extend(envelopes.pop().map(|it| envelope_source(&it)));
        Ok((sources, withheld))
    }

    /// Collects the entries that are sources, the state of the last round and open reports of missing
    /// context, as far as the caller may read them, and the keys that are no sources.
    pub(in crate::session) fn sources(
        &self,
        is_source: &dyn Fn(&Entry) -> bool,
    ) -> Result<(Sources, Vec<Key>), Error> {
        let (mut sources, mut withheld) = (Sources::default(), Vec::new());
        for entry in self.entries(None)? {
            if entry.is_redacted {
                continue;
            }
            if !is_source(&entry) {
                withheld.push(entry.key);
                continue;
            }
            let value = self.value(&entry)?;
            sources.entries.push(EntrySource {
                digest: digest::sha256(&value),
                key: entry.key,
                version: entry.version,
                value,
                written_by: entry.written_by,
                written_at: entry.written_at,
            });
        }
        withheld.truncate(WITHHELD_MAX);
        let rounds = StoredRounds(self.bucket);
        let last = rounds.rounds()?.last;
        if !self.is_limited() && last > 0 {
            let document = rounds.document(last)?.as_str().to_owned();
            sources.state = Some(StateSource { round: last, document });
        }
        let context = StoredContext(self.bucket);
        let mut missing = context.all_missing()?;
        missing.retain(|it| {
            it.answer.is_none() && (!self.is_limited() || it.by == self.caller.participant)
        });
        sources.missing = missing
            .into_iter()
            .map(|it| MissingSource { id: it.id.to_string(), text: it.text, reported_by: it.by })
            .collect();
        Ok((sources, withheld))
    }

    /// Returns true if an entry may be in a packet for its receiver, read by the caller.
    fn is_source(&self, entry: &Entry, recipe: &Recipe) -> bool {
        let is_named = recipe.keys.contains(&entry.key);
        let receiver = match &recipe.address {
            Address::Shared => "*",
            other => other.as_str(),
        };
        let is_for_receiver = || self.authorizer.may_all_read(&entry.key, &entry.access, receiver);
        match self.caller.participant.role() {
            Role::Agent => is_named || self.may_read(entry) && is_for_receiver(),
            Role::Orchestrator | Role::Admin => {
                self.may_read(entry) && (is_named || is_for_receiver())
            }
        }
    }
}

/// Returns true for an envelope that the receiver of a packet may read: its own.
fn is_own_envelope(it: &KeptEnvelope, address: &Address) -> bool {
    matches!(address, Address::Participant(receiver) if *receiver == it.created_by)
}

/// Returns the items of an envelope that are no entries and no states of rounds: these are sources
/// themselves, as they are now.
fn envelope_source(it: &KeptEnvelope) -> EnvelopeSource {
    let head: Value = serde_json::from_slice(it.head.as_bytes()).unwrap_or_default();
    let listed = head.get("items").and_then(Value::as_array);
    let about = |id: &str, member: &str| {
        let item = listed?.iter().find(|it| it.get("id").and_then(Value::as_str) == Some(id))?;
        item.get(member).and_then(Value::as_str)
    };
    let items = it.parts.iter().filter_map(|part| {
        let (id, Content::Text(text)) = (part.item.as_deref()?, &part.content) else { return None };
        if part.entry.is_some() || id.starts_with(ROUND) {
            return None;
        }
        let kind = Kind::parse(about(id, "kind")?).ok()?;
        let mut item = Item::inline(id, kind, text.clone());
        let authority = about(id, "authority").map(Authority::parse);
        item.source.authority = authority.and_then(Result::ok).unwrap_or_default();
        Some(item)
    });
    EnvelopeSource { id: it.id().to_string(), items: items.collect() }
}
