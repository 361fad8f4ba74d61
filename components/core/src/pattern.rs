//! Patterns over names: `*` stands for any text, also for none (spec 7.2).
//!
//! # Invariant
//!
//! Every pattern can match some name: what never could is refused where it
//! enters, since it is a mistake of spelling.

use std::fmt;

use crate::{
    Error,
    key::{KEY_BYTES_MAX, Key},
    participant::{PARTICIPANT_PART_BYTES_MAX, Participant},
};

/// The most patterns of one list.
pub const PATTERNS_MAX: usize = 16;

/// Which participants are meant: `*`, `orchestrator`, `admin`,
/// `subagent:{task}` or `subagent:{task}:{id}`, where task and id may hold `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParticipantPattern(String);

/// Which keys are meant: a key, or a prefix and a key, that may hold `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPattern(String);

/// A list of participant patterns: who matches one of them is meant. By default
/// everyone (spec 7.2).
///
/// # Invariant
///
/// Everyone has one form, an empty list inside: most entries are everyone's, and
/// cost nothing here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Participants(Vec<ParticipantPattern>);

/// A list of key patterns: a key that matches one of them is meant. By default
/// every key.
///
/// # Invariant
///
/// Every key has one form, an empty list inside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyPatterns(Vec<KeyPattern>);

/// The pattern that everyone matches, and every key.
const EVERYONE: &str = "*";

impl ParticipantPattern {
    /// Checks `text` and takes it as a pattern.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when no participant could match it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let part_fits = |part: &str| {
            let is_of_alphabet = |b: u8| b.is_ascii_alphanumeric() || b"_.-*".contains(&b);
            (1..=PARTICIPANT_PART_BYTES_MAX).contains(&part.len())
                && part.bytes().all(is_of_alphabet)
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

    /// Returns whether `participant` is meant.
    pub fn matches(&self, participant: &Participant) -> bool {
        matches(&self.0, participant.as_str())
    }

    /// Returns the pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl KeyPattern {
    /// Checks `text` and takes it as a pattern.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when no key could match it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let part_fits = |part: &str| {
            let is_of_alphabet =
                |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_*".contains(&b);
            (1..=KEY_BYTES_MAX).contains(&part.len()) && part.bytes().all(is_of_alphabet)
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

    /// Returns whether only keys with a prefix can match it.
    pub fn has_prefix(&self) -> bool {
        self.0.contains(':')
    }

    /// Returns whether `key` is meant.
    pub fn matches(&self, key: &Key) -> bool {
        matches(&self.0, key.as_str())
    }

    /// Returns the pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Participants {
    /// Returns a list of these.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when there is none, or more than [`PATTERNS_MAX`].
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

    /// Returns whether `participant` is meant.
    pub fn has(&self, participant: &Participant) -> bool {
        self.position(participant).is_some()
    }

    /// Returns the place in the list of the first pattern that means `participant`.
    pub fn position(&self, participant: &Participant) -> Option<usize> {
        if self.is_everyone() {
            return Some(0);
        }
        self.0.iter().position(|it| it.matches(participant))
    }

    /// Returns whether it was not narrowed: `["*"]`.
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
    /// Returns the list of these texts; an empty one is every key.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when there are more than [`PATTERNS_MAX`], or no key
    /// could match one of them.
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

    /// Returns whether `key` is meant.
    pub fn has(&self, key: &Key) -> bool {
        self.is_every_key() || self.0.iter().any(|it| it.matches(key))
    }

    /// Returns whether it was not narrowed.
    pub fn is_every_key(&self) -> bool {
        self.0.is_empty()
    }
}

/// As agents read it: `inv_*, scope`.
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

/// Returns whether `pattern`, in which `*` stands for any text, is all of `text`.
fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        // The leftmost place leaves the most for what follows.
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
    fn a_pattern_that_nobody_matches_is_refused() {
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
    fn a_list_of_keys_means_what_one_of_its_patterns_means() {
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
    fn a_list_of_keys_has_at_most_16_patterns_each_of_them_one() {
        assert!(KeyPatterns::parse(&["a_*"; PATTERNS_MAX]).is_ok());
        for bad in [&["a_*"; PATTERNS_MAX + 1][..], &["scope", "Scope"], &[""]] {
            let refused = KeyPatterns::parse(bad);
            assert!(matches!(refused, Err(Error::Malformed { .. })), "{bad:?} {refused:?}");
        }
    }
}
