//! JSON as a round state holds it: checked where it enters, kept in one form.

use std::fmt;

use serde_json::Value;

use super::path::Step;
use crate::{Error, canonical};

/// How deep JSON may nest; the steps of the path it is put at count too.
pub const DEPTH_MAX: usize = 32;
/// The largest integer that every reader of JSON knows exactly (RFC 7493 §2.2): 2^53 - 1.
const INTEGER_MAX: f64 = 9_007_199_254_740_991.0;
/// From here on canonical JSON writes numbers with an exponent (RFC 8785 §3.2.2.3).
const EXPONENT_MIN: f64 = 1e21;

/// A JSON value in canonical form (RFC 8785): what is equal has the same text.
///
/// # Invariant
///
/// Its text is canonical, nests at most [`DEPTH_MAX`] deep, and every number that it writes
/// as an integer is exact in every reader. So its own text is always taken again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Json(String);

impl Json {
    /// Checks `text` and takes it as a JSON value.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when it is no JSON, nests too deep, names a member of an
    /// object twice, or has an integer beyond 2^53 - 1, also where it is written as `1e16`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (value, members) = read(DEPTH_MAX, text)?;
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

    /// Takes `text`, which was exported, as a JSON value.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when it is not the canonical text of a value, or nests too deep.
    pub fn restore(text: &str) -> Result<Self, Error> {
        Self::restore_to(DEPTH_MAX, text)
    }

    /// As [`Json::restore`], for what nests at most so deep.
    pub(super) fn restore_to(depth_max: usize, text: &str) -> Result<Self, Error> {
        let it = Self::from_value(&read(depth_max, text)?.0)?;
        // Earlier versions took integers beyond 2^53 - 1 that were written as `1e16`.
        if it.as_str() == text {
            return Ok(it);
        }
        Err(Error::malformed("the value is not in canonical form (RFC 8785)"))
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

    /// Returns its canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns its size: bytes of its canonical text.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Returns the value itself.
    pub(crate) fn value(&self) -> Value {
        // Canonical text is JSON.
        serde_json::from_slice(self.0.as_bytes()).unwrap_or_default()
    }

    /// Returns whether it has something at the end of `steps`, and builds nothing of it.
    pub(crate) fn has(&self, steps: &[Step]) -> bool {
        reaches(self.0.as_bytes(), steps)
    }

    /// Returns how deep it nests.
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

/// Returns the value of `text`, which nests at most so deep, and how many members the text names.
fn read(depth_max: usize, text: &str) -> Result<(Value, usize), Error> {
    // Before it is read: reading what nests deep takes a stack as deep.
    let Outline { depth, members } = Outline::of(text);
    if depth > depth_max {
        return Err(Error::malformed(format!(
            "the value nests deeper than {depth_max}; state what follows from it instead"
        )));
    }
    // From bytes, as all JSON is read: a reader of text would be a second one.
    let value = serde_json::from_slice(text.as_bytes())
        .map_err(|err| Error::malformed(format!("the value is no JSON: {err}")))?;
    Ok((value, members))
}

/// Returns whether the value with which the canonical `text` begins has something at
/// the end of `steps`.
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

/// Returns how long the value is with which canonical text begins.
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

/// Returns how many members the objects in `value` have in all.
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

/// Returns whether canonical JSON writes no integer for it that some reader would not know.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(it) => it.as_f64().is_none_or(|it| {
            // Every number between the two is whole, however it is written.
            it.abs() <= INTEGER_MAX || it.abs() >= EXPONENT_MIN
        }),
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
        /// `1e16` was taken and kept as the integer that it is, which nobody could send or
        /// import. What is taken is now taken again as it is kept.
        #[test]
        fn what_is_kept_can_be_sent_and_imported_again(bits: u64, shift in 0..25_i32) {
            #[expect(clippy::cast_precision_loss, reason = "any number will do")]
            let whole = bits as f64;
            for number in [f64::from_bits(bits), whole, whole / 10_f64.powi(shift)] {
                let sent = format!("{number:e}");
                if let Ok(kept) = Json::parse(&sent) {
                    prop_assert_eq!(&Json::parse(kept.as_str()).unwrap(), &kept, "{}", sent);
                    prop_assert_eq!(&Json::restore(kept.as_str()).unwrap(), &kept, "{}", sent);
                }
            }
        }

        /// What earlier versions kept is exported too.
        #[test]
        fn any_number_that_was_kept_can_be_imported(bits: u64) {
            if let Some(it) = serde_json::Number::from_f64(f64::from_bits(bits)) {
                let kept = Json::from_value(&Value::Number(it)).unwrap();
                prop_assert_eq!(&Json::restore(kept.as_str()).unwrap(), &kept);
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
    fn what_is_equal_has_one_text() {
        let text = |it: &str| Json::parse(it).unwrap().as_str().to_owned();
        assert_eq!(text(r#"{"b":1.0,"a":[ 1e2 , -0.0 ]}"#), r#"{"a":[100,0],"b":1}"#);
        assert_eq!(text("\"\\u0041\""), "\"A\"");
    }

    /// Each value above the path was built whole to find out: sixteen readers of one
    /// round's history used up the server's processors for a second.
    #[test]
    fn whether_a_place_is_there_is_found_without_building_it() {
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

    #[test]
    fn what_readers_would_not_agree_on_is_refused() {
        let twice = r#"[{"a":{"b":1,"c":":","b":1}}]"#;
        for bad in ["", "{", "nul", "1 2", "9007199254740992", "[-9007199254740992]", "NaN", twice]
        {
            assert!(Json::parse(bad).is_err(), "{bad}");
        }
        assert!(Json::parse("9007199254740991").is_ok());
        // An integer is one however it is written.
        for bad in ["9007199254740992.0", "1e16", "-1.5e17", "99999999999999999999", "1e20"] {
            assert!(Json::parse(bad).is_err(), "{bad}");
        }
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::parse(&nested(DEPTH_MAX)).is_ok());
        assert!(Json::parse(&nested(DEPTH_MAX + 1)).is_err());
        assert!(Json::parse(&nested(1_000_000)).is_err());
        assert!(Json::parse(&format!("{:?}", "[".repeat(99))).is_ok());
    }
}
