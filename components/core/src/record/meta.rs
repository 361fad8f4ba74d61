//! The row `meta`.

use serde::{Deserialize, Serialize};

use super::{damaged, decode, encode};
use crate::{
    Error,
    port::Revision,
    store::{Limits, Totals},
    time::Timestamp,
    tokens::{Estimator, Tokens},
};

/// What every request on a session needs to know of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meta {
    pub(crate) is_archived: bool,
    pub(crate) incarnation: u64,
    pub(crate) credential_epoch: u64,
    created_at_ms: u64,
    changed_at_ms: u64,
    estimator: String,
    value_tokens_max: u32,
    store_tokens_max: u32,
    keys_max: u32,
    pub(crate) has_own_namespace: bool,
    key_count: u32,
    total_tokens: u32,
}

impl Meta {
    /// The record of a session that is created now.
    pub(crate) fn new(
        incarnation: Revision,
        now: Timestamp,
        limits: &Limits,
        estimator: Estimator,
        has_own_namespace: bool,
    ) -> Self {
        Self {
            is_archived: false,
            incarnation: incarnation.0,
            credential_epoch: 0,
            created_at_ms: now.0,
            changed_at_ms: now.0,
            estimator: estimator.as_str().to_owned(),
            value_tokens_max: limits.value_tokens_max.0,
            store_tokens_max: limits.store_tokens_max.0,
            keys_max: limits.keys_max,
            has_own_namespace,
            key_count: 0,
            total_tokens: 0,
        }
    }

    pub(crate) fn created_at(&self) -> Timestamp {
        Timestamp(self.created_at_ms)
    }

    pub(crate) fn changed_at(&self) -> Timestamp {
        Timestamp(self.changed_at_ms)
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits {
            value_tokens_max: Tokens(self.value_tokens_max),
            store_tokens_max: Tokens(self.store_tokens_max),
            keys_max: self.keys_max,
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        Totals { keys: self.key_count, tokens: Tokens(self.total_tokens) }
    }

    /// The same session after a change at `now` that left it with `totals`.
    pub(crate) fn changed(&self, now: Timestamp, totals: Totals) -> Self {
        let (key_count, total_tokens) = (totals.keys, totals.tokens.0);
        Self { changed_at_ms: now.0, key_count, total_tokens, ..self.clone() }
    }

    /// How the session counts tokens.
    ///
    /// # Errors
    ///
    /// [`Error::Storage`]: this version does not have the session's estimator.
    pub(crate) fn estimator(&self) -> Result<Estimator, Error> {
        Estimator::ALL
            .into_iter()
            .find(|it| it.as_str() == self.estimator)
            .ok_or_else(|| damaged(format!("estimator {:?} is not known", self.estimator)))
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, Error> {
        encode(self)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        decode(bytes)
    }
}
