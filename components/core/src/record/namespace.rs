//! The row `namespace`: a session's own key conventions.

use serde::{Deserialize, Serialize};

use crate::{
    Error,
    namespace::{Convention, Namespace},
    row::{decode, encode, stored_key},
    tokens::Tokens,
};

#[derive(Serialize, Deserialize)]
struct ConventionRecord {
    key: String,
    group: String,
    purpose: String,
    shape: Option<String>,
    recommended_tokens: Option<u32>,
}

/// Encodes a session's own namespace.
pub(crate) fn encode_namespace(namespace: &Namespace) -> Result<Vec<u8>, Error> {
    let keys = namespace.keys.iter().cloned().map(|it| ConventionRecord {
        key: it.key.as_str().to_owned(),
        group: it.group,
        purpose: it.purpose,
        shape: it.shape,
        recommended_tokens: it.recommended_tokens.map(|it| it.0),
    });
    encode(&keys.collect::<Vec<_>>())
}

/// Decodes a session's own namespace.
pub(crate) fn decode_namespace(bytes: &[u8]) -> Result<Namespace, Error> {
    let records: Vec<ConventionRecord> = decode(bytes)?;
    let keys = records.into_iter().map(|it| {
        Ok(Convention {
            key: stored_key(&it.key)?,
            group: it.group,
            purpose: it.purpose,
            shape: it.shape,
            recommended_tokens: it.recommended_tokens.map(Tokens),
        })
    });
    Ok(Namespace { keys: keys.collect::<Result<_, Error>>()? })
}
