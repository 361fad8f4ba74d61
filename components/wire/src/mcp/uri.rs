//! Parses and formats the URIs of resources.
//!
//! A session and a key are percent-decoded: a client that expands the template of entries writes
//! the colon of a key as `%3A` (RFC 6570, 3.2.2). Existence and access are checked elsewhere.
//!
//! # Invariant
//!
//! Formatting and parsing a URI returns the same resource.

use std::{borrow::Cow, fmt};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::skill;

/// URI of a session's keys, as a template of RFC 6570.
pub(crate) const KEYS_TEMPLATE: &str = "session://{session}/keys";
/// URI of a session's working memory as text, as a template of RFC 6570.
pub(crate) const CONTEXT_TEMPLATE: &str = "session://{session}/context";
/// URI of a session's entries, as a template of RFC 6570.
pub(crate) const ENTRY_TEMPLATE: &str = "session://{session}/entries/{key}";
/// URI of a session's packets, as a template of RFC 6570.
pub(crate) const PACKET_TEMPLATE: &str = "session://{session}/packets/{address}";

/// Characters to percent-encode in a session: all except the unreserved ones of RFC 3986.
const SESSION: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Characters to percent-encode in a key or an address: its colons may remain.
const KEY: AsciiSet = SESSION.remove(b':');

/// Resource that a URI names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResourceUri<'u> {
    /// Keys of a session.
    Keys {
        /// Session id, not yet validated.
        session: Cow<'u, str>,
    },
    /// Working memory of a session as text.
    Context {
        /// Session id, not yet validated.
        session: Cow<'u, str>,
    },
    /// Entry of a session.
    Entry {
        /// Session id, not yet validated.
        session: Cow<'u, str>,
        /// Key, not yet validated.
        key: Cow<'u, str>,
    },
    /// Packet of an address in a session.
    Packet {
        /// Session id, not yet validated.
        session: Cow<'u, str>,
        /// Address, not yet validated.
        address: Cow<'u, str>,
    },
    /// The skill.
    Skill,
}

impl<'u> ResourceUri<'u> {
    /// Parses `uri`; `None` if no resource here can have it.
    pub(crate) fn parse(uri: &'u str) -> Option<Self> {
        if uri == skill::URI {
            return Some(Self::Skill);
        }
        let mut segments = uri.strip_prefix("session://")?.split('/');
        let session = decode(segments.next()?)?;
        match (segments.next()?, segments.next(), segments.next()) {
            ("keys", None, None) => Some(Self::Keys { session }),
            ("context", None, None) => Some(Self::Context { session }),
            ("entries", Some(key), None) => Some(Self::Entry { session, key: decode(key)? }),
            ("packets", Some(address), None) => {
                Some(Self::Packet { session, address: decode(address)? })
            }
            _ => None,
        }
    }

    /// Creates the URI of the keys of `session`.
    pub(crate) fn keys(session: &'u str) -> Self {
        Self::Keys { session: session.into() }
    }

    /// Creates the URI of the working memory of `session` as text.
    pub(crate) fn context(session: &'u str) -> Self {
        Self::Context { session: session.into() }
    }

    /// Creates the URI of the entry `key` of `session`.
    pub(crate) fn entry(session: &'u str, key: &'u str) -> Self {
        Self::Entry { session: session.into(), key: key.into() }
    }

    /// Creates the URI of the packet of `address` in `session`.
    pub(crate) fn packet(session: &'u str, address: &'u str) -> Self {
        Self::Packet { session: session.into(), address: address.into() }
    }
}

impl fmt::Display for ResourceUri<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keys { session } => {
                write!(f, "session://{}/keys", utf8_percent_encode(session, &SESSION))
            }
            Self::Context { session } => {
                write!(f, "session://{}/context", utf8_percent_encode(session, &SESSION))
            }
            Self::Entry { session, key } => {
                let session = utf8_percent_encode(session, &SESSION);
                write!(f, "session://{session}/entries/{}", utf8_percent_encode(key, &KEY))
            }
            Self::Packet { session, address } => {
                let session = utf8_percent_encode(session, &SESSION);
                write!(f, "session://{session}/packets/{}", utf8_percent_encode(address, &KEY))
            }
            Self::Skill => f.write_str(skill::URI),
        }
    }
}

/// Decodes `segment`; `None` if it is invalid.
fn decode(segment: &str) -> Option<Cow<'_, str>> {
    // A query or fragment ends the path.
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
    fn a_resource_and_its_uri_correspond() {
        #[track_caller]
        fn check(uri: &str, named: &ResourceUri<'_>) {
            assert_eq!(named.to_string(), uri);
            assert_eq!(ResourceUri::parse(uri).as_ref(), Some(named));
        }
        check("session://s/keys", &ResourceUri::keys("s"));
        check("session://s/context", &ResourceUri::context("s"));
        check("session://Ticket-7.b_1/keys", &ResourceUri::keys("Ticket-7.b_1"));
        check("session://s/entries/scope", &ResourceUri::entry("s", "scope"));
        check("session://s/entries/inv:findings_2", &ResourceUri::entry("s", "inv:findings_2"));
        check("session://keys/entries/keys", &ResourceUri::entry("keys", "keys"));
        check("session://s/packets/shared", &ResourceUri::packet("s", "shared"));
        check("session://s/packets/subagent:a:3", &ResourceUri::packet("s", "subagent:a:3"));
        check("skill://shared-context/SKILL.md", &ResourceUri::Skill);
    }

    #[test]
    fn percent_encoded_names_are_decoded() {
        #[track_caller]
        fn check(uri: &str, named: &ResourceUri<'_>) {
            assert_eq!(ResourceUri::parse(uri).as_ref(), Some(named), "{uri}");
        }
        check("session://s/entries/inv%3Afindings", &ResourceUri::entry("s", "inv:findings"));
        check("session://s/entries/inv%3afindings", &ResourceUri::entry("s", "inv:findings"));
        check("session://ticket%2D7/keys", &ResourceUri::keys("ticket-7"));
        check("session://s/packets/subagent%3Aa", &ResourceUri::packet("s", "subagent:a"));
        // No key has such characters, and an encoded separator does not separate.
        check("session://s/entries/a%2Fb", &ResourceUri::entry("s", "a/b"));
        check("session://s/entries/a%3Fb", &ResourceUri::entry("s", "a?b"));
        check("session://s/entries/a%zz", &ResourceUri::entry("s", "a%zz"));
    }

    #[test]
    fn invalid_uris_are_rejected() {
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
            "session://s/packets",
            "session://s/packets/",
            "session://s/packets/a/b",
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
        fn a_formatted_uri_parses_to_the_same_resource(
            session in "(?s).{1,20}",
            key in "(?s).{1,20}",
        ) {
            for named in [
                ResourceUri::keys(&session),
                ResourceUri::entry(&session, &key),
                ResourceUri::packet(&session, &key),
            ] {
                let uri = named.to_string();
                prop_assert!(uri.is_ascii() && !uri.contains([' ', '?', '#', '"']), "{uri}");
                prop_assert_eq!(ResourceUri::parse(&uri), Some(named.clone()), "{}", uri);
            }
        }

        #[test]
        fn a_parsed_uri_survives_formatting_and_parsing(
            uri in "session://[a-z0-9%:._-]{1,8}/(keys|(entries|packets)/[a-z0-9%:._-]{1,12})",
        ) {
            if let Some(named) = ResourceUri::parse(&uri) {
                let written = named.to_string();
                prop_assert_eq!(ResourceUri::parse(&written), Some(named.clone()), "{}", uri);
            }
        }
    }
}
