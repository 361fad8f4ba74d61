//! Names from outside: keys, labels, notes and request ids, each validated once at
//! parsing.

use std::fmt;

use crate::Error;

/// The longest key, and the longest prefix, in bytes (spec 4.3).
pub const KEY_BYTES_MAX: usize = 64;
/// The longest label of a snapshot, in bytes.
pub const LABEL_BYTES_MAX: usize = 64;
/// The longest note or reason, in characters.
pub const LINE_CHARS_MAX: usize = 200;
/// The longest request id, in characters.
pub const REQUEST_ID_CHARS_MAX: usize = 64;

/// The name of an entry: 1 to 64 of `a-z`, `0-9` and `_`. Sessions can allow a prefix of
/// the same form, as in `inv:findings` (spec 4.3, 7.1).
///
/// # Invariant
///
/// Every `Key` is valid: only [`Key::parse`] creates one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    /// Parses a key. The caller checks if the session allows its prefix.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidKey`] if `text`, or a part before or after its colon, is empty,
    /// longer than [`KEY_BYTES_MAX`] or has another character.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let fits = match text.split_once(':') {
            Some((prefix, key)) => is_key_part(prefix) && is_key_part(key),
            None => is_key_part(text),
        };
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::InvalidKey { key: text.to_owned(), has_prefix: false })
        }
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the prefix, the part before the colon.
    pub fn prefix(&self) -> Option<&str> {
        self.0.split_once(':').map(|(prefix, _)| prefix)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The part of a key before its colon: 1 to 64 of `a-z`, `0-9`, `_`. It holds the text as it
/// was sent, with or without the colon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// Parses a prefix, with or without the colon.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidKey`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let prefix = Self(text.to_owned());
        if is_key_part(prefix.as_str()) {
            Ok(prefix)
        } else {
            Err(Error::InvalidKey { key: prefix.0, has_prefix: false })
        }
    }

    /// Returns the prefix as text, without the colon.
    pub fn as_str(&self) -> &str {
        self.0.strip_suffix(':').unwrap_or(&self.0)
    }

    /// Returns the prefix as it was sent.
    pub(crate) fn as_sent(&self) -> &str {
        &self.0
    }
}

/// Returns the valid key that an invalid `text` most likely means, such as `project_notes` for
/// `Project Notes`.
pub(crate) fn similar(text: &str) -> Option<String> {
    let mut similar = String::new();
    let mut before = '_';
    for c in text.chars() {
        let begins_word = c.is_ascii_uppercase() && before.is_ascii_lowercase();
        if (begins_word || !c.is_ascii_alphanumeric()) && !similar.ends_with('_') {
            similar.push('_');
        }
        if c.is_ascii_alphanumeric() {
            similar.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    let similar = similar.trim_matches('_');
    is_key_part(similar).then(|| similar.to_owned())
}

fn is_key_part(text: &str) -> bool {
    (1..=KEY_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// The name of a snapshot: 1 to 64 of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`, starting
/// with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label(String);

impl Label {
    /// Parses a label.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        if is_name(text, LABEL_BYTES_MAX) {
            return Ok(Self(text.to_owned()));
        }
        let shown: String = text.chars().take(80).collect();
        Err(Error::malformed(format!(
            "label {shown:?} must be 1 to {LABEL_BYTES_MAX} of A-Z, a-z, 0-9, ., _ and -, the \
             first a letter or digit; for example pre_approval_phase_3"
        )))
    }

    /// Returns the label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A one-line text, such as a note or reason: 1 to 200 characters without control
/// characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line(String);

impl Line {
    /// Parses a line. Errors name it as `member` of the request.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(member: &str, text: &str) -> Result<Self, Error> {
        let length_fits = (1..=LINE_CHARS_MAX).contains(&text.chars().count());
        if length_fits && !text.contains(char::is_control) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::malformed(format!(
                "{member} must be one line of 1 to {LINE_CHARS_MAX} characters"
            )))
        }
    }

    /// Returns the line as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns true if `text` can be used in a URL path unescaped: at most `bytes_max` of
/// `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`, starting with a letter or digit.
pub(crate) fn is_name(text: &str, bytes_max: usize) -> bool {
    text.len() <= bytes_max
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// A caller's name for one request, which makes a retry safe: 1 to 64 characters without
/// control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// Parses a request id.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let length_fits = (1..=REQUEST_ID_CHARS_MAX).contains(&text.chars().count());
        if length_fits && !text.contains(char::is_control) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::malformed(
                "request_id must be 1 to 64 characters without control characters; \
                 a UUID made for this request is a good choice",
            ))
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_only_lowercase_letters_digits_and_underscores() {
        for c in (0..=127_u8).map(char::from) {
            let fits = matches!(c, 'a'..='z' | '0'..='9' | '_');
            assert_eq!(Key::parse(&c.to_string()).is_ok(), fits, "{c:?}");
        }
        assert!(Key::parse("").is_err());
        assert!(Key::parse(&"a".repeat(64)).is_ok());
        assert!(Key::parse(&"a".repeat(65)).is_err());
        assert!(Key::parse("straße").is_err());
        assert_eq!(Key::parse("inv:findings").unwrap().prefix(), Some("inv"));
        for bad in [":a", "a:", ":", "a:b:c", "A:b"] {
            assert!(Key::parse(bad).is_err(), "{bad}");
        }
    }
}
