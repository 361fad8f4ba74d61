//! Members of requests that have members of their own, or more than one form.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor, value::SeqAccessDeserializer},
};

use super::parts::{SentDelete, SentOptions, SentWrite};
use crate::json::Time;

/// Keys one by one, or as a pattern.
#[derive(Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(untagged))]
pub(crate) enum Keys {
    /// For `read_batch`.
    List(Vec<String>),
    /// For `changes`.
    Pattern(String),
}

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of keys, or a pattern")
            }

            fn visit_str<E>(self, text: &str) -> Result<Keys, E> {
                Ok(Keys::Pattern(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Keys, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Keys::List)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// One write of a batch.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "batch_write"))]
#[serde(deny_unknown_fields)]
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

impl From<WriteForm> for SentWrite {
    fn from(it: WriteForm) -> Self {
        Self {
            key: it.key,
            value: it.value,
            if_version: it.if_version,
            if_revision: it.if_revision,
            options: SentOptions {
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
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "batch_delete"))]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteForm {
    /// The key.
    key: String,
    /// Only if the entry has this version.
    if_version: Option<u64>,
    /// Only if the entry was last written at this revision.
    if_revision: Option<u64>,
}

impl From<DeleteForm> for SentDelete {
    fn from(it: DeleteForm) -> Self {
        Self { key: it.key, if_version: it.if_version, if_revision: it.if_revision }
    }
}
