//! The operations on packets, and their replies.

use super::{
    Address, Advice, Answer, Depth, Feedback, Form, GeneratePacket, Layer, LayerText, Packet,
    Stale, TypeReport, Verification,
    kept::{KeptFeedback, Reader},
};
use crate::{budget::Reason, key::Key, participant::Participant, time::Timestamp, tokens::Tokens};

/// An operation on packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Writes a packet, or its next version.
    Generate(Box<GeneratePacket>),
    /// Writes the next version of a packet, from what its newest version is made from.
    Refresh(Address),
    /// Edits a packet.
    Edit(EditPacket),
    /// Reads a packet.
    Read(Box<ReadPacket>),
    /// Gives feedback on a packet.
    Feedback(GiveFeedback),
    /// Asks what a packet is made from.
    Query(QueryPacket),
    /// Returns the statistics of one type of task, or of all.
    Statistics(Option<String>),
    /// Removes a packet with all its versions.
    Clear(Address),
    /// Lists the packets that the caller may read.
    List,
}

/// An edit of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditPacket {
    /// The receivers of the packet.
    pub address: Address,
    /// The JSON merge patch (RFC 7396) of the newest version.
    pub patch: String,
}

/// A request to read a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPacket {
    /// The receivers of the packet; `None` for the caller's own packet, or the shared one.
    pub address: Option<Address>,
    /// The version; `None` for the newest.
    pub version: Option<u32>,
    /// One layer only. A layer that the packet does not have is read from its sources.
    pub layer: Option<Layer>,
    /// A greater depth than that of the packet, read from its sources.
    pub depth: Option<Depth>,
    /// The form of the text.
    pub form: Form,
    /// A document to compare the packet with.
    pub compared: Option<String>,
}

/// Feedback on a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GiveFeedback {
    /// The receivers of the packet; `None` for the caller's own packet, or the shared one.
    pub address: Option<Address>,
    /// The version; `None` for the newest that the caller read.
    pub version: Option<u32>,
    /// The feedback.
    pub feedback: Feedback,
}

/// A question about what a packet is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryPacket {
    /// The receivers of the packet; `None` for the caller's own packet, or the shared one.
    pub address: Option<Address>,
    /// The question.
    pub question: String,
}

/// The reply to an operation on packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The reply to [`Command::Generate`], [`Command::Refresh`] and [`Command::Edit`].
    Written(Box<PacketWritten>),
    /// The same, as it is stored for retries: address, version and number of the packet, and the
    /// report on its candidates.
    KeptWritten(Address, u32, u64, Report),
    /// The reply to [`Command::Read`].
    Read(Box<PacketRead>),
    /// The reply to [`Command::Feedback`].
    Feedback(Box<KeptFeedback>),
    /// The same, as it is stored for retries: the number.
    KeptFeedback(u64),
    /// The reply to [`Command::Query`].
    Answer(Box<PacketAnswer>),
    /// The reply to [`Command::Statistics`].
    Statistics(Vec<TypeReport>),
    /// The reply to [`Command::Clear`]: the address, and how many versions were removed.
    Cleared(Address, u32),
    /// The reply to [`Command::List`].
    List(Vec<PacketInfo>),
}

/// A packet that was written, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketWritten {
    /// The packet.
    pub packet: Packet,
    /// The form that its budget counts.
    pub form: Form,
    /// Its text in that form.
    pub text: String,
    /// Its budget.
    pub budget: Tokens,
    /// The report on the candidates.
    pub report: Report,
    /// Advice from earlier feedback on such packets.
    pub advice: Vec<Advice>,
}

/// The candidates of a packet that are in it, and those that are not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of candidates in it.
    pub included: u32,
    /// The number of candidates that are not, by reason.
    pub omitted: Vec<(Reason, u32)>,
    /// The tokens of everything it was made from.
    pub before: Tokens,
    /// The keys of entries that were no candidates, because the receiver may not read them; at most
    /// [`WITHHELD_MAX`].
    pub withheld: Vec<Key>,
}

/// The most keys that a report names.
pub const WITHHELD_MAX: usize = 100;

/// A packet that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketRead {
    /// The packet, without what the reader may not read; the layer of it that was asked for.
    pub packet: Packet,
    /// The form of the text.
    pub form: Form,
    /// Its text in that form, or of the layer that was asked for.
    pub text: String,
    /// The newest version.
    pub newest: u32,
    /// The layer that was asked for, if the packet does not have it.
    pub layer: Option<LayerText>,
    /// The changes in its sources since it was written.
    pub stale: Vec<Stale>,
    /// The comparison that was asked for.
    pub verification: Option<Verification>,
    /// The addresses of other packets for the reader.
    pub others: Vec<Address>,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketAnswer {
    /// The address of the packet.
    pub address: Address,
    /// The answer.
    pub answer: Answer,
}

/// A packet without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketInfo {
    /// The receivers of the packet.
    pub address: Address,
    /// The id of its newest version.
    pub id: String,
    /// Its newest version.
    pub version: u32,
    /// The number of versions that are kept.
    pub versions: u32,
    /// The task.
    pub task: String,
    /// The type of the task.
    pub task_type: Option<String>,
    /// Its depth.
    pub depth: Depth,
    /// Its tokens in the form that its budget counts.
    pub tokens: Tokens,
    /// The time of its newest version.
    pub created_at: Timestamp,
    /// The participant that wrote it.
    pub created_by: Participant,
    /// Its readers that the caller may know of.
    pub readers: Vec<Reader>,
}
