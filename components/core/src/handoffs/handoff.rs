//! A handoff: its parties, the work that is handed over, and its state (spec 21.1).

use std::fmt;

use super::kinds::{HandoffKind, HandoffState, Trigger};
use crate::{
    Error,
    budget::Omission,
    key::Line,
    participant::{Caller, Participant},
    scope::SessionId,
    time::Timestamp,
    tokens::Tokens,
};

/// The id of a handoff: `HND-` and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandoffId(pub u64);

impl HandoffId {
    /// Parses an id.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let number = text.strip_prefix("HND-").and_then(|it| it.parse().ok()).map(Self);
        number.filter(|it| it.0 > 0 && it.to_string() == text).ok_or_else(|| {
            let shown: String = text.chars().take(80).collect();
            Error::malformed(format!(
                "{shown:?} is no id of a handoff; send one that list_handoffs returned, such as HND-1"
            ))
        })
    }
}

impl fmt::Display for HandoffId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HND-{}", self.0)
    }
}

/// A participant, and the session that it acts in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// The participant.
    pub participant: Participant,
    /// Its session; any session, or the operator's, when `None`.
    pub session: Option<SessionId>,
}

impl Party {
    /// Returns the party that calls.
    pub(crate) fn of(caller: &Caller) -> Self {
        Self { participant: caller.participant.clone(), session: caller.session.clone() }
    }

    /// Returns true if the party may be `other`.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let session = self.session.as_ref().zip(other.session.as_ref());
        self.participant == other.participant && session.is_none_or(|(a, b)| a == b)
    }
}

/// A handoff, without its package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handoff {
    /// Its number.
    pub id: HandoffId,
    /// Its kind.
    pub kind: HandoffKind,
    /// The reason for handing the work over.
    pub reason: Trigger,
    /// Its state.
    pub state: HandoffState,
    /// The agent that hands over.
    pub from: Party,
    /// The agent that receives.
    pub to: Party,
    /// True if an orchestrator took over without the former agent.
    pub is_takeover: bool,
    /// The time of the offer.
    pub offered_at: Timestamp,
    /// The instant from which it can no longer be accepted.
    pub expires_at: Timestamp,
    /// The time when it was accepted or declined, and the party that did so.
    pub settled: Option<(Timestamp, Party)>,
    /// The reason why it was declined.
    pub note: Option<Line>,
    /// The markers of the sections whose ownership is transferred.
    pub sections: Vec<String>,
    /// The most tokens of the package.
    pub budget: Tokens,
    /// The tokens of the package.
    pub tokens: Tokens,
    /// The digest of the package.
    pub digest: String,
    /// The digest of the handoff by which the agent received the work.
    pub previous: Option<String>,
    /// The number of the memory that the acceptance added.
    pub memory: Option<u64>,
    /// The numbers of the memories in the package.
    pub named: Vec<u64>,
    /// The reason for the redaction of the package.
    pub redacted: Option<Line>,
}

impl Handoff {
    /// Returns the handoff as it is at `now`: an offer may have expired.
    #[must_use]
    pub(crate) fn at(mut self, now: Timestamp) -> Self {
        if self.state == HandoffState::Offered && self.expires_at <= now {
            self.state = HandoffState::Expired;
        }
        self
    }
}

/// A handoff as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffRead {
    /// The handoff.
    pub handoff: Handoff,
    /// Its package as canonical JSON; `None` in the reply to an offer, and if it was redacted.
    pub package: Option<String>,
    /// The pieces that did not fit the package.
    pub omitted: Vec<Omission>,
    /// The handoffs by which the agent received the work, the latest first.
    pub chain: Vec<HandoffId>,
}
