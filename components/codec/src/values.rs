//! The values of a portable document: each stands in it once, named by its digest.

use std::collections::BTreeMap;

use serde::Serialize;
use shared_context_core::{Error, digest::sha256};

use crate::{
    form::{Member, Slot},
    json::ParseError,
    refusal::malformed,
};

/// The values of a document, by their digests.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Values(pub(crate) BTreeMap<String, String>);

impl Member for Values {
    fn slot(&mut self) -> Slot<'_> {
        self.0.slot()
    }
}

impl Values {
    /// Puts a value in; tells its digest.
    pub(crate) fn add(&mut self, value: String) -> String {
        let digest = sha256(&value);
        self.0.insert(digest.clone(), value);
        digest
    }

    /// Returns the value of this digest.
    pub(crate) fn named(&self, digest: &str) -> Result<&str, Error> {
        self.0.get(digest).map(String::as_str).ok_or_else(|| {
            let shown: String = digest.chars().take(80).collect();
            wrong(&format!("values.{shown} is missing"))
        })
    }
}

/// Says what is wrong with a document.
pub(crate) fn wrong(what: &str) -> Error {
    malformed(ParseError(format!("document: {what}")))
}
