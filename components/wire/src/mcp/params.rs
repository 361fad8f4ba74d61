//! Parameters of a message, stored as they were sent.

use std::borrow::Cow;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::value::RawValue;

use super::fault::Fault;
use crate::http::{JsonText, Object, repeated};

/// Members of an object, in the order sent; no name occurs twice.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params<'b>(Vec<(Cow<'b, str>, &'b RawValue)>);

impl<'b> Params<'b> {
    /// Parses `raw`, an object that messages call `what`; `None` is empty.
    ///
    /// # Errors
    ///
    /// Invalid params: it is not an object, or repeats a member.
    pub(crate) fn parse(raw: Option<&'b RawValue>, what: &str) -> Result<Self, Fault> {
        let Some(raw) = raw else { return Ok(Self::default()) };
        serde_json::from_str(raw.get()).map_err(|_| {
            Fault::invalid_params(match raw.get().as_bytes().first() {
                Some(b'{') => format!("{what} has a member twice; send each once"),
                Some(b'"') => {
                    format!("{what} must be an object, not text; send it without the quotes")
                }
                _ => format!("{what} must be an object"),
            })
        })
    }

    /// Returns the member `name`; `None` if it is absent or null.
    pub(crate) fn get(&self, name: &str) -> Option<&'b RawValue> {
        let found = self.0.iter().find(|(it, _)| it == name).map(|(_, value)| *value);
        found.filter(|it| it.get() != "null")
    }

    /// Returns the text `name`, if it is given.
    ///
    /// # Errors
    ///
    /// Invalid params: it is not a string.
    pub(crate) fn text(&self, name: &str) -> Result<Option<Cow<'b, str>>, Fault> {
        let Some(raw) = self.get(name) else { return Ok(None) };
        match serde_json::from_str::<JsonText<'b>>(raw.get()) {
            Ok(JsonText(text)) => Ok(Some(text)),
            Err(_) => Err(Fault::invalid_params(format!("{name} must be a string"))),
        }
    }

    /// Returns the text `name`.
    ///
    /// # Errors
    ///
    /// Invalid params: it is absent or not a string.
    pub(crate) fn required_text(&self, name: &str) -> Result<Cow<'b, str>, Fault> {
        self.text(name)?.ok_or_else(|| Fault::invalid_params(format!("{name} is missing")))
    }

    /// Parses the member `name`, if it is given; `what` describes its type.
    ///
    /// # Errors
    ///
    /// Invalid params: it has another type.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        name: &str,
        what: &str,
    ) -> Result<Option<T>, Fault> {
        let Some(raw) = self.get(name) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map(Some)
            .map_err(|_| Fault::invalid_params(format!("{name} must be {what}")))
    }

    /// Removes the member `name`.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(it, _)| it != name);
        self
    }

    /// Returns true if there is a member `name`, even if it is null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(it, _)| it == name)
    }

    /// Returns the names of the members.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }
}

impl<'de: 'b, 'b> Deserialize<'de> for Params<'b> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let params = Self(deserializer.deserialize_map(Object)?);
        if repeated(params.names()).is_some() {
            return Err(D::Error::custom("a member occurs twice"));
        }
        Ok(params)
    }
}

/// Serializes the object that was sent.
impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_stored_as_they_were_sent() {
        let raw = RawValue::from_string(r#"{"a":"x","b":null,"\u0063":[1, 2],"d":7}"#.to_owned())
            .unwrap();
        let params = Params::parse(Some(&raw), "params").unwrap();
        assert_eq!(params.required_text("a").unwrap(), "x");
        assert_eq!(params.text("b").unwrap(), None);
        assert_eq!(params.get("c").unwrap().get(), "[1, 2]");
        assert!(params.text("d").unwrap_err().error.message.contains("d must be a string"));
        assert!(params.required_text("e").unwrap_err().error.message.contains("e is missing"));
        assert_eq!(params.read::<u64>("d", "a number").unwrap(), Some(7));
        let fault = params.read::<u64>("a", "a number").unwrap_err();
        assert_eq!(fault.error.message, "a must be a number");
        assert!(params.has("b") && !params.has("e"));
        let rest = serde_json::to_string(&params.without("a").without("b")).unwrap();
        assert_eq!(rest, r#"{"c":[1, 2],"d":7}"#);
    }

    /// Each name was once compared with all before it: 240 KB took seconds.
    #[test]
    fn many_members_are_parsed_in_an_instant() {
        let members: Vec<String> = (0..100_000).map(|nth| format!("\"{nth}\":1")).collect();
        let raw = RawValue::from_string(format!("{{{}}}", members.join(","))).unwrap();
        assert_eq!(Params::parse(Some(&raw), "params").unwrap().names().count(), 100_000);
    }

    /// Some parsers take the first of two equal members, others the last: a proxy might see another
    /// request than the one performed.
    #[test]
    fn a_repeated_member_is_rejected() {
        for raw in [r#"{"a":1,"a":2}"#, r#"{"a":1,"\u0061":2}"#, "[]", "7"] {
            let raw = RawValue::from_string(raw.to_owned()).unwrap();
            assert!(Params::parse(Some(&raw), "params").is_err(), "{raw}");
        }
    }
}
