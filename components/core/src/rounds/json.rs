//! JSON values of rounds, validated when received and stored in canonical form.

use std::fmt;

use serde_json::Value;

use super::path::Step;
use crate::{Error, canonical, syntax::syntax_error};

/// The maximum nesting depth of JSON, including the steps of its path.
pub const DEPTH_MAX: usize = 32;
/// The largest integer that is exact in every JSON reader (RFC 7493 §2.2): 2^53 - 1.
const INTEGER_MAX: f64 = 9_007_199_254_740_991.0;

/// A JSON value in canonical form (RFC 8785): equal values have the same text.
///
/// # Invariant
///
/// The text is canonical and nests at most [`DEPTH_MAX`] deep. Every number written as an
/// integer is exact in every reader. So the text can always be parsed again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Json(String);

impl Json {
    /// Parses a JSON value.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if it is not JSON, nests too deep, repeats a member of an
    /// object, or has an integer beyond 2^53 - 1, even if written as `1e16`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (value, members) = read(DEPTH_MAX, text)?;
        // A map keeps only the last of two members with one name.
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

    /// Parses an exported JSON value.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if it is not canonical, or nests too deep.
    pub fn restore(text: &str) -> Result<Self, Error> {
        Self::restore_to(DEPTH_MAX, text)
    }

    /// Parses an exported JSON value that nests at most `depth_max` deep.
    pub(super) fn restore_to(depth_max: usize, text: &str) -> Result<Self, Error> {
        let it = Self::from_value(&read(depth_max, text)?.0)?;
        // Earlier versions accepted integers beyond 2^53 - 1 if they were written as
        // `1e16`, and all of 1e21 and more.
        if it.as_str() == text {
            return Ok(it);
        }
        Err(Error::malformed("the value is not in canonical form (RFC 8785)"))
    }

    /// Creates the canonical form of `value`, part of a validated value.
    pub(crate) fn from_value(value: &Value) -> Result<Self, Error> {
        canonical::text(value)
            .map(Self)
            .map_err(|err| Error::malformed(format!("the value has no canonical form: {err}")))
    }

    /// Creates a value from stored canonical text.
    pub(crate) fn stored(text: String) -> Self {
        Self(text)
    }

    /// Returns the canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the size of the canonical text in bytes.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Parses the value.
    pub(crate) fn value(&self) -> Value {
        // Canonical text is JSON.
        serde_json::from_slice(self.0.as_bytes()).unwrap_or_default()
    }

    /// Returns true if there is a value at `steps`, without building the value.
    pub(crate) fn has(&self, steps: &[Step]) -> bool {
        reaches(self.0.as_bytes(), steps)
    }

    /// Returns the nesting depth.
    pub(crate) fn depth(&self) -> usize {
        Outline::of(&self.0).depth
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

/// Parses `text`, which may nest at most `depth_max` deep. Returns the value and the
/// number of members in the text.
fn read(depth_max: usize, text: &str) -> Result<(Value, usize), Error> {
    // This check precedes parsing, which needs stack in proportion to the depth.
    let Outline { depth, members } = Outline::of(text);
    if depth > depth_max {
        return Err(Error::malformed(format!(
            "the value nests deeper than {depth_max}; state what follows from it instead"
        )));
    }
    // Parse from bytes, like all other JSON: a parser of `&str` would be compiled as a
    // second instance.
    let value = serde_json::from_slice(text.as_bytes())
        .map_err(|err| Error::malformed(format!("the value is no JSON: {}", syntax_error(&err))))?;
    Ok((value, members))
}

/// Returns true if the value at the start of the canonical `text` has a value at `steps`.
fn reaches(text: &[u8], steps: &[Step]) -> bool {
    let Some((step, below)) = steps.split_first() else { return true };
    let (opens, name) = match step {
        Step::Name(name) => (b'{', canonical::text(&Value::from(name.as_str())).ok()),
        Step::Index(_) => (b'[', None),
    };
    let Some(mut rest) = text.strip_prefix(&[opens]) else { return false };
    for at in 0.. {
        if matches!(rest.first(), None | Some(b'}' | b']')) {
            break;
        }
        let is_it = if let Step::Index(nth) = step {
            *nth == at
        } else {
            let (member, value) = rest.split_at(length(rest));
            rest = value.strip_prefix(b":").unwrap_or(value);
            name.as_ref().is_some_and(|it| it.as_bytes() == member)
        };
        if is_it {
            return reaches(rest, below);
        }
        let (_, others) = rest.split_at(length(rest));
        rest = others.strip_prefix(b",").unwrap_or(others);
    }
    false
}

/// Returns the length of the value at the start of canonical text.
fn length(text: &[u8]) -> usize {
    let mut depth = 0_usize;
    let (mut is_text, mut is_escaped) = (false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'[' | b'{' => depth = depth.saturating_add(1),
            b',' | b':' | b']' | b'}' if depth == 0 => return at,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    text.len()
}

/// Properties of a text before it is parsed, valid JSON or not.
struct Outline {
    /// The nesting depth of its brackets.
    depth: usize,
    /// The number of members of all its objects, counted by their colons.
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

/// Returns the number of members of all objects in `value`.
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

/// Returns true if every integer is exact in every reader. Every number beyond
/// [`INTEGER_MAX`] is an integer, however it is written.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(it) => it.as_f64().is_none_or(|it| it.abs() <= INTEGER_MAX),
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(members) => members.values().all(is_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// `1e16` was accepted and stored as an integer that could then neither be sent
        /// nor imported. A value that is accepted can now be parsed again from its stored
        /// form.
        #[test]
        fn a_stored_value_can_be_sent_and_imported_again(bits: u64, shift in 0..25_i32) {
            #[expect(clippy::cast_precision_loss, reason = "any number will do")]
            let whole = bits as f64;
            for number in [f64::from_bits(bits), whole, whole / 10_f64.powi(shift)] {
                let sent = format!("{number:e}");
                if let Ok(stored) = Json::parse(&sent) {
                    prop_assert_eq!(&Json::parse(stored.as_str()).unwrap(), &stored, "{}", sent);
                    prop_assert_eq!(&Json::restore(stored.as_str()).unwrap(), &stored, "{}", sent);
                }
            }
        }

        /// Values stored by earlier versions are exported too.
        #[test]
        fn any_number_that_was_stored_can_be_imported(bits: u64) {
            if let Some(it) = serde_json::Number::from_f64(f64::from_bits(bits)) {
                let stored = Json::from_value(&Value::Number(it)).unwrap();
                prop_assert_eq!(&Json::restore(stored.as_str()).unwrap(), &stored);
            }
        }
    }

    #[test]
    fn only_canonical_text_is_restored() {
        for other in ["1.0", "[1, 2]", r#"{"b":1,"a":2}"#, "1e16", "9007199254740993", "1 "] {
            assert!(Json::restore(other).is_err(), "{other}");
        }
        assert!(Json::restore("10000000000000000").is_ok());
    }

    #[test]
    fn equal_values_have_the_same_text() {
        let text = |it: &str| Json::parse(it).unwrap().as_str().to_owned();
        assert_eq!(text(r#"{"b":1.0,"a":[ 1e2 , -0.0 ]}"#), r#"{"a":[100,0],"b":1}"#);
        assert_eq!(text("\"\\u0041\""), "\"A\"");
    }

    /// Each value above the path was built whole for this check: sixteen readers of one
    /// round's history used up the server's processors for a second.
    #[test]
    fn a_path_is_looked_up_without_building_the_value() {
        use super::super::path::find;
        let names = ["a", "b", "\u{e9}\"", "", "0"].map(|it| Step::Name(it.to_owned()));
        let all: Vec<_> = names.into_iter().chain([Step::Index(0), Step::Index(1)]).collect();
        for text in [
            r#"{"a":{"b":[1,{"a":null}],"\u00e9\"":{"":0}},"b":"a","0":[[]]}"#,
            r#"[[0,1],{"a":[true]},-1.5,"b",null]"#,
            r#""a""#,
            "0",
            "{}",
        ] {
            let json = Json::parse(text).unwrap();
            let value = json.value();
            let mut paths = vec![Vec::new()];
            for _ in 0..4 {
                for path in std::mem::take(&mut paths) {
                    assert_eq!(json.has(&path), find(&value, &path).is_some(), "{text} {path:?}");
                    paths.extend(
                        all.iter().map(|step| [&path[..], std::slice::from_ref(step)].concat()),
                    );
                }
            }
        }
    }

    /// An invalid value was once described in the words of the parser.
    #[test]
    fn a_syntax_error_is_described_in_plain_words() {
        for (bad, part) in [
            (r#""\ud800""#, "is only half of a character; send the character itself, at line 1"),
            ("1e400", "the value is no JSON: a number is too large, at line 1 column 5"),
        ] {
            let seen = Json::parse(bad).unwrap_err().to_string();
            assert!(seen.contains(part), "{seen}");
        }
    }

    #[test]
    fn json_that_readers_interpret_differently_is_rejected() {
        let twice = r#"[{"a":{"b":1,"c":":","b":1}}]"#;
        for bad in ["", "{", "nul", "1 2", "9007199254740992", "[-9007199254740992]", "NaN", twice]
        {
            assert!(Json::parse(bad).is_err(), "{bad}");
        }
        assert!(Json::parse("9007199254740991").is_ok());
        // An integer is an integer however it is written.
        // Those of 1e21 and more were once accepted, and stored as another number.
        for bad in [
            "9007199254740992.0",
            "1e16",
            "-1.5e17",
            "99999999999999999999",
            "1e20",
            r#"{"v":[123456789012345678901234567890]}"#,
            "-1e21",
            "1e300",
        ] {
            assert!(Json::parse(bad).is_err(), "{bad}");
        }
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::parse(&nested(DEPTH_MAX)).is_ok());
        assert!(Json::parse(&nested(DEPTH_MAX + 1)).is_err());
        assert!(Json::parse(&nested(1_000_000)).is_err());
        assert!(Json::parse(&format!("{:?}", "[".repeat(99))).is_ok());
    }
}
