//! The row `meta` of a project.

use serde::{Deserialize, Serialize};

use crate::{
    Error,
    config::ProjectConfig,
    memories::Origins,
    row::{damaged, decode, encode},
    scope::ProjectId,
    time::Timestamp,
    tokens::Estimator,
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
    /// The origins of the ids of imported memories.
    pub(crate) origins: Origins,
    /// The first number of memories that are added here.
    pub(crate) first_memory: u64,
    /// An import that is not finished. The project is read-only meanwhile.
    pub(crate) import: Option<Import>,
}

/// An import of several pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Import {
    /// The place where the last page that was imported ended.
    pub(crate) until: u64,
    /// The digest of what all pages have in common.
    pub(crate) digest: [u8; 16],
}

/// The totals of a project, and the last numbers that were given.
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

/// The record of a project that was imported, or does not count approximately.
#[derive(Serialize, Deserialize)]
struct WholeRecord {
    base: MetaRecord,
    estimator: String,
    origins: Vec<(u64, String)>,
    first_memory: u64,
    import: Option<Import>,
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
            origins: Origins::default(),
            first_memory: 1,
            import: None,
        }
    }

    /// Encodes the row.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, Error> {
        let base = MetaRecord {
            old: OldRecord {
                incarnation: self.incarnation,
                credential_epoch: self.credential_epoch,
                created_at_ms: self.created_at.0,
                changed_at_ms: self.changed_at.0,
            },
            is_archived: self.is_archived,
            memories_max: self.config.memories_max,
            totals: self.totals.clone(),
        };
        let estimator = self.config.estimator.as_str();
        if self.first_memory == 1 && self.import.is_none() && self.has_default_estimator() {
            // Earlier versions read it as well.
            return encode(&base);
        }
        encode(&WholeRecord {
            base,
            estimator: estimator.to_owned(),
            origins: self.origins.all().to_vec(),
            first_memory: self.first_memory,
            import: self.import.clone(),
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
        let base = |it: MetaRecord| Self {
            is_archived: it.is_archived,
            config: ProjectConfig { memories_max: it.memories_max, ..ProjectConfig::default() },
            totals: it.totals,
            ..old(it.old)
        };
        if let Ok(it) = decode::<WholeRecord>(bytes) {
            let mut meta = base(it.base);
            meta.config.estimator = Estimator::parse(&it.estimator).map_err(damaged)?;
            meta.origins = Origins::new(it.origins).map_err(damaged)?;
            meta.first_memory = it.first_memory;
            meta.import = it.import;
            return Ok(meta);
        }
        match decode::<MetaRecord>(bytes) {
            Ok(it) => Ok(base(it)),
            Err(error) => decode(bytes).map(old).map_err(|_| error),
        }
    }

    fn has_default_estimator(&self) -> bool {
        self.config.estimator == Estimator::Approximate
    }

    /// Returns where memories got their ids, those that are added here included.
    pub(crate) fn origins(&self, project: &ProjectId) -> Origins {
        self.origins.clone().with(self.first_memory, self.origin(project))
    }

    /// Returns what the ids of memories that are added here depend on.
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
        assert_eq!((meta.totals.memories, &meta.config), (0, &ProjectConfig::default()));
        assert_eq!(Meta::decode(&meta.encode().unwrap()).unwrap(), meta);
    }
}
