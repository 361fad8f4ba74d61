//! Conditional requests: entity tags, and what `If-Match`, `If-None-Match` and
//! `Idempotency-Key` ask for (RFC 9110 §13).
//!
//! An entry's tag is the revision it was last written at, which no other state
//! of that entry ever had.

use std::fmt::Write as _;

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{IF_MATCH, IF_NONE_MATCH},
};
use shared_context_codec::Failure;

/// A revision no entry is ever written at. A tag that is none of ours asks for
/// it, so that the session itself answers that the condition is not met.
const REVISION_OF_NOTHING: u64 = (1 << 53) - 1;

/// What a change waits for, in the words of the JSON tool.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Precondition {
    pub(crate) if_revision: Option<u64>,
    pub(crate) if_version: Option<u64>,
}

/// The `ETag` of what was last changed at `revision`.
pub(crate) fn etag(revision: u64) -> HeaderValue {
    let mut tag = String::with_capacity(22);
    // Writing to a string does not fail.
    let _ = write!(tag, "\"{revision}\"");
    HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"0\""))
}

/// The header `name` as text, when it is given.
///
/// # Errors
///
/// `MALFORMED_REQUEST`: it is given twice, or is no ASCII text.
pub(crate) fn single<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h str>, Failure> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(malformed(format!("the header {name} is given twice; send it once")));
    }
    match value.to_str() {
        Ok(text) => Ok(Some(text.trim())),
        Err(_) => Err(malformed(format!("the header {name} is not ASCII text"))),
    }
}

/// What a reader has already: of several tags, the one that says most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Known {
    /// Nothing that has a tag of ours.
    Nothing,
    /// What was told under the tag of this revision.
    At(u64),
    /// Whatever there is, as `*` says.
    Anything,
}

/// What the reader has, as its `If-None-Match` says.
pub(crate) fn known(headers: &HeaderMap) -> Known {
    let lists = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let tags = lists.flat_map(|list| list.split(',')).map(|tag| match tag.trim() {
        "*" => Known::Anything,
        // For a reader a weak tag is as good as a strong one.
        tag => revision(tag.strip_prefix("W/").unwrap_or(tag)).map_or(Known::Nothing, Known::At),
    });
    tags.max().unwrap_or(Known::Nothing)
}

impl Known {
    /// The revision after which something must have changed to be told.
    pub(crate) fn revision(self) -> Option<u64> {
        match self {
            Self::At(revision) => Some(revision),
            Self::Nothing | Self::Anything => None,
        }
    }
}

/// The revision that the entity tag `tag` names, if it is one of ours.
fn revision(tag: &str) -> Option<u64> {
    let opaque = tag.strip_prefix('"')?.strip_suffix('"')?;
    opaque.parse().ok().filter(|it: &u64| it.to_string() == opaque)
}

/// Makes sure that a change of something that has no tag names none.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn expect_none(headers: &HeaderMap) -> Result<(), Failure> {
    match [IF_MATCH, IF_NONE_MATCH].iter().find(|it| headers.contains_key(*it)) {
        Some(name) => Err(malformed(format!(
            "the header {name} means nothing here: it is the entry that has an ETag; send the \
             request without it"
        ))),
        None => Ok(()),
    }
}

/// What a write waits for.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn of_write(headers: &HeaderMap) -> Result<Precondition, Failure> {
    let if_version = match single(headers, &IF_NONE_MATCH)? {
        None => None,
        Some("*") => Some(0),
        Some(_) => {
            return Err(malformed(
                "on PUT, If-None-Match is * (write only if the key does not exist); \
                 to write on top of what was read send its ETag as If-Match"
                    .to_owned(),
            ));
        }
    };
    let if_revision = if_match(headers)?;
    if if_revision.is_some() && if_version.is_some() {
        return Err(malformed(
            "If-Match says that the entry is there, If-None-Match: * that it is not; send the one \
             you mean"
                .to_owned(),
        ));
    }
    Ok(Precondition { if_revision, if_version })
}

/// What a delete waits for.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn of_delete(headers: &HeaderMap) -> Result<Precondition, Failure> {
    if headers.contains_key(IF_NONE_MATCH) {
        return Err(malformed(
            "on DELETE, If-None-Match means nothing; send the ETag of what was read as If-Match"
                .to_owned(),
        ));
    }
    Ok(Precondition { if_revision: if_match(headers)?, if_version: None })
}

fn if_match(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let Some(tag) = single(headers, &IF_MATCH)? else { return Ok(None) };
    let inner = tag.strip_prefix("W/").unwrap_or(tag);
    let opaque = inner.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    match opaque {
        Some(opaque) if !opaque.contains('"') => {
            // A weak tag is none of ours, whatever it holds.
            Ok(Some(revision(tag).unwrap_or(REVISION_OF_NOTHING)))
        }
        _ => Err(malformed(
            "If-Match takes one entity tag, exactly as the ETag header gave it, such as \"7\" \
             with its quotes"
                .to_owned(),
        )),
    }
}

/// The request id that makes a retry safe: the header's text, with or without
/// the quotes of a structured field.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn request_id(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
    let text = single(headers, &IDEMPOTENCY_KEY)?;
    Ok(text.map(|it| it.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(it)))
}

fn malformed(message: String) -> Failure {
    Failure::new("MALFORMED_REQUEST", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[track_caller]
    fn check_write(list: &[(&'static str, &'static str)], told: &str) {
        let seen = match of_write(&headers(list)) {
            Ok(Precondition { if_revision, if_version }) => {
                format!("{if_revision:?} {if_version:?}")
            }
            Err(failure) => failure.message,
        };
        assert!(seen.contains(told), "{list:?}: {seen}");
    }

    #[test]
    fn a_write_waits_for_a_revision_or_for_the_absence_of_the_key() {
        check_write(&[], "None None");
        check_write(&[("if-match", "\"7\"")], "Some(7) None");
        check_write(&[("if-match", "  \"7\" ")], "Some(7) None");
        check_write(&[("if-match", "\"18446744073709551615\"")], "Some(18446744073709551615)");
        check_write(&[("if-none-match", "*")], "None Some(0)");
        check_write(&[("if-match", "\"7\""), ("if-none-match", "*")], "send the one you mean");
        for never in ["W/\"7\"", "\"07\"", "\"+7\"", "\"abc\"", "\"\"", "\"18446744073709551616\""]
        {
            check_write(&[("if-match", never)], "Some(9007199254740991) None");
        }
        for wrong in ["*", "7", "\"7", "7\"", "\"7\", \"8\"", "", "\"", "w/\"7\""] {
            check_write(&[("if-match", wrong)], "If-Match takes one entity tag");
        }
        check_write(&[("if-match", "\"7\""), ("if-match", "\"8\"")], "if-match is given twice");
        check_write(&[("if-none-match", "\"7\"")], "If-None-Match is *");
    }

    #[test]
    fn a_delete_waits_for_a_revision_only() {
        let seven = of_delete(&headers(&[("if-match", "\"7\"")])).unwrap();
        assert_eq!(seven, Precondition { if_revision: Some(7), if_version: None });
        assert!(of_delete(&headers(&[("if-none-match", "*")])).is_err());
    }

    #[test]
    fn what_a_reader_has_is_the_latest_of_its_tags() {
        #[track_caller]
        fn check(list: &[(&'static str, &'static str)], expected: Known) {
            assert_eq!(known(&headers(list)), expected, "{list:?}");
        }
        check(&[], Known::Nothing);
        check(&[("if-none-match", "\"7\"")], Known::At(7));
        check(&[("if-none-match", "W/\"7\"")], Known::At(7));
        check(&[("if-none-match", "\"6\", W/\"9\" , \"x\"")], Known::At(9));
        check(&[("if-none-match", "\"6\""), ("if-none-match", "\"7\"")], Known::At(7));
        check(&[("if-none-match", "*")], Known::Anything);
        for nothing in ["", "7", "\"07\"", "\"-1\"", "\"\"", "\"18446744073709551616\""] {
            check(&[("if-none-match", nothing)], Known::Nothing);
        }
        assert!(expect_none(&headers(&[])).is_ok());
        assert!(expect_none(&headers(&[("if-match", "\"7\"")])).is_err());
    }

    #[test]
    fn an_idempotency_key_may_be_quoted() {
        for sent in ["write-1", "\"write-1\"", " write-1 "] {
            assert_eq!(
                request_id(&headers(&[("idempotency-key", sent)])).unwrap(),
                Some("write-1")
            );
        }
        assert_eq!(request_id(&headers(&[("idempotency-key", "\"")])).unwrap(), Some("\""));
        assert_eq!(request_id(&headers(&[])).unwrap(), None);
        let mut odd = HeaderMap::new();
        odd.append("idempotency-key", HeaderValue::from_bytes(b"\xff").unwrap());
        assert!(request_id(&odd).is_err());
    }
}
