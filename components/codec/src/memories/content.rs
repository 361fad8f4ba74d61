//! The content of a memory in requests and replies: an object whose members depend on the kind
//! (spec 19.1).

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::Error as _,
};
use serde_json::value::RawValue;
use shared_context_core::{
    Error,
    memories::{Content, Kind, Value},
};

use crate::form::{Member, Slot};

/// The content of a memory in a request.
#[derive(Debug, Default)]
pub(crate) struct ContentMember(pub(crate) Box<RawValue>);

impl Member for ContentMember {
    fn slot(&mut self) -> Slot<'_> {
        self.0.slot()
    }
}

/// Returns JSON as it is, which must be valid.
pub(crate) fn raw(json: String) -> Box<RawValue> {
    RawValue::from_string(json).unwrap_or_default()
}

impl Serialize for ContentMember {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// The content of a memory, as it is.
pub(super) struct ContentText(pub(super) String);

impl Serialize for ContentText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(self.0.as_bytes()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

#[cfg(feature = "schema")]
macro_rules! schema_of_content {
    ($($it:ty),+) => {
        $(impl schemars::JsonSchema for $it {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                "memory_content".into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "object"})
            }
        })+
    };
}

#[cfg(feature = "schema")]
schema_of_content!(ContentMember, ContentText);

impl ContentMember {
    /// Returns the content of a memory of this kind.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`.
    pub(crate) fn content(&self, kind: Kind) -> Result<Content, Error> {
        let members = self.members()?.into_iter().map(|(name, value)| match value {
            Some(value) => Ok((name, value)),
            None => Err(Error::malformed(format!("content.{name} is null; leave it out"))),
        });
        Content::new(kind, members.collect::<Result<_, _>>()?)
    }

    /// Returns the members of the object; `None` for null.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`.
    pub(super) fn members(&self) -> Result<Vec<(String, Option<Value>)>, Error> {
        let Ok(Members(members)) = serde_json::from_str(self.0.get()) else {
            return Err(Error::malformed(
                "content must be an object, for example {\"lesson\":\"Retry with backoff\"}",
            ));
        };
        let mut read: Vec<(String, Option<Value>)> = Vec::new();
        for (name, value) in members {
            if read.iter().any(|it| it.0 == name) {
                return Err(Error::malformed(format!("content.{name} occurs twice; send it once")));
            }
            let value = match value {
                serde_json::Value::Null => None,
                other => Some(value_of(&name, other)?),
            };
            read.push((name, value));
        }
        Ok(read)
    }
}

/// The members of an object in their order, repeated ones as well.
struct Members(Vec<(String, serde_json::Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReadMembers)
    }
}

struct ReadMembers;

impl<'de> Visitor<'de> for ReadMembers {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

fn value_of(name: &str, value: serde_json::Value) -> Result<Value, Error> {
    use serde_json::Value as Json;
    let wrong = || {
        let shown: String = name.chars().take(80).collect();
        Error::malformed(format!(
            "content.{shown} must be a text, a list of texts or a whole number, as the type of the \
             memory has it"
        ))
    };
    match value {
        Json::String(text) => Ok(Value::Text(text)),
        Json::Number(number) => {
            crate::json::parse_whole(&number.to_string()).map(Value::Number).ok_or_else(wrong)
        }
        Json::Array(items) => {
            let texts = items.into_iter().map(|it| match it {
                Json::String(text) => Ok(text),
                _ => Err(wrong()),
            });
            texts.collect::<Result<_, _>>().map(Value::Texts)
        }
        _ => Err(wrong()),
    }
}
