//! The values of a portable document: each is stored once, under its digest.

use std::collections::BTreeMap;

use serde::Serialize;
use shared_context_core::{Error, digest::sha256};

use crate::{
    form::{Member, Slot},
    json::ParseError,
    refusal::malformed,
};

/// Values of a document, by digest.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Values(pub(crate) BTreeMap<String, String>);

impl Member for Values {
    fn slot(&mut self) -> Slot<'_> {
        self.0.slot()
    }
}

impl Values {
    /// Adds a value, and returns its digest.
    pub(crate) fn add(&mut self, value: String) -> String {
        let digest = sha256(&value);
        self.0.insert(digest.clone(), value);
        digest
    }

    /// Returns the value with this digest.
    pub(crate) fn get(&self, digest: &str) -> Result<&str, Error> {
        self.0.get(digest).map(String::as_str).ok_or_else(|| {
            let shown: String = digest.chars().take(80).collect();
            invalid(&format!("values.{shown} is missing"))
        })
    }
}

/// Builds the error for an invalid document.
pub(crate) fn invalid(what: &str) -> Error {
    malformed(ParseError(format!("document: {what}")))
}
