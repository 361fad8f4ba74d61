//! The row `meta` of a project.

use serde::{Deserialize, Serialize};

use crate::{
    Error,
    reply::ProjectConfig,
    row::{decode, encode},
    scope::ProjectId,
    time::Timestamp,
};

/// The name of the row of [`Meta`].
pub(crate) const META: &str = "meta";

/// The metadata of a project, which every request loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meta {
    /// The incarnation of the project: the revision of its creation.
    pub(crate) incarnation: u64,
    /// The credential epoch: the time of its creation in milliseconds.
    pub(crate) credential_epoch: u64,
    pub(crate) created_at: Timestamp,
    pub(crate) changed_at: Timestamp,
    pub(crate) is_archived: bool,
    pub(crate) config: ProjectConfig,
    pub(crate) totals: Totals,
}

/// What the project has, and the last numbers that were given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Totals {
    /// The number of the newest memory.
    pub(crate) last_memory: u64,
    pub(crate) memories: u32,
    /// The bytes of memories with their versions.
    pub(crate) bytes: u64,
    /// The day of the newest decision, and its number of that day.
    pub(crate) last_decision: (u32, u32),
    pub(crate) sessions: u32,
}

/// The record of earlier versions, which had no memories.
#[derive(Serialize, Deserialize)]
struct OldRecord {
    incarnation: u64,
    credential_epoch: u64,
    created_at_ms: u64,
    changed_at_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct MetaRecord {
    old: OldRecord,
    is_archived: bool,
    memories_max: u32,
    totals: Totals,
}

impl Meta {
    /// Creates the metadata of a new project.
    pub(crate) fn new(incarnation: u64, now: Timestamp, config: ProjectConfig) -> Self {
        Self {
            incarnation,
            credential_epoch: now.0,
            created_at: now,
            changed_at: now,
            is_archived: false,
            config,
            totals: Totals::default(),
        }
    }

    /// Encodes the row.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, Error> {
        encode(&MetaRecord {
            old: OldRecord {
                incarnation: self.incarnation,
                credential_epoch: self.credential_epoch,
                created_at_ms: self.created_at.0,
                changed_at_ms: self.changed_at.0,
            },
            is_archived: self.is_archived,
            memories_max: self.config.memories_max,
            totals: self.totals.clone(),
        })
    }

    /// Decodes the row.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let old = |old: OldRecord| {
            let created_at = Timestamp(old.created_at_ms);
            let (incarnation, credential_epoch) = (old.incarnation, old.credential_epoch);
            let meta = Self::new(incarnation, created_at, ProjectConfig::default());
            Self { credential_epoch, changed_at: Timestamp(old.changed_at_ms), ..meta }
        };
        match decode::<MetaRecord>(bytes) {
            Ok(it) => Ok(Self {
                is_archived: it.is_archived,
                config: ProjectConfig { memories_max: it.memories_max },
                totals: it.totals,
                ..old(it.old)
            }),
            Err(error) => decode(bytes).map(old).map_err(|_| error),
        }
    }

    /// Returns what the ids of memories depend on.
    pub(crate) fn origin(&self, project: &ProjectId) -> String {
        format!("{project}/{}/{}", self.incarnation, self.credential_epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_project_without_memories_is_read() {
        let record = OldRecord {
            incarnation: 3,
            credential_epoch: 1_762_266_720_000,
            created_at_ms: 1_762_266_720_000,
            changed_at_ms: 1_762_266_720_001,
        };
        let meta = Meta::decode(&encode(&record).unwrap()).unwrap();
        assert_eq!((meta.incarnation, meta.changed_at), (3, Timestamp(1_762_266_720_001)));
        assert_eq!((meta.totals.memories, meta.config), (0, ProjectConfig::default()));
        assert_eq!(Meta::decode(&meta.encode().unwrap()).unwrap(), meta);
    }
}
