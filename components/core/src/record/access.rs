//! The row `access`: a session's access rules.

use serde::{Deserialize, Serialize};

use crate::{
    Error,
    pattern::KeyPattern,
    row::{damaged, decode, encode, list_to_store, stored_list},
    store::access::{Access, AccessRule},
};

#[derive(Serialize, Deserialize)]
struct RuleRecord {
    keys: String,
    readable_by: Vec<String>,
    writable_by: Vec<String>,
}

/// Encodes a session's access rules.
pub(crate) fn encode_rules(rules: &[AccessRule]) -> Result<Vec<u8>, Error> {
    let rules = rules.iter().map(|it| RuleRecord {
        keys: it.keys.as_str().to_owned(),
        readable_by: list_to_store(&it.access.readable_by),
        writable_by: list_to_store(&it.access.writable_by),
    });
    encode(&rules.collect::<Vec<_>>())
}

/// Decodes a session's access rules.
pub(crate) fn decode_rules(bytes: &[u8]) -> Result<Vec<AccessRule>, Error> {
    let rules: Vec<RuleRecord> = decode(bytes)?;
    let rules = rules.into_iter().map(|it| {
        Ok(AccessRule {
            keys: KeyPattern::parse(&it.keys).map_err(damaged)?,
            access: Access {
                readable_by: stored_list(&it.readable_by)?,
                writable_by: stored_list(&it.writable_by)?,
            },
        })
    });
    rules.collect()
}
