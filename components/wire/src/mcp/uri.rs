//! The URIs of resources, read and written in this one place.
//!
//! A session and a key are percent-decoded: a client that expands the template of
//! entries writes the colon of a key as `%3A` (RFC 6570, 3.2.2). Not here: whether
//! there is a session or an entry of that name, and who may see it.
//!
//! # Invariant
//!
//! What is written is read as the same.

use std::{borrow::Cow, fmt};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::skill;

/// Where a session's keys are, as a template of RFC 6570.
pub(crate) const KEYS_TEMPLATE: &str = "session://{session}/keys";
/// Where a session's entries are, as a template of RFC 6570.
pub(crate) const ENTRY_TEMPLATE: &str = "session://{session}/entries/{key}";

/// What is percent-encoded in a session: all but what RFC 3986 calls unreserved.
const SESSION: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// What is percent-encoded in a key: its colon may stand there as it is.
const KEY: AsciiSet = SESSION.remove(b':');

/// What the URI of a resource names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResourceUri<'u> {
    /// The keys of a session.
    Keys {
        /// The session's id, not yet checked.
        session: Cow<'u, str>,
    },
    /// One entry of a session.
    Entry {
        /// The session's id, not yet checked.
        session: Cow<'u, str>,
        /// The key, not yet checked.
        key: Cow<'u, str>,
    },
    /// The skill.
    Skill,
}

impl<'u> ResourceUri<'u> {
    /// Reads `uri`; `None` when no resource here could have it.
    pub(crate) fn parse(uri: &'u str) -> Option<Self> {
        if uri == skill::URI {
            return Some(Self::Skill);
        }
        let mut segments = uri.strip_prefix("session://")?.split('/');
        let session = decoded(segments.next()?)?;
        match (segments.next()?, segments.next(), segments.next()) {
            ("keys", None, None) => Some(Self::Keys { session }),
            ("entries", Some(key), None) => Some(Self::Entry { session, key: decoded(key)? }),
            _ => None,
        }
    }

    /// Creates the keys of `session`.
    pub(crate) fn keys(session: &'u str) -> Self {
        Self::Keys { session: session.into() }
    }

    /// Creates the entry `key` of `session`.
    pub(crate) fn entry(session: &'u str, key: &'u str) -> Self {
        Self::Entry { session: session.into(), key: key.into() }
    }
}

impl fmt::Display for ResourceUri<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keys { session } => {
                write!(f, "session://{}/keys", utf8_percent_encode(session, &SESSION))
            }
            Self::Entry { session, key } => {
                let session = utf8_percent_encode(session, &SESSION);
                write!(f, "session://{session}/entries/{}", utf8_percent_encode(key, &KEY))
            }
            Self::Skill => f.write_str(skill::URI),
        }
    }
}

/// Returns the text that `segment` stands for; `None` when it is none.
fn decoded(segment: &str) -> Option<Cow<'_, str>> {
    // Where a query or a fragment begins, the path has ended.
    if segment.is_empty() || segment.contains(['?', '#']) {
        return None;
    }
    percent_decode_str(segment).decode_utf8().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_resource_has_one_uri_and_is_found_by_it() {
        #[track_caller]
        fn check(uri: &str, named: &ResourceUri<'_>) {
            assert_eq!(named.to_string(), uri);
            assert_eq!(ResourceUri::parse(uri).as_ref(), Some(named));
        }
        check("session://s/keys", &ResourceUri::keys("s"));
        check("session://Ticket-7.b_1/keys", &ResourceUri::keys("Ticket-7.b_1"));
        check("session://s/entries/scope", &ResourceUri::entry("s", "scope"));
        check("session://s/entries/inv:findings_2", &ResourceUri::entry("s", "inv:findings_2"));
        check("session://keys/entries/keys", &ResourceUri::entry("keys", "keys"));
        check("skill://shared-context/SKILL.md", &ResourceUri::Skill);
    }

    #[test]
    fn what_a_client_percent_encoded_is_decoded() {
        #[track_caller]
        fn check(uri: &str, named: &ResourceUri<'_>) {
            assert_eq!(ResourceUri::parse(uri).as_ref(), Some(named), "{uri}");
        }
        check("session://s/entries/inv%3Afindings", &ResourceUri::entry("s", "inv:findings"));
        check("session://s/entries/inv%3afindings", &ResourceUri::entry("s", "inv:findings"));
        check("session://ticket%2D7/keys", &ResourceUri::keys("ticket-7"));
        // No key is like that, and what is not decoded is no separator.
        check("session://s/entries/a%2Fb", &ResourceUri::entry("s", "a/b"));
        check("session://s/entries/a%3Fb", &ResourceUri::entry("s", "a?b"));
        check("session://s/entries/a%zz", &ResourceUri::entry("s", "a%zz"));
    }

    #[test]
    fn what_no_resource_could_be_called_is_none() {
        for uri in [
            "",
            "session",
            "session:",
            "session:s/keys",
            "session:/s/keys",
            "session://",
            "session:///keys",
            "session:///entries/a",
            "session://s",
            "session://s/",
            "session://s/keys/",
            "session://s/keys/a",
            "session://s/keys?a",
            "session://s/keys#a",
            "session://s/Keys",
            "session://s/entries",
            "session://s/entries/",
            "session://s/entries//a",
            "session://s/entries/a/",
            "session://s/entries/a/b",
            "session://s/entries/a?b",
            "session://s/entries/a#b",
            "session://s?x/keys",
            "session://s/entries/%ff",
            "session://%ff/keys",
            "session://s/snapshots/a",
            "session://s//keys",
            " session://s/keys",
            "Session://s/keys",
            "sessions://s/keys",
            "file:///etc/passwd",
            "https://example.com/keys",
            "skill://shared-context/SKILL.md/",
            "skill://shared-context/skill.md",
            "skill://shared-context/",
            "skill://shared-context/../shared-context/SKILL.md",
            "skill://other/SKILL.md",
            KEYS_TEMPLATE.trim_end_matches("/keys"),
        ] {
            assert_eq!(ResourceUri::parse(uri), None, "{uri}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_the_same(
            session in "(?s).{1,20}",
            key in "(?s).{1,20}",
        ) {
            for named in [ResourceUri::keys(&session), ResourceUri::entry(&session, &key)] {
                let uri = named.to_string();
                prop_assert!(uri.is_ascii() && !uri.contains([' ', '?', '#', '"']), "{uri}");
                prop_assert_eq!(ResourceUri::parse(&uri), Some(named.clone()), "{}", uri);
            }
        }

        #[test]
        fn what_is_read_is_written_as_something_that_is_read_as_the_same(
            uri in "session://[a-z0-9%:._-]{1,8}/(keys|entries/[a-z0-9%:._-]{1,12})",
        ) {
            if let Some(named) = ResourceUri::parse(&uri) {
                let written = named.to_string();
                prop_assert_eq!(ResourceUri::parse(&written), Some(named.clone()), "{}", uri);
            }
        }
    }
}
