//! What portable documents have in common: the raw text of one in a request, and values, each stored once
//! under its digest.

use std::{collections::BTreeMap, marker::PhantomData};

use serde::Serialize;
use serde_json::value::RawValue;
use shared_context_core::{Error, digest::sha256};

use crate::{
    form::{Member, Slot},
    json::ParseError,
    refusal::malformed,
};

/// Raw text of a document of the form `F`, which is parsed separately.
#[derive(Debug, Default)]
pub(crate) struct RawDocument<F>(pub(crate) Box<RawValue>, PhantomData<F>);

impl<F> Member for RawDocument<F> {
    fn slot(&mut self) -> Slot<'_> {
        self.0.slot()
    }
}

#[cfg(feature = "schema")]
impl<F: schemars::JsonSchema> schemars::JsonSchema for RawDocument<F> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        F::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"anyOf": [generator.subschema_for::<F>()]})
    }
}

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
