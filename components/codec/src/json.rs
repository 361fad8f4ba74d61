//! JSON in and out: strict parsing with errors that name the member, and the
//! forms of times.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use shared_context_core::time::Timestamp;

/// Why bytes are not what was expected, for the one who sent them.
#[derive(Debug)]
pub(crate) struct ParseError(pub(crate) String);

/// Parses `bytes` as one JSON object of the shape of `T`.
pub(crate) fn parse<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, ParseError> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut json).map_err(|err| {
        let path = err.path().to_string();
        let what = err.into_inner();
        let where_ = if path == "." { String::new() } else { format!("{path}: ") };
        ParseError(format!("{where_}{what}"))
    })?;
    let Object(parsed) = parsed;
    json.end().map_err(|err| ParseError(err.to_string()))?;
    Ok(parsed)
}

/// A `T` that is written as a JSON object. (A derived struct alone would take
/// an array of its members as well.)
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsObject<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for AsObject<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(AsObject(PhantomData)).map(Object)
    }
}

/// An instant as RFC 3339 in UTC; milliseconds are shown when there are any, so
/// that whole seconds look as in 000 §3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Timestamp);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Timestamp(ms) = self.0;
        let at = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        let at = at.unwrap_or(jiff::Timestamp::MAX);
        if ms.is_multiple_of(1_000) { write!(f, "{at:.0}") } else { write!(f, "{at:.3}") }
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_seconds_look_as_in_the_seed() {
        let shown = |ms| Time(Timestamp(ms)).to_string();
        assert_eq!(shown(1_771_597_800_000), "2026-02-20T14:30:00Z");
        assert_eq!(shown(1_771_597_800_120), "2026-02-20T14:30:00.120Z");
        assert_eq!(shown(0), "1970-01-01T00:00:00Z");
        assert!(shown(u64::MAX).starts_with("9999-12-30T"), "{}", shown(u64::MAX));
    }
}
