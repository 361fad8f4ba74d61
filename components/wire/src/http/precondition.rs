//! Conditional requests: entity tags, and the headers `If-Match`, `If-None-Match` and
//! `Idempotency-Key` (RFC 9110 §13).
//!
//! An entry's tag is the revision it was last written at, which is unique among the states of that
//! entry.

use std::fmt::Write as _;

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{IF_MATCH, IF_NONE_MATCH},
};
use shared_context_codec::Failure;

/// Revision at which no entry is ever written. A foreign tag is translated to it, so that the
/// session itself reports the failed condition.
const REVISION_OF_NOTHING: u64 = (1 << 53) - 1;

/// Condition of a change, as in the JSON tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) if_revision: Option<u64>,
    pub(crate) if_version: Option<u64>,
}

/// Returns the `ETag` of a resource that was last changed at `revision`.
pub(crate) fn etag(revision: u64) -> HeaderValue {
    let mut tag = String::with_capacity(22);
    // Writing to a string does not fail.
    let _ = write!(tag, "\"{revision}\"");
    HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"0\""))
}

/// Returns the header `name` as text, if it is given.
///
/// # Errors
///
/// `MALFORMED_REQUEST`: it is repeated, or is not ASCII text.
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

/// Value of `If-Match` or `If-None-Match`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tags {
    /// `*`: any existing entry.
    Any,
    /// List of entity tags; a foreign tag has no revision.
    Listed(Vec<Tag>),
}

/// An entity tag (RFC 9110 §8.8.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    is_weak: bool,
    revision: Option<u64>,
}

impl Tags {
    /// Parses all lines of the header `name` as one list; `None` without the header.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`.
    fn parse(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Self>, Failure> {
        if !headers.contains_key(name) {
            return Ok(None);
        }
        let mut lines = headers.get_all(name).iter();
        if let (Some(only), None) = (lines.next(), lines.next())
            && only.as_bytes().trim_ascii() == b"*"
        {
            return Ok(Some(Self::Any));
        }
        let mut tags = Vec::new();
        for line in headers.get_all(name) {
            let parse_list = line.to_str().ok().and_then(parse_list).ok_or_else(|| {
                let name = if name == IF_MATCH { "If-Match" } else { "If-None-Match" };
                malformed(format!(
                    "{name} takes * or entity tags, exactly as the ETag header gave them, such as \
                     \"7\" with its quotes; several are separated by commas"
                ))
            })?;
            tags.extend(parse_list);
        }
        Ok(Some(Self::Listed(tags)))
    }

    /// Returns true if an entry last written at `current` matches by strong comparison. `current`
    /// is `None` if there is no entry.
    fn matches(&self, current: Option<u64>) -> bool {
        match self {
            Self::Any => current.is_some(),
            Self::Listed(tags) => {
                tags.iter().any(|it| !it.is_weak && it.revision.is_some() && it.revision == current)
            }
        }
    }

    /// Returns the same by weak comparison.
    pub(crate) fn matches_weakly(&self, current: Option<u64>) -> bool {
        match self {
            Self::Any => current.is_some(),
            Self::Listed(tags) => {
                tags.iter().any(|it| it.revision.is_some() && it.revision == current)
            }
        }
    }

    /// Returns the latest listed revision up to `most`: the newest state that the client has.
    pub(crate) fn latest(&self, most: u64) -> Option<u64> {
        match self {
            Self::Any => None,
            Self::Listed(tags) => {
                tags.iter().filter_map(|it| it.revision).filter(|it| *it <= most).max()
            }
        }
    }
}

/// Parses the entity tags in `line`, a list (RFC 9110 §5.6.1). Returns `None` if it is invalid or
/// empty. A tag may contain commas.
fn parse_list(line: &str) -> Option<Vec<Tag>> {
    let mut tags = Vec::new();
    let mut rest = line.trim_matches([' ', '\t', ',']);
    while !rest.is_empty() {
        let strong = rest.strip_prefix("W/");
        let (opaque, after) = strong.unwrap_or(rest).strip_prefix('"')?.split_once('"')?;
        tags.push(Tag { is_weak: strong.is_some(), revision: revision(opaque) });
        let after = after.trim_start_matches([' ', '\t']);
        if !after.is_empty() && !after.starts_with(',') {
            return None;
        }
        rest = after.trim_start_matches([' ', '\t', ',']);
    }
    (!tags.is_empty()).then_some(tags)
}

/// Returns the revision in an entity tag, or `None` for a foreign one.
fn revision(opaque: &str) -> Option<u64> {
    opaque.parse().ok().filter(|it: &u64| it.to_string() == opaque)
}

/// Returns the tags that a client already has, from `If-None-Match`. An invalid header is ignored.
pub(crate) fn if_none_match(headers: &HeaderMap) -> Option<Tags> {
    Tags::parse(headers, &IF_NONE_MATCH).ok().flatten()
}

/// Rejects conditions on a resource without a tag.
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

/// Returns the tags of which a reader requires one; `None` if it does not.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn if_match(headers: &HeaderMap) -> Result<Option<Tags>, Failure> {
    Tags::parse(headers, &IF_MATCH)
}

/// Rejects a read of `what`, last changed at `revision`, if `required` has other tags.
///
/// # Errors
///
/// `VERSION_CONFLICT`.
pub(crate) fn expect_match(
    required: Option<&Tags>,
    what: &str,
    revision: u64,
) -> Result<(), Failure> {
    if required.is_none_or(|it| it.matches(Some(revision))) {
        return Ok(());
    }
    Err(Failure {
        details: Some(format!("{{\"current_revision\":{revision}}}")),
        ..Failure::new(
            "VERSION_CONFLICT",
            format!(
                "{what} is now at revision {revision}, not what If-Match says; read it without \
                 the header"
            ),
        )
    })
}

/// Conditions of a change of an entry (RFC 9110 §13.1).
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Preconditions {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
}

impl Preconditions {
    /// Parses the conditions in `headers`.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`.
    pub(crate) fn parse(headers: &HeaderMap) -> Result<Self, Failure> {
        let if_match = Tags::parse(headers, &IF_MATCH)?;
        let if_none_match = Tags::parse(headers, &IF_NONE_MATCH)?;
        if if_match.is_some() && if_none_match == Some(Tags::Any) {
            return Err(malformed(
                "If-Match says that the entry is there, If-None-Match: * that it is not; send \
                 the one you mean"
                    .to_owned(),
            ));
        }
        Ok(Self { if_match, if_none_match })
    }

    /// Returns an equivalent condition of the tool; `None` if it depends on the entry's revision,
    /// see [`Self::at`].
    pub(crate) fn as_tool_condition(&self) -> Option<Condition> {
        match (&self.if_match, &self.if_none_match) {
            (None, None) => Some(Condition::default()),
            (Some(Tags::Listed(tags)), None) => match tags[..] {
                [Tag { is_weak: false, revision: Some(it) }] => Some(Condition::at(it)),
                [_] => Some(Condition::never()),
                _ => None,
            },
            (None, Some(Tags::Any)) => Some(Condition::absent()),
            _ => None,
        }
    }

    /// Adds to a conflict that weak tags never match. Something on the way may have made them weak, as
    /// what compresses responses does.
    pub(crate) fn explain(&self, mut failure: Failure) -> Failure {
        if let Some(Tags::Listed(tags)) = &self.if_match
            && tags.iter().all(|it| it.is_weak)
            && failure.code == "VERSION_CONFLICT"
        {
            failure.message.push_str(
                "; a tag that begins with W/ never matches in If-Match, send it without the W/",
            );
        }
        failure
    }

    /// Returns the condition that an entry last written at `current` is still unchanged; `None` if
    /// these conditions fail for it.
    pub(crate) fn at(&self, current: Option<u64>) -> Option<Condition> {
        let is_match = self.if_match.as_ref().is_none_or(|it| it.matches(current));
        let is_other = self.if_none_match.as_ref().is_none_or(|it| !it.matches_weakly(current));
        (is_match && is_other).then(|| current.map_or_else(Condition::absent, Condition::at))
    }
}

impl Condition {
    /// Requires that the entry was last written at `revision`.
    fn at(revision: u64) -> Self {
        Self { if_revision: Some(revision), if_version: None }
    }

    /// Returns a condition that always fails, so that the session reports the failure.
    pub(crate) fn never() -> Self {
        Self::at(REVISION_OF_NOTHING)
    }

    /// Requires that there is no entry.
    fn absent() -> Self {
        Self { if_revision: None, if_version: Some(0) }
    }
}

/// Returns the request id that makes a retry safe: the header's text, with or without the quotes of
/// a structured field.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn request_id(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
    let text = single(headers, &IDEMPOTENCY_KEY)?;
    Ok(text.map(|it| it.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(it)))
}

/// Rejects a request id for a change that cannot be recognized when it is sent again.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn expect_no_request_id(headers: &HeaderMap) -> Result<(), Failure> {
    match request_id(headers)? {
        Some(_) => Err(malformed(
            "Idempotency-Key has no effect here: this change is not recognized when it is sent \
             again; send it without the header, and read before you send it again"
                .to_owned(),
        )),
        None => Ok(()),
    }
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
    fn check(list: &[(&'static str, &'static str)], current: Option<u64>, part: &str) {
        let seen = match Preconditions::parse(&headers(list)) {
            Ok(it) => {
                let is_at_once = it.as_tool_condition().is_some();
                let condition = it.as_tool_condition().or_else(|| it.at(current));
                let Condition { if_revision, if_version } =
                    condition.unwrap_or_else(Condition::never);
                format!("{if_revision:?} {if_version:?} {is_at_once}")
            }
            Err(failure) => failure.message,
        };
        assert!(seen.contains(part), "{list:?} at {current:?}: {seen}");
    }

    const NEVER: &str = "Some(9007199254740991) None";

    #[test]
    fn single_tags_and_absence_map_to_tool_conditions() {
        check(&[], None, "None None true");
        check(&[("if-match", "\"7\"")], None, "Some(7) None true");
        check(&[("if-match", "  \"7\" ")], None, "Some(7) None true");
        check(&[("if-match", "\"18446744073709551615\"")], None, "Some(18446744073709551615)");
        check(&[("if-none-match", "*")], None, "None Some(0) true");
        check(&[("if-match", "\"7\""), ("if-none-match", "*")], None, "send the one you mean");
        for never in ["W/\"7\"", "\"07\"", "\"+7\"", "\"abc\"", "\"\"", "\"18446744073709551616\""]
        {
            check(&[("if-match", never)], Some(7), NEVER);
        }
    }

    #[test]
    fn a_list_is_compared_with_the_entry_as_it_is() {
        let list = [("if-match", "\"7\", W/\"8\" ,, \"a,b\"")];
        check(&list, Some(7), "Some(7) None false");
        for current in [Some(6), Some(8), None] {
            check(&list, current, NEVER);
        }
        let lines = [("if-match", "\"7\""), ("if-match", "\"8\"")];
        check(&lines, Some(8), "Some(8) None false");
        check(&[("if-match", "*")], Some(8), "Some(8) None false");
        check(&[("if-match", "*")], None, NEVER);
        let unless = [("if-none-match", "\"7\", W/\"8\"")];
        check(&unless, Some(7), NEVER);
        check(&unless, Some(8), NEVER);
        check(&unless, Some(9), "Some(9) None false");
        check(&unless, None, "None Some(0) false");
        let both = [("if-match", "*"), ("if-none-match", "\"7\"")];
        check(&both, Some(7), NEVER);
        check(&both, Some(8), "Some(8) None false");
    }

    #[test]
    fn an_invalid_list_of_tags_is_rejected_on_a_change() {
        for name in ["if-match", "if-none-match"] {
            for wrong in
                ["7", "\"7", "7\"", "", "\"", "w/\"7\"", "\"7\" \"8\"", "*, *", "*, \"7\"", ","]
            {
                check(&[(name, wrong)], Some(7), "takes * or entity tags");
            }
            check(&[(name, "*"), (name, "*")], Some(7), "takes * or entity tags");
        }
    }

    #[test]
    fn tags_list_what_the_client_has() {
        #[track_caller]
        fn check(list: &[(&'static str, &'static str)], latest: Option<u64>, has: &[u64]) {
            let known = if_none_match(&headers(list));
            assert_eq!(known.as_ref().and_then(|it| it.latest(99)), latest, "{list:?}");
            for current in 0..20 {
                let is_known = known.as_ref().is_some_and(|it| it.matches_weakly(Some(current)));
                assert_eq!(is_known, has.contains(&current), "{list:?}: {current}");
            }
        }
        check(&[], None, &[]);
        check(&[("if-none-match", "\"7\"")], Some(7), &[7]);
        check(&[("if-none-match", "W/\"7\"")], Some(7), &[7]);
        check(&[("if-none-match", "\"6\", W/\"9\" , \"x\"")], Some(9), &[6, 9]);
        check(&[("if-none-match", "\"6\", \"100\"")], Some(6), &[6]);
        check(&[("if-none-match", "\"6\""), ("if-none-match", "\"7\"")], Some(7), &[6, 7]);
        assert_eq!(if_none_match(&headers(&[("if-none-match", " * ")])), Some(Tags::Any));
        for nothing in ["", "7", "\"07\"", "\"-1\"", "\"\"", "\"18446744073709551616\""] {
            check(&[("if-none-match", nothing)], None, &[]);
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
