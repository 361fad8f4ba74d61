//! The packets that a session keeps: versions, readers and feedback (spec 18.6, 18.8).

use super::{
    ADDRESSES_MAX, Address, Depth, FEEDBACKS_MAX, Feedback, GAP_CHARS_MAX, GAPS_MAX, Layer,
    PACKETS_BYTES_MAX, Packet, Recipe, Statistics, TASK_TYPES_MAX, VERSIONS_KEPT,
};
use crate::{
    Error, canonical, count::widen, kv::Revision, participant::Participant, time::Timestamp,
    tokens::Tokens,
};

/// The most readers of a packet that are known, latest first.
pub const READERS_MAX: usize = 64;
/// The bytes of a version besides its texts, in a document.
const VERSION_BYTES: u64 = 320;
/// The bytes of a feedback or a reader besides their texts, in a document.
const RECORD_BYTES: u64 = 400;

/// A version of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketVersion {
    /// The number in its id.
    pub number: u64,
    /// Its version, from 1.
    pub version: u32,
    /// The revision of the session that wrote it.
    pub revision: Revision,
    /// The time when it was written.
    pub created_at: Timestamp,
    /// The participant that wrote it.
    pub created_by: Participant,
    /// The packet.
    pub packet: Packet,
    /// The recipe that it was made by.
    pub recipe: Recipe,
}

/// A participant that read a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// The participant.
    pub participant: Participant,
    /// The newest version that it read; 0 if it read none.
    pub version: u32,
    /// The time when it read that version first.
    pub read_at: Timestamp,
    /// The layers that it read beyond those of its packet, since its last feedback.
    pub layers: Vec<Layer>,
    /// Its questions without an answer, since its last feedback.
    pub questions: Vec<String>,
    /// The kept versions that it gave feedback on.
    pub given: Vec<u32>,
}

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPacket {
    /// The receivers of the packet.
    pub address: Address,
    /// The kept versions, oldest first.
    pub versions: Vec<PacketVersion>,
    /// Its readers, latest last.
    pub readers: Vec<Reader>,
}

/// Feedback on a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFeedback {
    /// Its number in the session, from 1.
    pub number: u64,
    /// The address of the packet.
    pub address: Address,
    /// The version of the packet.
    pub version: u32,
    /// The type of the task.
    pub task_type: String,
    /// The depth of the packet.
    pub depth: Depth,
    /// The tokens of the packet in the form that its budget counts.
    pub tokens: Tokens,
    /// The participant that gave it.
    pub by: Participant,
    /// The time when it was given.
    pub at: Timestamp,
    /// The layers that were read beyond those of the packet.
    pub layers: Vec<Layer>,
    /// The questions without an answer.
    pub questions: Vec<String>,
    /// The feedback.
    pub feedback: Feedback,
}

/// Everything that a session keeps of packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptPackets {
    /// The number in the id of the last packet, kept or not.
    pub last_packet: u64,
    /// The number of the last feedback, kept or not.
    pub last_feedback: u64,
    /// The packets, by address.
    pub packets: Vec<KeptPacket>,
    /// The feedback, oldest first.
    pub feedback: Vec<KeptFeedback>,
    /// The statistics.
    pub statistics: Statistics,
}

impl PacketVersion {
    /// Returns its id, such as `PKT-3`.
    pub fn id(&self) -> String {
        packet_id(self.number)
    }
}

/// Returns the bytes that a version takes in a document.
pub(crate) fn version_bytes(packet: &str, recipe: &str) -> u64 {
    let texts = packet.len().saturating_add(recipe.len());
    VERSION_BYTES.saturating_add(u64::try_from(texts).unwrap_or(u64::MAX))
}

/// Returns the id of a packet.
pub(crate) fn packet_id(number: u64) -> String {
    format!("PKT-{number}")
}

/// Returns the number in the id of a packet.
pub(crate) fn packet_number(id: &str) -> Option<u64> {
    id.strip_prefix("PKT-")?.parse().ok()
}

impl Reader {
    /// Creates a reader that has read nothing yet.
    pub(crate) fn new(participant: &Participant) -> Self {
        Self {
            participant: participant.clone(),
            version: 0,
            read_at: Timestamp(0),
            layers: Vec::new(),
            questions: Vec::new(),
            given: Vec::new(),
        }
    }

    /// Adds a layer that was read beyond those of the packet. Returns false if it is known.
    pub(crate) fn add_layer(&mut self, layer: Layer) -> bool {
        let is_new = !self.layers.contains(&layer);
        if is_new {
            self.layers.push(layer);
        }
        is_new
    }

    /// Adds a question without an answer, cut like a gap. Returns false if it is known, or if there
    /// are as many as a feedback has gaps.
    pub(crate) fn add_question(&mut self, question: &str) -> bool {
        let gap: String = question.trim().chars().take(GAP_CHARS_MAX).collect();
        let is_new = self.questions.len() < GAPS_MAX && !self.questions.contains(&gap);
        if is_new {
            self.questions.push(gap);
        }
        is_new
    }

    fn bytes(&self) -> u64 {
        texts_bytes(&self.questions)
    }
}

/// Returns the bytes that readers take in a document.
pub(crate) fn readers_bytes(readers: &[Reader]) -> u64 {
    readers.iter().map(Reader::bytes).fold(0, u64::saturating_add)
}

impl KeptFeedback {
    /// Returns an upper bound of its bytes in a document.
    pub(crate) fn bytes(&self) -> u64 {
        let Feedback { gaps, unused, note, .. } = &self.feedback;
        let note = note.as_deref().map_or(0, canonical::string_bytes_max);
        [gaps, unused, &self.questions]
            .into_iter()
            .map(|it| texts_bytes(it))
            .fold(note, u64::saturating_add)
    }
}

fn texts_bytes(texts: &[String]) -> u64 {
    let texts = texts.iter().map(|it| canonical::string_bytes_max(it).saturating_add(1));
    texts.fold(RECORD_BYTES, u64::saturating_add)
}

impl KeptPackets {
    /// Returns true if nothing was ever kept.
    pub fn is_empty(&self) -> bool {
        self.last_packet == 0
    }

    /// Returns the time of the last version, read or feedback.
    pub(crate) fn latest_time(&self) -> Timestamp {
        let versions = self.versions().map(|it| it.created_at);
        let reads = self.packets.iter().flat_map(|it| &it.readers).map(|it| it.read_at);
        let given = self.feedback.iter().map(|it| it.at);
        versions.chain(reads).chain(given).max().unwrap_or_default()
    }

    /// Returns the highest revision that wrote a version.
    pub(crate) fn latest_revision(&self) -> Revision {
        self.versions().map(|it| it.revision).max().unwrap_or_default()
    }

    fn versions(&self) -> impl Iterator<Item = &PacketVersion> {
        self.packets.iter().flat_map(|it| &it.versions)
    }

    /// Rejects what no session can have exported. `number_max` is the highest valid number.
    pub(crate) fn check(&self, number_max: u64) -> Result<(), Error> {
        let invalid = |what: String| Err(Error::invalid_document(what));
        if self.last_packet.max(self.last_feedback) > number_max {
            return invalid("a packet has a number that none can have".to_owned());
        }
        let mut bytes: u64 = 0;
        for (nth, packet) in self.packets.iter().enumerate() {
            let before = nth.checked_sub(1).and_then(|it| self.packets.get(it));
            if before.is_some_and(|it| it.address >= packet.address) {
                return invalid(format!("the packet for {} is not in its place", packet.address));
            }
            self.check_packet(packet)?;
            for it in &packet.versions {
                let own = version_bytes(&it.packet.text(), &it.recipe.text());
                bytes = bytes.saturating_add(own);
            }
            bytes = bytes.saturating_add(readers_bytes(&packet.readers));
        }
        let mut last = 0;
        for it in &self.feedback {
            if it.number <= last || it.number > self.last_feedback {
                return invalid("feedback on a packet is not in its place".to_owned());
            }
            last = it.number;
            if it.feedback.check().is_err() || !are_gaps(&it.questions) {
                return invalid(format!("feedback {} has an invalid text", it.number));
            }
            bytes = bytes.saturating_add(it.bytes());
        }
        let is_over = |count: usize, max: u32| u32::try_from(count).map_or(true, |it| it > max);
        if is_over(self.packets.len(), ADDRESSES_MAX)
            || is_over(self.feedback.len(), FEEDBACKS_MAX)
            || self.statistics.types.len() > TASK_TYPES_MAX.saturating_add(1)
            || bytes > PACKETS_BYTES_MAX
        {
            return invalid("it keeps more of packets than a session may".to_owned());
        }
        Ok(())
    }

    fn check_packet(&self, it: &KeptPacket) -> Result<(), Error> {
        let invalid = |what: &str| {
            Err(Error::invalid_document(format!("the packet for {} {what}", it.address)))
        };
        let count = u32::try_from(it.versions.len()).unwrap_or(u32::MAX);
        if count == 0 || count > VERSIONS_KEPT {
            return invalid("has no version, or too many");
        }
        let mut last = 0;
        for version in &it.versions {
            if version.version <= last || version.number == 0 || version.number > self.last_packet {
                return invalid("has a version that is not in its place");
            }
            last = version.version;
            let packet = &version.packet;
            if packet.sum() != packet.checksum {
                return invalid("was altered");
            }
            if packet.id.as_deref() != Some(&version.id())
                || packet.version != version.version
                || packet.address != it.address
            {
                return invalid("says another id, version or address");
            }
        }
        let is_valid = |reader: &Reader| {
            reader.version <= last && are_gaps(&reader.questions) && reader.layers.len() <= 4
        };
        if it.readers.len() > READERS_MAX || !it.readers.iter().all(is_valid) {
            return invalid("has an invalid reader");
        }
        Ok(())
    }
}

/// Returns true if the texts can be gaps.
fn are_gaps(texts: &[String]) -> bool {
    texts.len() <= GAPS_MAX && texts.iter().all(|it| it.chars().count() <= GAP_CHARS_MAX)
}

/// Returns the number of versions of a packet that are kept.
pub(crate) fn versions_kept() -> usize {
    widen(VERSIONS_KEPT)
}
