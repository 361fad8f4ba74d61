//! Query parameters of a request.
//!
//! # Invariant
//!
//! An unknown or repeated parameter is rejected: a typo must not be ignored silently.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde::{
    Deserialize,
    de::{IntoDeserializer, value},
};
use shared_context_codec::{Failure, Time};
use shared_context_core::time::Timestamp;

/// Parameters of a query.
#[derive(Debug, Default)]
pub(crate) struct Query<'q> {
    parameters: Vec<(Cow<'q, str>, Cow<'q, str>)>,
}

impl<'q> Query<'q> {
    /// Parses `query`, which may have only `known` parameters, each at most once.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`.
    pub(crate) fn parse(query: Option<&'q str>, known: &[&str]) -> Result<Self, Failure> {
        let query = query.unwrap_or_default();
        if percent_decode_str(query).decode_utf8().is_err() {
            return Err(malformed("the query is not UTF-8 once percent-decoded".to_owned()));
        }
        let mut parameters: Vec<(Cow<'q, str>, Cow<'q, str>)> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !known.contains(&name.as_ref()) {
                let shown: String = name.chars().take(80).collect();
                let knows = match known {
                    [] => "no query parameters".to_owned(),
                    _ => format!("only {}", known.join(", ")),
                };
                return Err(malformed(format!(
                    "query parameter {shown:?} is unknown, this route takes {knows}"
                )));
            }
            if parameters.iter().any(|(other, _)| *other == name) {
                return Err(malformed(format!(
                    "query parameter {name} is given twice; send it once"
                )));
            }
            parameters.push((name, value));
        }
        Ok(Self { parameters })
    }

    /// Returns the parameter `name`, if it is given.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_ref())
    }

    /// Returns the whole number `name`, if it is given.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: it is not a whole number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let Some(text) = self.text(name) else { return Ok(None) };
        whole_number(text).map(Some).ok_or_else(|| {
            malformed(format!("query parameter {name} must be a whole number, such as {name}=10"))
        })
    }

    /// Returns the truth value `name`, if it is given.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: it is neither true nor false.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Failure> {
        match self.text(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(malformed(format!("query parameter {name} must be true or false"))),
        }
    }

    /// Returns the whole numbers `name`, if they are given.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: one of them is not a whole number.
    pub(crate) fn numbers(&self, name: &str) -> Result<Option<Vec<u64>>, Failure> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let numbers: Option<Vec<u64>> = text.split(',').map(whole_number).collect();
        numbers.map(Some).ok_or_else(|| {
            malformed(format!(
                "query parameter {name} must be whole numbers with commas between them, such as \
                 {name}=1,2"
            ))
        })
    }

    /// Returns the instant `name`, if it is given.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: it is not an instant.
    pub(crate) fn instant(&self, name: &str) -> Result<Option<Timestamp>, Failure> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match Time::deserialize(text.into_deserializer()) {
            Ok(Time(at)) => Ok(Some(at)),
            Err(error) => {
                let error: value::Error = error;
                Err(malformed(format!("query parameter {name}: {error}")))
            }
        }
    }
}

fn whole_number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()))
}

fn malformed(message: String) -> Failure {
    Failure::new("MALFORMED_REQUEST", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, part: &str) {
        let query = Query::parse(Some(query), &["after", "limit"]);
        let seen = match query.and_then(|it| Ok((it.number("limit")?, it))) {
            Ok((limit, it)) => format!("{:?} {limit:?}", it.text("after")),
            Err(failure) => format!("{}: {}", failure.code, failure.message),
        };
        assert!(seen.contains(part), "{seen}");
    }

    #[test]
    fn parameters_are_known_and_given_once() {
        check("", "None None");
        check("&&", "None None");
        check("after=a%20b+c%26", r#"Some("a b c&") None"#);
        check("limit=5&after=", r#"Some("") Some(5)"#);
        check("limit=18446744073709551615", "Some(18446744073709551615)");
        check("aft%65r=x", r#"Some("x")"#);
        // It was once read as U+FFFD, which no name has.
        for query in ["after=%ff", "after=%c3&limit=%a9", "%ff"] {
            check(query, "MALFORMED_REQUEST: the query is not UTF-8");
        }
        check("after=%c3%a4%", "Some(\"ä%\")");
        check("Limit=5", r#""Limit" is unknown, this route takes only after, limit"#);
        check("limit=5&limit=5", "limit is given twice");
        for limit in ["", "-1", "+1", "1.0", "1e3", "x", "18446744073709551616", "%31 "] {
            check(&format!("limit={limit}"), "limit must be a whole number");
        }
        let numbers = |query| Query::parse(Some(query), &["n"]).and_then(|it| it.numbers("n"));
        assert_eq!(numbers("").unwrap(), None);
        assert_eq!(numbers("n=3").unwrap(), Some(vec![3]));
        assert_eq!(numbers("n=3,1%2c3").unwrap(), Some(vec![3, 1, 3]));
        for wrong in ["n=", "n=,", "n=1,", "n=1,,2", "n=1;2", "n=1,+2", "n=1, 2", "n=x"] {
            let message = numbers(wrong).unwrap_err().message;
            assert!(message.contains("such as n=1,2"), "{wrong}: {message}");
        }
        let flag = |query| Query::parse(Some(query), &["f"]).and_then(|it| it.flag("f"));
        assert_eq!(
            ["", "f=true", "f=false"].map(|it| flag(it).unwrap()),
            [None, Some(true), Some(false)]
        );
        for wrong in ["f", "f=1", "f=True", "f=yes"] {
            assert!(flag(wrong).unwrap_err().message.contains("true or false"), "{wrong}");
        }
        // `wait`, which ends at 60, once had the example 100.
        let message = Query::parse(Some("wait=x"), &["wait"]).and_then(|it| it.number("wait"));
        assert!(message.unwrap_err().message.ends_with("such as wait=10"));
        assert!(Query::parse(None, &[]).is_ok());
        let failure = Query::parse(Some("x"), &[]).unwrap_err();
        assert!(failure.message.contains("no query parameters"));
    }
}
