//! A whole session as one value that can be carried to another place (spec 8.5.3).
//!
//! It holds what the session is, not what was done with it: no credentials, no
//! audit trail, no request ids.

use std::collections::BTreeMap;

use crate::{
    config::Config,
    key::Key,
    kv::Revision,
    rounds::RoundHistory,
    scope::SessionId,
    store::{Entry, history::Version, snapshot::Snapshot},
    time::Timestamp,
};

/// A session, outside of any storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Portable {
    /// Its id where it came from.
    pub session: SessionId,
    /// Whether it is read-only.
    pub is_archived: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// What it was created with.
    pub config: Config,
    /// Its entries, by key.
    pub entries: Vec<Entry>,
    /// Their earlier versions, by key, oldest first.
    pub history: Vec<Version>,
    /// Its snapshots, oldest first.
    pub snapshots: Vec<Snapshot>,
    /// What is kept of its rounds.
    pub rounds: RoundHistory,
    /// The value of every version in it, by its key and the revision it was
    /// written at.
    pub values: BTreeMap<(Key, Revision), String>,
}
