//! JSON request bodies: objects that are parsed member by member, and documents that are passed on.
//! Members are stored as they were sent; each accessor checks the type of its member.
//!
//! # Invariant
//!
//! An error message names members and positions. It never repeats the value of a member, which may
//! have been meant for the store.

use std::{borrow::Cow, fmt};

use serde::{
    Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{error::Category, value::RawValue};
use shared_context_codec::{Failure, parse_whole};
use shared_context_core::syntax::syntax_error;

/// Members of a body, in the order sent.
pub(crate) struct Members<'b> {
    example: &'static str,
    members: Vec<(Cow<'b, str>, &'b RawValue)>,
}

impl<'b> Members<'b> {
    /// Parses `body`, an object with only `known` members, each at most once. `example` is a valid
    /// body for error messages.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`.
    pub(crate) fn parse(
        body: &'b [u8],
        known: &[&str],
        example: &'static str,
    ) -> Result<Self, Failure> {
        let members = Self::parse_any(body, example)?;
        members.expect_known(known)?;
        Ok(members)
    }

    /// Parses `body`, an object with any members, each at most once. `example` is a valid body for
    /// error messages.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`.
    pub(crate) fn parse_any(body: &'b [u8], example: &'static str) -> Result<Self, Failure> {
        let reject = |what: String| Err(malformed(format!("{what}; for example {example}")));
        let body = match text(body) {
            Ok(body) => body.trim_ascii_start(),
            Err(failure) => return reject(failure.message),
        };
        if body.is_empty() {
            return reject("the body is empty, it must be a JSON object".to_owned());
        }
        let mut deserializer = serde_json::Deserializer::from_str(body);
        let members = match deserializer.deserialize_map(Object) {
            Ok(members) => members,
            Err(error) if error.classify() == Category::Data => {
                return reject("the body is not a JSON object".to_owned());
            }
            Err(error) => {
                return reject(format!("the body is not valid JSON: {}", syntax_error(&error)));
            }
        };
        if let Err(error) = deserializer.end() {
            return reject(format!("the body is not one JSON object: {}", syntax_error(&error)));
        }
        if let Some(name) = repeated(members.iter().map(|(name, _)| &**name)) {
            let shown: String = name.chars().take(80).collect();
            return Err(malformed(format!("the body has the member {shown} twice")));
        }
        Ok(Self { example, members })
    }

    /// Rejects members that are not `known`.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`.
    pub(crate) fn expect_known(&self, known: &[&str]) -> Result<(), Failure> {
        let Some((name, _)) = self.iter().find(|(name, _)| !known.contains(name)) else {
            return Ok(());
        };
        let shown: String = name.chars().take(80).collect();
        let knows = match known {
            _ if name == "request_id" => "send it as the header Idempotency-Key".to_owned(),
            [] => "it takes no members".to_owned(),
            _ => format!("it knows {}", known.join(", ")),
        };
        Err(malformed(format!("the body has no member {shown:?}, {knows}")))
    }

    /// Returns the members as they were sent, null or not.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'b RawValue)> {
        self.members.iter().map(|(name, value)| (&**name, *value))
    }

    /// Returns the member `name` as it was sent; `None` if it is absent or null.
    pub(crate) fn raw(&self, name: &str) -> Option<&'b RawValue> {
        let found = self.iter().find(|(it, _)| *it == name);
        found.map(|(_, value)| value).filter(|it| it.get() != "null")
    }

    /// Returns the member `name` as it was sent.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: it is absent or null.
    pub(crate) fn raw_required(&self, name: &str) -> Result<&'b RawValue, Failure> {
        self.raw(name).ok_or_else(|| {
            malformed(format!("the body needs the member {name}; for example {}", self.example))
        })
    }

    /// Returns the string `name`.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: it is absent, null or not a string.
    pub(crate) fn text(&self, name: &str) -> Result<String, Failure> {
        serde_json::from_str(self.raw_required(name)?.get()).map_err(|_| {
            malformed(format!("the member {name} must be a string; for example {}", self.example))
        })
    }

    /// Returns the string `name`, if it is given.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: it is not a string.
    pub(crate) fn text_if_any(&self, name: &str) -> Result<Option<String>, Failure> {
        self.raw(name).map(|_| self.text(name)).transpose()
    }

    /// Returns the whole number `name`, if it is given.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: it is not a whole number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let parse = |value: &RawValue| parse_whole(value.get()).ok_or(());
        let parsed = self.raw(name).map(parse).transpose();
        parsed.map_err(|()| {
            malformed(format!(
                "the member {name} must be a whole number; for example {}",
                self.example
            ))
        })
    }

    /// Returns the list of strings `name`, if it is given.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: it is not a list of strings.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, Failure> {
        let parsed = self.raw(name).map(|value| serde_json::from_str(value.get())).transpose();
        parsed.map_err(|_| malformed(format!("the member {name} must be a list of strings")))
    }
}

/// Returns the body as one JSON value that is passed on without parsing; `expected` describes it in
/// error messages.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn document<'b>(body: &'b [u8], expected: &str) -> Result<&'b RawValue, Failure> {
    let reject = |what: &str| malformed(format!("{what}; send {expected}"));
    let body = text(body).map_err(|failure| reject(&failure.message))?;
    if body.trim_ascii().is_empty() {
        return Err(reject("the body is empty"));
    }
    serde_json::from_str(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        reject(&match error.classify() {
            Category::Eof => "the body is not JSON: it ends too early".to_owned(),
            _ => format!("the body is not JSON: see line {line}, at character {column}"),
        })
    })
}

/// Returns the body as text.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn text(body: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(body).map_err(|error| {
        malformed(format!("the body is not UTF-8 at byte {}", error.valid_up_to()))
    })
}

/// Returns one of the names that are there twice. They are sorted, since there can be many.
pub(crate) fn repeated<'n>(names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.array_windows().find(|[one, other]| one == other).map(|[name, _]| *name)
}

/// The parser of an object: its members, in the order sent.
pub(crate) struct Object;

impl<'b> Visitor<'b> for Object {
    type Value = Vec<(Cow<'b, str>, &'b RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((JsonText(name), value)) = map.next_entry()? {
            members.push((name, value));
        }
        Ok(members)
    }
}

/// A text, such as a member's name; borrowed if it has no escapes.
#[derive(serde::Deserialize)]
pub(crate) struct JsonText<'b>(#[serde(borrow)] pub(crate) Cow<'b, str>);

fn malformed(message: String) -> Failure {
    Failure::new("MALFORMED_REQUEST", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = r#"{"a":"x"}"#;

    #[track_caller]
    fn check(body: &[u8], part: &str) {
        let outcome = Members::parse(body, &["a", "b"], EXAMPLE)
            .and_then(|it| it.text("a").and_then(|_| it.number("b")));
        let failure = outcome.err().unwrap_or_else(|| Failure::new("fine", ""));
        let seen = format!("{}: {}", failure.code, failure.message);
        assert!(seen.contains(part), "{seen}");
        assert!(!seen.contains("secret"), "{seen}");
        assert!(part.starts_with("fine") || failure.code == "MALFORMED_REQUEST", "{seen}");
    }

    #[test]
    fn a_body_is_one_object_of_known_members() {
        check(br#"{"a":"x"}"#, "fine");
        check(br#" { "a" : "secret" , "b" : 18446744073709551615 } "#, "fine");
        check(br#"{"\u0061":"x","b":null}"#, "fine");
        check(b"", "the body is empty");
        check(b"  \n", "the body is empty");
        check(
            b"secret",
            "not valid JSON: a value is missing, or text is without double quotes, at line 1 column 1; for example",
        );
        check(b"\"secret\"", "the body is not a JSON object");
        check(b"[\"secret\"]", "the body is not a JSON object");
        check(b"null", "the body is not a JSON object");
        check(
            b"{\"a\":\n\"secret\",}",
            "a comma stands before a closing bracket, at line 2 column 10",
        );
        check(b"{\"a\":\"secret", "it ends before it is complete");
        check(
            br#"{"a":"x"} {"a":"secret"}"#,
            "not one JSON object: something follows after its end",
        );
        check(br#"{"a":"x","c":"secret"}"#, r#"no member "c", it knows a, b"#);
        check(br#"{"a":"x","a":"secret"}"#, "the member a twice");
        check(br#"{"a":"x","b":1,"\u0061":"secret"}"#, "the member a twice");
        check(br#"{"b":1}"#, "needs the member a");
        check(br#"{"a":null}"#, "needs the member a");
        check(br#"{"a":["secret"]}"#, "a must be a string");
        check(br#"{"a":"x","b":"secret"}"#, "b must be a whole number");
        check(br#"{"a":"x","b":-1}"#, "b must be a whole number");
        check(br#"{"a":"x","b":1.5}"#, "b must be a whole number");
        check(br#"{"a":"x","b":18446744073709551616}"#, "b must be a whole number");
        check(b"{\"a\":\"\xff\"}", "not UTF-8 at byte 6");
        check(br#"{"a":"\ud800"}"#, "a must be a string");
        check(b"{\"a\":\"\x01\"}", "control character");
        check(b"\xef\xbb\xbf{}", "not valid JSON");
    }

    /// An empty list of members was once followed by "it knows ; for example {}".
    #[test]
    fn an_object_without_members_is_not_described_by_an_empty_list() {
        let failure = Members::parse(br#"{"x":1}"#, &[], EXAMPLE).err().unwrap();
        assert_eq!(failure.message, r#"the body has no member "x", it takes no members"#);
    }

    #[test]
    fn deep_nesting_is_not_followed() {
        let deep = format!("{{\"a\":\"x\",\"b\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        check(deep.as_bytes(), "b must be a whole number");
    }
}
