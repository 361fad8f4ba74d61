//! Models the sources that a packet may have.

use serde_json::Value;
use shared_context_core::{
    Key,
    context::kept::{Content, KeptEnvelope},
    digest::sha256,
    item::{Authority, Item, Kind},
    packets::{Address, EntrySource, EnvelopeSource, MissingSource, Recipe, Sources, StateSource},
    pattern::Participants,
};

use super::super::state::{Model, StoredEntry, is_like, is_limited, name, sees_all};

impl Model {
    /// Returns what the receiver of a packet and `who` may read, and the keys that the receiver may
    /// not. The session is a view at one time.
    pub(super) fn packet_sources(&self, who: &str, recipe: &Recipe) -> (Sources, Vec<Key>) {
        let candidates = self.entries.values().filter(|it| !it.entry.is_redacted);
        let (open, withheld): (Vec<&StoredEntry>, Vec<&StoredEntry>) =
            candidates.partition(|it| self.is_source(who, it, recipe));
        let entry = |it: &StoredEntry| EntrySource {
            key: it.entry.key.clone(),
            version: it.entry.version,
            value: it.value.clone(),
            digest: sha256(&it.value),
            written_by: it.entry.written_by.clone(),
            written_at: it.entry.written_at,
        };
        let state = self.rounds.last_state().filter(|_| !is_limited(who));
        let missing =
            self.context.missing.iter().filter(|it| {
                it.answer.is_none() && (!is_limited(who) || it.by.as_str() == name(who))
            });
        let is_own = |it: &&KeptEnvelope| matches!(&recipe.address, Address::Participant(own) if *own == it.created_by);
        let sources = Sources {
            entries: open.into_iter().map(entry).collect(),
            state: state.map(|(round, document)| StateSource { round, document }),
            missing: missing
                .map(|it| MissingSource {
                    id: it.id.to_string(),
                    text: it.text.clone(),
                    reported_by: it.by.clone(),
                })
                .collect(),
            envelopes: self
                .context
                .envelopes
                .iter()
                .rev()
                .find(is_own)
                .map(envelope)
                .into_iter()
                .collect(),
        };
        (sources, withheld.into_iter().map(|it| it.entry.key.clone()).collect())
    }

    fn is_source(&self, who: &str, it: &StoredEntry, recipe: &Recipe) -> bool {
        let (key, own) = (&it.entry.key, &it.entry.access);
        let is_named = recipe.keys.contains(key);
        let receiver = match recipe.address.as_str() {
            "shared" => "*",
            other => other,
        };
        let covers = |list: &Participants| list.patterns().any(|it| is_like(it, receiver));
        let is_for_receiver = self.lists(key, own).all(|it| covers(&it.readable_by));
        let may_read = self.may_read(who, key, own);
        if sees_all(name(who)) {
            may_read && (is_named || is_for_receiver)
        } else {
            is_named || may_read && is_for_receiver
        }
    }
}

/// Returns the items of an envelope that are no entries and no states of rounds.
fn envelope(it: &KeptEnvelope) -> EnvelopeSource {
    let head: Value = serde_json::from_str(&it.head).unwrap();
    let items = it.parts.iter().filter_map(|part| {
        let (Some(id), Content::Text(text)) = (&part.item, &part.content) else { return None };
        if part.entry.is_some() || id.starts_with("round:") {
            return None;
        }
        let about = head["items"].as_array()?.iter().find(|it| it["id"] == id.as_str())?;
        let kind = Kind::parse(about["kind"].as_str()?).ok()?;
        let mut item = Item::inline(id.as_str(), kind, text.clone());
        item.source.authority = Authority::parse(about["authority"].as_str()?).ok()?;
        Some(item)
    });
    EnvelopeSource { id: format!("ENV-{}", it.number), items: items.collect() }
}
