//! Addresses: the receivers of a packet (spec 18.6).

use std::{
    cmp::{Ordering, Reverse},
    fmt,
};

use crate::{Error, participant::Participant, pattern::ParticipantPattern};

/// The address of the packet that everybody reads after their own.
const SHARED: &str = "shared";

/// The receivers of a packet: one participant, the workers of a pattern, or everybody.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// Everybody.
    Shared,
    /// One participant.
    Participant(Participant),
    /// The workers that a pattern such as `subagent:impl:*` matches.
    Pattern(String),
}

impl Address {
    /// Parses an address: `shared`, a participant, or a pattern of participants.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for anything else.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text == SHARED {
            return Ok(Self::Shared);
        }
        if let Ok(participant) = Participant::parse(text) {
            return Ok(Self::Participant(participant));
        }
        if let Ok(pattern) = ParticipantPattern::parse(text) {
            return Ok(Self::Pattern(pattern.as_str().to_owned()));
        }
        let shown: String = text.chars().take(80).collect();
        Err(Error::malformed(format!(
            "address {shown:?} must be shared, a participant such as subagent:impl, or a pattern \
             such as subagent:impl:*"
        )))
    }

    /// Returns the address as text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Shared => SHARED,
            Self::Participant(it) => it.as_str(),
            Self::Pattern(it) => it,
        }
    }

    /// Returns true if a packet at this address is for `reader`.
    pub fn is_for(&self, reader: &Participant) -> bool {
        match self {
            Self::Shared => true,
            Self::Participant(it) => it == reader,
            Self::Pattern(it) => ParticipantPattern::parse(it).is_ok_and(|it| it.matches(reader)),
        }
    }

    /// Compares in the order in which a receiver reads its packets: its own, those of patterns, the
    /// shared one. Of patterns, that with the most characters other than `*` is first, then by text.
    pub(crate) fn reading_order(&self, other: &Self) -> Ordering {
        let key = |it: &Self| match it {
            Self::Participant(_) => (0, Reverse(0)),
            Self::Pattern(it) => (1, Reverse(it.bytes().filter(|it| *it != b'*').count())),
            Self::Shared => (2, Reverse(0)),
        };
        key(self).cmp(&key(other)).then_with(|| self.as_str().cmp(other.as_str()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
