//! Patterns for names, in which `*` matches any text, even none (spec 7.2).
//!
//! # Invariant
//!
//! Every pattern can match some name. A pattern that cannot match any is rejected at
//! parsing, since it is a typo.

use std::fmt;

use crate::{
    Error,
    key::{KEY_BYTES_MAX, Key},
    participant::{PARTICIPANT_PART_BYTES_MAX, Participant},
};

/// The most patterns of one list.
pub const PATTERNS_MAX: usize = 16;

/// A pattern for participants: `*`, `orchestrator`, `admin`, `subagent:{task}` or
/// `subagent:{task}:{id}`. Task and id may contain `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParticipantPattern(String);

/// A pattern for keys: a key with an optional prefix that may contain `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPattern(String);

/// A list of participant patterns. It matches a participant that one of them matches. The
/// default matches everyone (spec 7.2).
///
/// # Invariant
///
/// Everyone is stored as an empty list. Most entries are open to everyone, so they need
/// no space here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Participants(Vec<ParticipantPattern>);

/// A list of key patterns. It matches a key that one of them matches. The default matches
/// every key.
///
/// # Invariant
///
/// Every key is stored as an empty list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyPatterns(Vec<KeyPattern>);

/// The pattern that matches everyone, or every key.
const EVERYONE: &str = "*";

impl ParticipantPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if no participant could match it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let part_fits = |part: &str| {
            let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"_.-*".contains(&b);
            (1..=PARTICIPANT_PART_BYTES_MAX).contains(&part.len()) && part.bytes().all(is_allowed)
        };
        let fits = match text.strip_prefix("subagent:") {
            Some(rest) => match rest.split_once(':') {
                Some((task, id)) => part_fits(task) && part_fits(id),
                None => part_fits(rest),
            },
            None => matches!(text, EVERYONE | "orchestrator" | "admin"),
        };
        if fits {
            return Ok(Self(text.to_owned()));
        }
        let shown: String = text.chars().take(80).collect();
        Err(Error::malformed(format!(
            "no participant matches {shown:?}; a pattern is *, orchestrator, subagent:{{task}} or \
             subagent:{{task}}:{{id}}, where * in task and id stands for any text, for example \
             subagent:review*"
        )))
    }

    /// Returns true if `participant` matches.
    pub fn matches(&self, participant: &Participant) -> bool {
        matches(&self.0, participant.as_str())
    }

    /// Returns the pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl KeyPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if no key could match it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let part_fits = |part: &str| {
            let is_allowed =
                |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_*".contains(&b);
            (1..=KEY_BYTES_MAX).contains(&part.len()) && part.bytes().all(is_allowed)
        };
        let fits = match text.split_once(':') {
            Some((prefix, key)) => part_fits(prefix) && part_fits(key),
            None => part_fits(text),
        };
        if fits {
            return Ok(Self(text.to_owned()));
        }
        let shown: String = text.chars().take(80).collect();
        Err(Error::malformed(format!(
            "no key matches {shown:?}; a pattern is a key in which * stands for any text, for \
             example findings_* or inv:*"
        )))
    }

    /// Returns true if it matches only keys with a prefix.
    pub fn has_prefix(&self) -> bool {
        self.0.contains(':')
    }

    /// Returns true if `key` matches.
    pub fn matches(&self, key: &Key) -> bool {
        matches(&self.0, key.as_str())
    }

    /// Returns the pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Participants {
    /// Creates a list of `patterns`.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if `patterns` is empty or has more than [`PATTERNS_MAX`].
    pub fn new(patterns: Vec<ParticipantPattern>) -> Result<Self, Error> {
        if (1..=PATTERNS_MAX).contains(&patterns.len()) {
            let is_everyone = matches!(patterns.as_slice(), [only] if only.0 == EVERYONE);
            return Ok(Self(if is_everyone { Vec::new() } else { patterns }));
        }
        Err(Error::malformed(format!(
            "a list of participants has {} patterns; it must have 1 to {PATTERNS_MAX}; [\"*\"] is \
             everyone",
            patterns.len()
        )))
    }

    /// Returns true if `participant` matches.
    pub fn has(&self, participant: &Participant) -> bool {
        self.position(participant).is_some()
    }

    /// Returns true if one of the patterns matches every participant that `pattern` matches, for
    /// certain.
    pub fn has_all(&self, pattern: &str) -> bool {
        // A `*` in the text is only matched by a `*`, which also matches everything that the other
        // covers.
        self.is_everyone() || self.0.iter().any(|it| matches(&it.0, pattern))
    }

    /// Returns the index of the first pattern that matches `participant`.
    pub fn position(&self, participant: &Participant) -> Option<usize> {
        if self.is_everyone() {
            return Some(0);
        }
        self.0.iter().position(|it| it.matches(participant))
    }

    /// Returns true if it matches everyone: `["*"]`.
    pub fn is_everyone(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the patterns.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        let everyone = self.is_everyone().then_some(EVERYONE);
        everyone.into_iter().chain(self.0.iter().map(ParticipantPattern::as_str))
    }
}

impl KeyPatterns {
    /// Parses a list of key patterns; an empty list matches every key.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if there are more than [`PATTERNS_MAX`], or one of them could
    /// not match any key.
    pub fn parse(texts: &[impl AsRef<str>]) -> Result<Self, Error> {
        if texts.len() > PATTERNS_MAX {
            return Err(Error::malformed(format!(
                "a list of keys has {} patterns; it has at most {PATTERNS_MAX}: use * for what \
                 they have in common, as in inv_*",
                texts.len()
            )));
        }
        let patterns = texts.iter().map(|it| KeyPattern::parse(it.as_ref()));
        let patterns = patterns.collect::<Result<Vec<_>, _>>()?;
        let is_every_key = patterns.iter().any(|it| it.0 == EVERYONE);
        Ok(Self(if is_every_key { Vec::new() } else { patterns }))
    }

    /// Returns true if `key` matches.
    pub fn has(&self, key: &Key) -> bool {
        self.is_every_key() || self.0.iter().any(|it| it.matches(key))
    }

    /// Returns true if it matches every key.
    pub fn is_every_key(&self) -> bool {
        self.0.is_empty()
    }
}

/// Writes the list as agents read it: `inv_*, scope`.
impl fmt::Display for KeyPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_every_key() {
            return f.write_str(EVERYONE);
        }
        for (nth, pattern) in self.0.iter().enumerate() {
            let lead = if nth == 0 { "" } else { ", " };
            write!(f, "{lead}{pattern}")?;
        }
        Ok(())
    }
}

impl fmt::Display for KeyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns true if `pattern` matches all of `text`; `*` matches any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        // The leftmost match leaves the most text for the remaining pieces.
        let Some((_, behind)) = rest.split_once(piece) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text) in [
            ("*", ""),
            ("*", "subagent:a:b"),
            ("subagent:*", "subagent:a:b"),
            ("subagent:*:2", "subagent:a:2"),
            ("a*b*c", "abc"),
            ("a*b*c", "a-b-b-c"),
            ("*_id", "user_id"),
            ("abc", "abc"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("", "a"), ("abc", "ab"), ("a*a", "a"), ("a*b*c", "acb"), ("*_id", "id"), ("a*", "ba")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_that_cannot_match_is_rejected() {
        for good in ["*", "admin", "subagent:a", "subagent:*", "subagent:a*:*", "subagent:*:3"] {
            assert!(ParticipantPattern::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "orch*", "subagent", "subagnet:*", "subagent:a:b:c", "subagent:ä", "* "] {
            assert!(ParticipantPattern::parse(bad).is_err(), "{bad}");
        }
        for good in ["*", "scope", "inv:*", "*:scope", "find*_2"] {
            assert!(KeyPattern::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "Scope", "a:b:c", ":a", "a:", "a b", "a?"] {
            assert!(KeyPattern::parse(bad).is_err(), "{bad}");
        }
        assert!(Participants::new(Vec::new()).is_err());
    }

    #[test]
    fn a_list_of_keys_matches_if_one_of_its_patterns_does() {
        #[track_caller]
        fn check(texts: &[&str], has: &[&str], lacks: &[&str], shown: &str) {
            let list = KeyPatterns::parse(texts).unwrap();
            let is_in = |key: &&&str| list.has(&Key::parse(key).unwrap());
            assert_eq!(has.iter().filter(is_in).count(), has.len(), "{list}");
            assert_eq!(lacks.iter().filter(is_in).count(), 0, "{list}");
            assert_eq!(list.to_string(), shown);
            assert_eq!(list.is_every_key(), shown == "*");
        }
        check(&[], &["scope", "inv:scope"], &[], "*");
        check(&["scope", "*"], &["inv_1", "inv:scope"], &[], "*");
        check(&["inv_*", "scope"], &["inv_", "inv_1", "scope"], &["inv", "inv:1"], "inv_*, scope");
        check(&["inv:*"], &["inv:scope"], &["scope", "inv_1"], "inv:*");
    }

    #[test]
    fn a_list_of_keys_has_at_most_16_valid_patterns() {
        assert!(KeyPatterns::parse(&["a_*"; PATTERNS_MAX]).is_ok());
        for bad in [&["a_*"; PATTERNS_MAX + 1][..], &["scope", "Scope"], &[""]] {
            let refused = KeyPatterns::parse(bad);
            assert!(matches!(refused, Err(Error::Malformed { .. })), "{bad:?} {refused:?}");
        }
    }
}
