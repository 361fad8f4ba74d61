//! The data of a session for a packet (spec 18.3).

use crate::{item::Item, key::Key, participant::Participant, time::Timestamp};

/// The data of a session for a packet, as far as its receiver may read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// Entries of the store.
    pub entries: Vec<EntrySource>,
    /// The state of the last round.
    pub state: Option<StateSource>,
    /// Open reports of missing context.
    pub missing: Vec<MissingSource>,
    /// Kept envelopes.
    pub envelopes: Vec<EnvelopeSource>,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntrySource {
    /// The key.
    pub key: Key,
    /// The version.
    pub version: u64,
    /// The value.
    pub value: String,
    /// The digest of the value.
    pub digest: String,
    /// The participant that wrote it.
    pub written_by: Participant,
    /// The time when it was written.
    pub written_at: Timestamp,
}

/// The state of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateSource {
    /// The round.
    pub round: u64,
    /// The state, as JSON.
    pub document: String,
}

/// A report of missing context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSource {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// The participant that reported it.
    pub reported_by: Participant,
}

/// A kept envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvelopeSource {
    /// Its id.
    pub id: String,
    /// The items whose texts it has, in their order.
    pub items: Vec<Item>,
}
