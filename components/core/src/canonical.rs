//! Canonical JSON (RFC 8785): equal values have the same text.
//!
//! [`text`] writes a parsed value, `Writer` a document member by member. A library that
//! serializes any type takes three times the time and twenty times the code. A test compares the
//! results.

use std::fmt::Write as _;

use serde_json::{Error, Number, Value};

use crate::order::sorted;

/// Returns `value` as canonical JSON text.
///
/// # Errors
///
/// The errors of `serde_json`; a value causes none.
pub fn text(value: &Value) -> Result<String, Error> {
    let mut text = String::new();
    write(value, &mut text)?;
    Ok(text)
}

fn write(value: &Value, text: &mut String) -> Result<(), Error> {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Number(it) => write_number(it, text),
        Value::String(it) => write_string(it, text)?,
        Value::Array(items) => {
            text.push('[');
            for (nth, item) in items.iter().enumerate() {
                if nth > 0 {
                    text.push(',');
                }
                write(item, text)?;
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            // Sort by UTF-16 units (§3.2.3); the order of the map is the same only for
            // ASCII.
            if !members.iter().all(|(name, _)| name.is_ascii()) {
                members = sorted(members, |(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            }
            text.push('{');
            for (nth, (name, member)) in members.into_iter().enumerate() {
                if nth > 0 {
                    text.push(',');
                }
                write_string(name, text)?;
                text.push(':');
                write(member, text)?;
            }
            text.push('}');
        }
    }
    Ok(())
}

fn write_string(it: &str, text: &mut String) -> Result<(), Error> {
    if it.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        text.push('"');
        text.push_str(it);
        text.push('"');
    } else {
        text.push_str(&serde_json::to_string(it)?);
    }
    Ok(())
}

/// Writes a number as ECMAScript does (§3.2.2.3): the shortest digits of the closest
/// double, formatted by `Number::toString`.
fn write_number(it: &Number, text: &mut String) {
    let shortest = it.as_f64().and_then(Number::from_f64).unwrap_or_else(|| 0.into()).to_string();
    let (sign, shortest) = match shortest.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", shortest.as_str()),
    };
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole, fraction].concat();
    let digits = all.trim_start_matches('0');
    // The position of the decimal point, counted from the first digit.
    let leading = all.len() - digits.len();
    let exponent: isize = exponent.parse().unwrap_or_default();
    let point = exponent + whole.len().cast_signed() - leading.cast_signed();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return text.push('0');
    }
    text.push_str(sign);
    let zeros = |count: usize| "0".repeat(count);
    // Writing to a string does not fail.
    let _ = match point {
        1..=21 => match digits.split_at_checked(point.unsigned_abs()) {
            Some((whole, "")) => write!(text, "{whole}"),
            Some((whole, fraction)) => write!(text, "{whole}.{fraction}"),
            None => write!(text, "{digits}{}", zeros(point.unsigned_abs() - digits.len())),
        },
        -5..=0 => write!(text, "0.{}{digits}", zeros(point.unsigned_abs())),
        _ => match digits.split_at_checked(1) {
            Some((first, rest)) if !rest.is_empty() => {
                write!(text, "{first}.{rest}e{:+}", point - 1)
            }
            _ => write!(text, "{digits}e{:+}", point - 1),
        },
    };
}

/// A JSON document that is written in canonical form.
///
/// The caller names the members of an object in the order of their names, and opens and closes each
/// bracket. Names are plain: they have no sign that must be escaped.
#[derive(Debug, Default)]
pub(crate) struct Writer(String);

impl Writer {
    /// Returns the document.
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    /// Opens an element of a list, or the document.
    pub(crate) fn open(&mut self, bracket: char) {
        self.separate();
        self.0.push(bracket);
    }

    /// Closes an object or a list.
    pub(crate) fn close(&mut self, bracket: char) {
        self.0.push(bracket);
    }

    /// Opens an object as a member.
    pub(crate) fn object(&mut self, name: &str) {
        self.name(name);
        self.0.push('{');
    }

    /// Opens a list as a member.
    pub(crate) fn list(&mut self, name: &str) {
        self.name(name);
        self.0.push('[');
    }

    /// Writes a string as an element of a list.
    pub(crate) fn item(&mut self, value: &str) {
        self.separate();
        self.push(value);
    }

    /// Writes a string as a member.
    pub(crate) fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        self.push(value);
    }

    /// Writes a string as a member with any name.
    pub(crate) fn named(&mut self, name: &str, value: &str) {
        self.item(name);
        self.0.push(':');
        self.push(value);
    }

    /// Writes a number of at most 2^53 as a member.
    pub(crate) fn number(&mut self, name: &str, value: u64) {
        self.name(name);
        self.0.push_str(&value.to_string());
    }

    /// Writes a number of ten thousandths as a member.
    pub(crate) fn parts(&mut self, name: &str, parts: u16) {
        self.name(name);
        let digits = format!("{}.{:04}", parts / 10_000, parts % 10_000);
        self.0.push_str(digits.trim_end_matches('0').trim_end_matches('.'));
    }

    /// Writes a flag as a member.
    pub(crate) fn flag(&mut self, name: &str, value: bool) {
        self.name(name);
        self.0.push_str(if value { "true" } else { "false" });
    }

    /// Writes a value that is canonical JSON already as a member.
    pub(crate) fn raw(&mut self, name: &str, json: &str) {
        self.name(name);
        self.0.push_str(json);
    }

    fn name(&mut self, name: &str) {
        self.separate();
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
    }

    fn separate(&mut self) {
        if !matches!(self.0.as_bytes().last(), None | Some(b'{' | b'[')) {
            self.0.push(',');
        }
    }

    fn push(&mut self, value: &str) {
        // A string has a canonical form.
        let _ = write_string(value, &mut self.0);
    }
}

/// Returns an upper bound of the bytes of `text` as a JSON string.
pub(crate) fn string_bytes_max(text: &str) -> u64 {
    let bytes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | 8 | b'\t' | b'\n' | 12 | b'\r' => 2,
        0..32 => 6,
        _ => 1,
    });
    bytes.fold(2, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(value: &Value) {
        assert_eq!(text(value).unwrap(), serde_jcs::to_string(value).unwrap());
    }

    #[test]
    fn numbers_are_written_as_by_the_library() {
        for it in [
            0.0,
            -0.0,
            1.0,
            -1.0,
            10.0,
            123_456.789,
            0.1,
            0.001,
            1e-6,
            1.5e-6,
            9.9e-7,
            1e-7,
            1.25e-9,
            1e15,
            1e20,
            1.5e20,
            123e18,
            1e21,
            1.5e21,
            -1e22,
            5e-324,
            f64::MAX,
            f64::MIN_POSITIVE,
            9_007_199_254_740_991.0,
            9_007_199_254_740_993.0,
            4.35,
            333_333_333.333_333_3,
        ] {
            check(&json!(it));
        }
        for it in [0, 1, 100, 1 << 53, (1 << 53) + 1, u64::MAX] {
            check(&json!(it));
        }
        check(&json!([i64::MIN, -1, -100, 2.0_f64.powi(70)]));
    }

    #[test]
    fn strings_and_names_are_written_as_by_the_library() {
        let all: String = (0..0x1_0fff).step_by(7).filter_map(char::from_u32).collect();
        let whole: String = (0..0x100_u32).filter_map(char::from_u32).collect();
        check(
            &json!({"b": [1, -2, null, true, false, [], {}], "c": {"": all, "\u{7f}\"\\": whole}}),
        );
        // By UTF-16 units, the last sorts before the one in the middle.
        let sorted = text(&json!({"a": 1, "\u{fb33}": 2, "\u{1f600}": 3})).unwrap();
        assert_eq!(sorted, "{\"a\":1,\"\u{1f600}\":3,\"\u{fb33}\":2}");
        check(&json!({"é": 1, "z": 2, "\u{ffff}": 3, "\u{10000}": 4, "\r": 5, "1": 6}));
    }

    #[test]
    fn documents_are_written_as_by_the_library() {
        let mut json = Writer::default();
        json.open('{');
        json.list("a");
        json.item("x");
        json.item("{");
        json.open('{');
        json.close('}');
        json.close(']');
        json.flag("b", true);
        json.object("c");
        for (name, parts) in [("0", 0), ("1", 1), ("2", 5_000), ("3", 9_999), ("4", 10_000)] {
            json.parts(name, parts);
        }
        json.number("5", 9_007_199_254_740_991);
        json.text("6", "[");
        json.named("7\"", "x");
        json.close('}');
        json.close('}');
        let expected = json!({
            "a": ["x", "{", {}], "b": true,
            "c": {"0": 0, "1": 0.0001, "2": 0.5, "3": 0.9999, "4": 1, "5": 9_007_199_254_740_991_u64, "6": "[", "7\"": "x"},
        });
        assert_eq!(json.into_text(), serde_jcs::to_string(&expected).unwrap());
    }

    proptest! {
        #[test]
        fn any_number_is_written_as_by_the_library(bits: u64) {
            check(&json!(f64::from_bits(bits)));
        }

        #[test]
        fn any_short_number_is_written_as_by_the_library(digits in 0_u32..2_000_000, shift in -30_i32..30) {
            check(&json!(f64::from(digits) * 10_f64.powi(shift)));
        }
    }
}
