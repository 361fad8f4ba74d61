//! What a session keeps of packets, in a session document (spec 8.5.3).

use serde::{Serialize, Serializer};
use serde_json::{Value, value::RawValue};
use shared_context_core::{
    Error, Participant, canonical,
    packets::{
        Address, Depth, Feedback, Layer, Outcome, Packet, Recipe, Statistics, TypeSums,
        kept::{KeptFeedback, KeptPacket, KeptPackets, PacketVersion, Reader},
    },
    port::Revision,
    tokens::Tokens,
};

use super::sums::TypeItem;
use crate::{
    form::{Member, Slot, form},
    json::Time,
    values::invalid,
};

/// Packets, feedback on them, and statistics.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_packets"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct PacketsItem {
    /// The number in the id of the last packet, kept or not.
    last_packet: u64,
    /// The number of the last feedback, kept or not.
    last_feedback: u64,
    /// The packets, by address.
    packets: Vec<PacketItem>,
    /// The feedback, oldest first.
    feedback: Vec<FeedbackItem>,
    /// The statistics, by type of task.
    statistics: Vec<TypeItem>,
}

/// A packet.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_packet"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct PacketItem {
    address: String,
    /// The kept versions, oldest first.
    versions: Vec<VersionItem>,
    /// Its readers, latest last.
    readers: Vec<ReaderItem>,
}

/// A version of a packet.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_packet_version"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct VersionItem {
    /// The number in its id.
    packet: u64,
    version: u32,
    revision: u64,
    created_at: Time,
    created_by: String,
    /// The packet itself.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, Value>"))]
    document: Json,
    /// What it is made from.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, Value>"))]
    recipe: Json,
}

/// Canonical JSON.
#[derive(Debug, Default)]
struct Json(Box<RawValue>);

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Member for Json {
    fn slot(&mut self) -> Slot<'_> {
        self.0.slot()
    }
}

/// A reader of a packet.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_packet_reader"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct ReaderItem {
    participant: String,
    version: u32,
    read_at: Time,
    /// The layers that it read beyond those of the packet, since its last feedback.
    layers: Vec<String>,
    /// Its questions without an answer, since its last feedback.
    questions: Vec<String>,
    /// The versions that it gave feedback on.
    given: Vec<u32>,
}

/// Feedback on a packet.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_feedback"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct FeedbackItem {
    feedback: u64,
    address: String,
    version: u32,
    task_type: String,
    depth: String,
    tokens: u32,
    by: String,
    at: Time,
    layers: Vec<String>,
    questions: Vec<String>,
    gaps: Vec<String>,
    unused: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

form! { PacketsItem: last_packet, last_feedback, packets, feedback, statistics }
form! { PacketItem: address, versions, readers }
form! { VersionItem: packet, version, revision, created_at, created_by, document, recipe }
form! { ReaderItem: participant, version, read_at, layers, questions, given }
form! {
    FeedbackItem: feedback, address, version, task_type, depth, tokens, by, at, layers, questions,
    gaps, unused, outcome, note
}

impl PacketsItem {
    /// Creates the item; `None` if nothing was ever kept.
    pub(crate) fn new(it: &KeptPackets) -> Option<Self> {
        (!it.is_empty()).then(|| Self {
            last_packet: it.last_packet,
            last_feedback: it.last_feedback,
            packets: it.packets.iter().map(PacketItem::new).collect(),
            feedback: it.feedback.iter().map(FeedbackItem::new).collect(),
            statistics: it
                .statistics
                .types
                .iter()
                .map(|(name, sums)| TypeItem::new(name, sums))
                .collect(),
        })
    }

    pub(crate) fn restore(&self) -> Result<KeptPackets, Error> {
        let mut types: Vec<(String, TypeSums)> = Vec::new();
        for it in &self.statistics {
            types.push(it.restore()?);
        }
        if !types.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(invalid("the statistics of a type of task are not in their place"));
        }
        Ok(KeptPackets {
            last_packet: self.last_packet,
            last_feedback: self.last_feedback,
            packets: self.packets.iter().map(PacketItem::restore).collect::<Result<_, _>>()?,
            feedback: self.feedback.iter().map(FeedbackItem::restore).collect::<Result<_, _>>()?,
            statistics: Statistics { types },
        })
    }
}

fn json(text: String) -> Json {
    // What the core wrote is JSON.
    Json(RawValue::from_string(text).unwrap_or_default())
}

impl Json {
    fn canonical(&self) -> Result<String, Error> {
        let value: Option<Value> = serde_json::from_slice(self.0.get().as_bytes()).ok();
        let text = value.and_then(|it| canonical::text(&it).ok());
        text.ok_or_else(|| invalid("a packet is no JSON"))
    }
}

fn names(layers: &[Layer]) -> Vec<String> {
    layers.iter().map(|it| it.as_str().to_owned()).collect()
}

fn layers(names: &[String]) -> Result<Vec<Layer>, Error> {
    names.iter().map(|it| Layer::parse(it)).collect()
}

impl PacketItem {
    fn new(it: &KeptPacket) -> Self {
        Self {
            address: it.address.as_str().to_owned(),
            versions: it.versions.iter().map(VersionItem::new).collect(),
            readers: it.readers.iter().map(ReaderItem::new).collect(),
        }
    }

    fn restore(&self) -> Result<KeptPacket, Error> {
        Ok(KeptPacket {
            address: Address::parse(&self.address)?,
            versions: self.versions.iter().map(VersionItem::restore).collect::<Result<_, _>>()?,
            readers: self.readers.iter().map(ReaderItem::restore).collect::<Result<_, _>>()?,
        })
    }
}

impl VersionItem {
    fn new(it: &PacketVersion) -> Self {
        Self {
            packet: it.number,
            version: it.version,
            revision: it.revision.0,
            created_at: Time(it.created_at),
            created_by: it.created_by.as_str().to_owned(),
            document: json(it.packet.text()),
            recipe: json(it.recipe.text()),
        }
    }

    fn restore(&self) -> Result<PacketVersion, Error> {
        let packet = Packet::parse(self.document.0.get())?;
        if packet.text() != self.document.canonical()? {
            return Err(invalid("a packet is not written as this version writes it"));
        }
        Ok(PacketVersion {
            number: self.packet,
            version: self.version,
            revision: Revision(self.revision),
            created_at: self.created_at.0,
            created_by: Participant::parse(&self.created_by)?,
            packet,
            recipe: Recipe::parse(self.recipe.0.get())?,
        })
    }
}

impl ReaderItem {
    fn new(it: &Reader) -> Self {
        Self {
            participant: it.participant.as_str().to_owned(),
            version: it.version,
            read_at: Time(it.read_at),
            layers: names(&it.layers),
            questions: it.questions.clone(),
            given: it.given.clone(),
        }
    }

    fn restore(&self) -> Result<Reader, Error> {
        Ok(Reader {
            participant: Participant::parse(&self.participant)?,
            version: self.version,
            read_at: self.read_at.0,
            layers: layers(&self.layers)?,
            questions: self.questions.clone(),
            given: self.given.clone(),
        })
    }
}

impl FeedbackItem {
    fn new(it: &KeptFeedback) -> Self {
        let Feedback { gaps, unused, outcome, note } = &it.feedback;
        Self {
            feedback: it.number,
            address: it.address.as_str().to_owned(),
            version: it.version,
            task_type: it.task_type.clone(),
            depth: it.depth.as_str().to_owned(),
            tokens: it.tokens.0,
            by: it.by.as_str().to_owned(),
            at: Time(it.at),
            layers: names(&it.layers),
            questions: it.questions.clone(),
            gaps: gaps.clone(),
            unused: unused.clone(),
            outcome: outcome.map(|it| it.as_str().to_owned()),
            note: note.clone(),
        }
    }

    fn restore(&self) -> Result<KeptFeedback, Error> {
        Ok(KeptFeedback {
            number: self.feedback,
            address: Address::parse(&self.address)?,
            version: self.version,
            task_type: self.task_type.clone(),
            depth: Depth::parse(&self.depth)?,
            tokens: Tokens(self.tokens),
            by: Participant::parse(&self.by)?,
            at: self.at.0,
            layers: layers(&self.layers)?,
            questions: self.questions.clone(),
            feedback: Feedback {
                gaps: self.gaps.clone(),
                unused: self.unused.clone(),
                outcome: self.outcome.as_deref().map(Outcome::parse).transpose()?,
                note: self.note.clone(),
            },
        })
    }
}
