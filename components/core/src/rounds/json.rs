//! JSON as a round state holds it: checked where it enters, kept in one form.

use std::fmt;

use serde_json::Value;

use super::path::{Step, find};
use crate::{Error, canonical};

/// How deep JSON may nest; the steps of the path it is put at count too.
pub const DEPTH_MAX: usize = 32;
/// The largest integer that every reader of JSON knows exactly (RFC 7493 §2.2).
const INTEGER_MAX: u64 = (1 << 53) - 1;

/// A JSON value in canonical form (RFC 8785): what is equal has the same text.
///
/// # Invariant
///
/// Its text is canonical, nests at most [`DEPTH_MAX`] deep, and every integer in
/// it is exact in every reader.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Json(String);

impl Json {
    /// Checks `text` and takes it as a JSON value.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when it is no JSON, nests too deep, names a member of an
    /// object twice, or has an integer beyond 2^53 - 1.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parse_to(DEPTH_MAX, text)
    }

    /// As [`Json::parse`], for what nests at most so deep.
    pub(super) fn parse_to(depth_max: usize, text: &str) -> Result<Self, Error> {
        // Before it is read: reading what nests deep takes a stack as deep.
        let Outline { depth, members } = Outline::of(text);
        if depth > depth_max {
            return Err(Error::malformed(format!(
                "the value nests deeper than {depth_max}; state what follows from it instead"
            )));
        }
        // From bytes, as all JSON is read: a reader of text would be a second one.
        let value: Value = serde_json::from_slice(text.as_bytes())
            .map_err(|err| Error::malformed(format!("the value is no JSON: {err}")))?;
        // A map keeps the last of two.
        if members != count_members(&value) {
            return Err(Error::malformed(
                "the value has an object that names a member twice, of which readers keep another \
                 one each (RFC 7493); name it once",
            ));
        }
        if !is_exact(&value) {
            return Err(Error::malformed(
                "the value has an integer beyond 9007199254740991, which not every reader knows \
                 exactly (RFC 7493); write it as a string",
            ));
        }
        Self::from_value(&value)
    }

    /// `value`, which is part of one that was checked.
    pub(crate) fn from_value(value: &Value) -> Result<Self, Error> {
        canonical::text(value)
            .map(Self)
            .map_err(|err| Error::malformed(format!("the value has no canonical form: {err}")))
    }

    /// Takes `text`, which was stored as canonical.
    pub(crate) fn stored(text: String) -> Self {
        Self(text)
    }

    /// Its canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its size: bytes of its canonical text.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// The value itself.
    pub(crate) fn value(&self) -> Value {
        // Canonical text is JSON.
        serde_json::from_slice(self.0.as_bytes()).unwrap_or_default()
    }

    /// Whether it has something at the end of `steps`.
    pub(crate) fn has(&self, steps: &[Step]) -> bool {
        find(&self.value(), steps).is_some()
    }

    /// How deep it nests.
    pub(crate) fn depth(&self) -> usize {
        Outline::of(&self.0).depth
    }

    /// Its items, if it is an array.
    pub(crate) fn items(&self) -> Result<Option<Vec<Self>>, Error> {
        if !self.is_array() {
            return Ok(None);
        }
        let value = self.value();
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().map(Self::from_value).collect::<Result<_, _>>().map(Some)
    }

    pub(crate) fn is_object(&self) -> bool {
        self.0.starts_with('{')
    }

    pub(crate) fn is_array(&self) -> bool {
        self.0.starts_with('[')
    }

    pub(crate) fn is_string(&self) -> bool {
        self.0.starts_with('"')
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What can be told of a text before it is read, whether or not it is JSON.
struct Outline {
    /// How deep its brackets nest.
    depth: usize,
    /// How many members its objects have in all: each has a colon.
    members: usize,
}

impl Outline {
    fn of(text: &str) -> Self {
        let mut outline = Self { depth: 0, members: 0 };
        let mut depth = 0_usize;
        let (mut is_text, mut is_escaped) = (false, false);
        for byte in text.bytes() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_text => is_escaped = true,
                b'"' => is_text = !is_text,
                _ if is_text => {}
                b'[' | b'{' => {
                    depth = depth.saturating_add(1);
                    outline.depth = outline.depth.max(depth);
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b':' => outline.members = outline.members.saturating_add(1),
                _ => {}
            }
        }
        outline
    }
}

/// How many members the objects in `value` have in all.
fn count_members(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            members.values().fold(members.len(), |sum, it| sum.saturating_add(count_members(it)))
        }
        Value::Array(items) => {
            items.iter().fold(0, |sum, it| sum.saturating_add(count_members(it)))
        }
        _ => 0,
    }
}

fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(it) => {
            let whole = it.as_u64().or_else(|| it.as_i64().map(i64::unsigned_abs));
            whole.is_none_or(|it| it <= INTEGER_MAX)
        }
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(members) => members.values().all(is_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_equal_has_one_text() {
        let text = |it: &str| Json::parse(it).unwrap().as_str().to_owned();
        assert_eq!(text(r#"{"b":1.0,"a":[ 1e2 , -0.0 ]}"#), r#"{"a":[100,0],"b":1}"#);
        assert_eq!(text("\"\\u0041\""), "\"A\"");
    }

    #[test]
    fn what_readers_would_not_agree_on_is_refused() {
        let twice = r#"[{"a":{"b":1,"c":":","b":1}}]"#;
        for bad in ["", "{", "nul", "1 2", "9007199254740992", "[-9007199254740992]", "NaN", twice]
        {
            assert!(Json::parse(bad).is_err(), "{bad}");
        }
        assert!(Json::parse("9007199254740991").is_ok());
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::parse(&nested(DEPTH_MAX)).is_ok());
        assert!(Json::parse(&nested(DEPTH_MAX + 1)).is_err());
        assert!(Json::parse(&nested(1_000_000)).is_err());
        assert!(Json::parse(&format!("{:?}", "[".repeat(99))).is_ok());
    }
}
