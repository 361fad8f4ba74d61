//! Request members that are objects.

use super::input::{DeleteInput, OptionsInput, WriteInput};
use crate::{form::form, json::Time};

/// One write of a batch.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "batch_write"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct WriteForm {
    /// The key.
    key: String,
    /// The text to store.
    value: String,
    /// Only if the entry has this version; 0: only if the key does not exist.
    if_version: Option<u64>,
    /// Only if the entry was last written at this revision.
    if_revision: Option<u64>,
    /// The entry expires this many seconds after the write.
    ttl_seconds: Option<u64>,
    /// The entry expires at this instant.
    expires_at: Option<Time>,
    /// Who may read the entry.
    readable_by: Option<Vec<String>>,
    /// Who may write the entry.
    writable_by: Option<Vec<String>>,
    /// Whether earlier versions of the entry are kept.
    history: Option<bool>,
}

form! {
    WriteForm:
    key, value, if_version, if_revision, ttl_seconds, expires_at, readable_by, writable_by, history
}

impl From<WriteForm> for WriteInput {
    fn from(it: WriteForm) -> Self {
        Self {
            key: it.key,
            value: it.value,
            if_version: it.if_version,
            if_revision: it.if_revision,
            options: OptionsInput {
                ttl_seconds: it.ttl_seconds,
                expires_at: it.expires_at.map(|it| it.0),
                readable_by: it.readable_by,
                writable_by: it.writable_by,
                history: it.history,
            },
        }
    }
}

/// One delete of a batch.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "batch_delete"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct DeleteForm {
    /// The key.
    key: String,
    /// Only if the entry has this version.
    if_version: Option<u64>,
    /// Only if the entry was last written at this revision.
    if_revision: Option<u64>,
}

form! { DeleteForm: key, if_version, if_revision }

impl From<DeleteForm> for DeleteInput {
    fn from(it: DeleteForm) -> Self {
        Self { key: it.key, if_version: it.if_version, if_revision: it.if_revision }
    }
}
