//! The rows of a project: `meta`.

use serde::{Deserialize, Serialize};

use crate::{
    Error,
    row::{decode, encode},
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
}

#[derive(Serialize, Deserialize)]
struct MetaRecord {
    incarnation: u64,
    credential_epoch: u64,
    created_at_ms: u64,
    changed_at_ms: u64,
}

impl Meta {
    /// Encodes the row.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, Error> {
        encode(&MetaRecord {
            incarnation: self.incarnation,
            credential_epoch: self.credential_epoch,
            created_at_ms: self.created_at.0,
            changed_at_ms: self.changed_at.0,
        })
    }

    /// Decodes the row.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let it: MetaRecord = decode(bytes)?;
        Ok(Self {
            incarnation: it.incarnation,
            credential_epoch: it.credential_epoch,
            created_at: Timestamp(it.created_at_ms),
            changed_at: Timestamp(it.changed_at_ms),
        })
    }
}
