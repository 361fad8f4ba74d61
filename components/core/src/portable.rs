//! A whole session as one value that can be moved to another host (spec 8.5.3).
//!
//! It contains the state of the session, but no credentials, audit trail or request ids.

use std::collections::BTreeMap;

use crate::{
    config::Config,
    context::kept::KeptContext,
    key::Key,
    kv::Revision,
    packets::kept::KeptPackets,
    rounds::RoundHistory,
    scope::SessionId,
    store::{Entry, history::Version, snapshot::Snapshot},
    time::Timestamp,
};

/// An exported session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Portable {
    /// The id of the exported session.
    pub session: SessionId,
    /// True if the session is read-only.
    pub is_archived: bool,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// Its configuration.
    pub config: Config,
    /// Its entries, by key.
    pub entries: Vec<Entry>,
    /// Their earlier versions, by key, oldest first.
    pub history: Vec<Version>,
    /// Its snapshots, oldest first.
    pub snapshots: Vec<Snapshot>,
    /// The retained history of its rounds.
    pub rounds: RoundHistory,
    /// What it keeps of the context pipeline.
    pub context: KeptContext,
    /// What it keeps of packets.
    pub packets: KeptPackets,
    /// The values of all versions, by key and the revision that wrote them.
    pub values: BTreeMap<(Key, Revision), String>,
}
