//! Addresses: whom a packet is for (spec 18.6).

use std::fmt;

use crate::{Error, participant::Participant, pattern::ParticipantPattern};

/// The address of the packet that everybody reads after their own.
const SHARED: &str = "shared";

/// Whom a packet is for: one participant, the one worker of a pattern, or everybody.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// Everybody.
    Shared,
    /// One participant.
    Participant(Participant),
    /// The one worker that a pattern such as `subagent:impl:*` matches.
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

    /// Returns the address as it is written.
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
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
