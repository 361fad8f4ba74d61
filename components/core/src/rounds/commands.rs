//! What can be asked of rounds, and what is answered.

use super::{
    CloseRound, Delta, Fate, Json, OpenRound, Proposal, ReadDeltas, RedactRounds, Round, Weight,
};

/// What is asked of the rounds of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Opens a round.
    Open(Box<OpenRound>),
    /// Proposes deltas to the open round, all or none.
    Propose(Proposal),
    /// Closes the open round.
    Close(CloseRound),
    /// Reads the round state.
    ReadState {
        /// As it was after this round; as it is when `None`.
        round: Option<u64>,
    },
    /// Reads deltas and what became of them, oldest first.
    ReadDeltas(ReadDeltas),
    /// Tells of the rounds that ended how much each changed, oldest first.
    ReadConvergence,
    /// Replaces every text in rounds that has this in it by a marker, everywhere it is
    /// kept.
    Redact(RedactRounds),
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// To `Open` and `Close`.
    Round(Box<Round>),
    /// To `Propose`.
    Proposed(Proposed),
    /// To `ReadState`.
    State(Box<StateRead>),
    /// To `ReadDeltas`.
    Deltas(DeltasPage),
    /// To `ReadConvergence`: the rounds that ended and are kept.
    Convergence(Vec<Round>),
    /// To `Redact`.
    Redacted(RoundsRedacted),
}

/// Where proposed deltas stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proposed {
    /// The round.
    pub round: u64,
    /// The sequence of the first of them; the others follow.
    pub first: u32,
    /// How many they are.
    pub count: u32,
}

impl Proposed {
    /// Returns the sequence of the last of them.
    pub fn last(self) -> u32 {
        self.first.saturating_add(self.count).saturating_sub(1)
    }
}

/// The round state, as it is or was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateRead {
    /// The round that made it; 0 before the first.
    pub round: u64,
    /// The document: `query`, `bindings`, `entities` and `rules`.
    pub document: Json,
    /// The limit of its size, in bytes.
    pub bytes_max: u32,
    /// The round that is open, if the state is that as it is.
    pub open: Option<Round>,
}

/// A delta and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeltaRead {
    /// Its round.
    pub round: u64,
    /// The delta.
    pub delta: Delta,
    /// How much it counts.
    pub weight: Weight,
    /// What became of it; `None` while its round is open.
    pub fate: Option<Fate>,
}

/// Some of a session's deltas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeltasPage {
    /// The deltas, oldest first.
    pub deltas: Vec<DeltaRead>,
    /// Ask again after this one for more, by round and sequence; `None` when there
    /// is no more.
    pub next_after: Option<(u64, u32)>,
}

/// What a redaction in rounds did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundsRedacted {
    /// How many texts are gone.
    pub places: u32,
    /// What stands in their place, each once: `redacted:` and the first 16 hexadecimal
    /// digits of the SHA-256 of the text that was there.
    pub markers: Vec<String>,
}
