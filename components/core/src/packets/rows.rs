//! The rows of packets: their names and contents.
//!
//! `p/head` holds the numbers that were given and the sizes of everything that is kept, `p/k/<address>`
//! the readers of a packet, `p/v/<address>/<version>` a version with its recipe, `p/f/<number>`
//! feedback, `p/s` the statistics.

use serde::{Deserialize, Serialize};

use super::{
    Address, Depth, DepthSums, Feedback, GeneratePacket, Layer, Mentions, Outcome, Packet,
    PacketConfig, Recipe, Statistics, TypeSums,
    commands::{Command, EditPacket, GiveFeedback},
    kept::{KeptFeedback, PacketVersion, Reader, version_bytes},
};
use crate::{
    Error,
    kv::Revision,
    participant::Participant,
    row::{damaged, decode, digest, encode, stored_participant},
    time::Timestamp,
    tokens::Tokens,
};

/// The name of the row of [`Head`].
pub(crate) const HEAD: &str = "p/head";
/// The prefix of the rows of readers.
pub(crate) const READERS: &str = "p/k/";
/// The prefix of the rows of versions.
pub(crate) const VERSIONS: &str = "p/v/";
/// The prefix of the rows of feedback.
pub(crate) const FEEDBACK: &str = "p/f/";
/// The name of the row of the statistics.
pub(crate) const STATISTICS: &str = "p/s";

/// Returns the name of the row of the readers of a packet.
pub(crate) fn readers_row(address: &Address) -> String {
    format!("{READERS}{address}")
}

/// Returns the name of the row of a version.
pub(crate) fn version_row(address: &Address, version: u32) -> String {
    format!("{VERSIONS}{address}/{version:08x}")
}

/// Returns the name of the row of feedback.
pub(crate) fn feedback_row(number: u64) -> String {
    format!("{FEEDBACK}{number:016x}")
}

/// The numbers that were given, and the sizes of what is kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) last_packet: u64,
    pub(crate) last_feedback: u64,
    /// The packets, in the order of their addresses.
    pub(crate) packets: Vec<Kept>,
    /// The numbers of the kept feedback, oldest first, and its bytes in a document.
    pub(crate) feedback: Vec<(u64, u64)>,
}

/// The stored record of a packet.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) address: String,
    /// The bytes of its readers in a document.
    pub(crate) readers: u64,
    /// Its versions, oldest first: version, number, and bytes in a document.
    pub(crate) versions: Vec<(u32, u64, u64)>,
}

/// A stored version: number, version, revision, time, participant, packet, recipe. The recipe is a
/// text, too: it can have a hundred times the size of the packet, and is read only if it is needed.
type VersionRecord<'a> = (u64, u32, u64, u64, &'a str, &'a str, &'a [u8]);

/// A stored reader: participant, version, time, layers, questions, versions with feedback.
type ReaderRecord = (String, u32, u64, Vec<String>, Vec<String>, Vec<u32>);

#[derive(Serialize, Deserialize)]
struct FeedbackRecord {
    number: u64,
    address: String,
    version: u32,
    task_type: String,
    depth: String,
    tokens: u32,
    by: String,
    at: u64,
    layers: Vec<String>,
    questions: Vec<String>,
    gaps: Vec<String>,
    unused: Vec<String>,
    outcome: Option<String>,
    note: Option<String>,
}

/// Stored sums: type of task; those of each depth; gaps; unused.
type SumsRecord = (String, [DepthRecord; 3], Vec<MentionsRecord>, Vec<MentionsRecord>);

/// Stored sums of a depth: packets, done, failed, abandoned; each size, and how many have it.
type DepthRecord = ((u32, u32, u32, u32), Vec<(u32, u32)>);

/// Stored mentions: text; how often, with an outcome, with a failure.
type MentionsRecord = (String, (u32, u32, u32));

fn names(layers: &[Layer]) -> Vec<String> {
    layers.iter().map(|it| it.as_str().to_owned()).collect()
}

fn stored_layers(names: &[String]) -> Result<Vec<Layer>, Error> {
    let mut layers = Vec::new();
    for it in names {
        layers.push(Layer::parse(it).map_err(damaged)?);
    }
    Ok(layers)
}

fn stored_address(text: &str) -> Result<Address, Error> {
    Address::parse(text).map_err(damaged)
}

/// Returns the row of a version, and the bytes that the version takes in a document.
pub(crate) fn encode_version(it: &PacketVersion) -> Result<(Vec<u8>, u64), Error> {
    let (by, packet, recipe) = (it.created_by.as_str(), it.packet.text(), it.recipe.text());
    let bytes = version_bytes(&packet, &recipe);
    let record = (it.number, it.version, it.revision.0, it.created_at.0, by, packet, recipe);
    Ok((encode(&record)?, bytes))
}

pub(crate) fn decode_version(bytes: &[u8]) -> Result<PacketVersion, Error> {
    let (number, version, _, created_at, ..) = version_record(bytes)?;
    let (packet, created_by, revision) = decode_packet(bytes)?;
    Ok(PacketVersion {
        number,
        version,
        revision,
        created_at: Timestamp(created_at),
        created_by,
        packet,
        recipe: decode_recipe(bytes)?,
    })
}

/// Returns the packet of a version, its writer and its revision.
pub(crate) fn decode_packet(bytes: &[u8]) -> Result<(Packet, Participant, Revision), Error> {
    let (_, _, revision, _, by, packet, _) = version_record(bytes)?;
    let packet = Packet::parse(packet).map_err(damaged)?;
    Ok((packet, stored_participant(by)?, Revision(revision)))
}

/// Returns what a version was made by.
pub(crate) fn decode_recipe(bytes: &[u8]) -> Result<Recipe, Error> {
    let (.., recipe) = version_record(bytes)?;
    let recipe = std::str::from_utf8(recipe).map_err(|_| damaged("a recipe is no text"))?;
    Recipe::parse(recipe).map_err(damaged)
}

fn version_record(bytes: &[u8]) -> Result<VersionRecord<'_>, Error> {
    decode(bytes)
}

pub(crate) fn encode_readers(readers: &[Reader]) -> Result<Vec<u8>, Error> {
    let record = |it: &Reader| -> ReaderRecord {
        let by = it.participant.as_str().to_owned();
        let (layers, questions) = (names(&it.layers), it.questions.clone());
        (by, it.version, it.read_at.0, layers, questions, it.given.clone())
    };
    encode(&readers.iter().map(record).collect::<Vec<_>>())
}

pub(crate) fn decode_readers(bytes: &[u8]) -> Result<Vec<Reader>, Error> {
    let records: Vec<ReaderRecord> = decode(bytes)?;
    let mut readers = Vec::new();
    for (by, version, at, layers, questions, given) in records {
        readers.push(Reader {
            participant: stored_participant(&by)?,
            version,
            read_at: Timestamp(at),
            layers: stored_layers(&layers)?,
            questions,
            given,
        });
    }
    Ok(readers)
}

pub(crate) fn encode_feedback(it: &KeptFeedback) -> Result<Vec<u8>, Error> {
    let Feedback { gaps, unused, outcome, note } = &it.feedback;
    encode(&FeedbackRecord {
        number: it.number,
        address: it.address.as_str().to_owned(),
        version: it.version,
        task_type: it.task_type.clone(),
        depth: it.depth.as_str().to_owned(),
        tokens: it.tokens.0,
        by: it.by.as_str().to_owned(),
        at: it.at.0,
        layers: names(&it.layers),
        questions: it.questions.clone(),
        gaps: gaps.clone(),
        unused: unused.clone(),
        outcome: outcome.map(|it| it.as_str().to_owned()),
        note: note.clone(),
    })
}

pub(crate) fn decode_feedback(bytes: &[u8]) -> Result<KeptFeedback, Error> {
    let it: FeedbackRecord = decode(bytes)?;
    let outcome = it.outcome.as_deref().map(Outcome::parse).transpose().map_err(damaged)?;
    Ok(KeptFeedback {
        number: it.number,
        address: stored_address(&it.address)?,
        version: it.version,
        task_type: it.task_type,
        depth: Depth::parse(&it.depth).map_err(damaged)?,
        tokens: Tokens(it.tokens),
        by: stored_participant(&it.by)?,
        at: Timestamp(it.at),
        layers: stored_layers(&it.layers)?,
        questions: it.questions,
        feedback: Feedback { gaps: it.gaps, unused: it.unused, outcome, note: it.note },
    })
}

pub(crate) fn encode_statistics(it: &Statistics) -> Result<Vec<u8>, Error> {
    let depth = |it: &DepthSums| -> DepthRecord {
        ((it.count, it.done, it.failed, it.abandoned), it.sizes.clone())
    };
    let mentions = |all: &[(String, Mentions)]| -> Vec<MentionsRecord> {
        all.iter().map(|(text, it)| (text.clone(), (it.count, it.ended, it.failed))).collect()
    };
    let sums = |(name, it): &(String, TypeSums)| -> SumsRecord {
        let depths = it.depths.each_ref().map(depth);
        (name.clone(), depths, mentions(&it.gaps), mentions(&it.unused))
    };
    encode(&it.types.iter().map(sums).collect::<Vec<_>>())
}

pub(crate) fn decode_statistics(bytes: &[u8]) -> Result<Statistics, Error> {
    let depth = |((count, done, failed, abandoned), sizes): DepthRecord| DepthSums {
        count,
        done,
        failed,
        abandoned,
        sizes,
    };
    let mention =
        |(text, (count, ended, failed)): MentionsRecord| (text, Mentions { count, ended, failed });
    let mentions = |all: Vec<MentionsRecord>| all.into_iter().map(mention).collect();
    let sums = |(name, depths, gaps, unused): SumsRecord| {
        let (depths, gaps, unused) = (depths.map(depth), mentions(gaps), mentions(unused));
        (name, TypeSums { depths, gaps, unused })
    };
    let records: Vec<SumsRecord> = decode(bytes)?;
    Ok(Statistics { types: records.into_iter().map(sums).collect() })
}

/// Returns the digest that identifies a change; `None` for a read.
pub(crate) fn command_digest(it: &Command) -> Option<Result<[u8; 16], Error>> {
    match it {
        Command::Generate(it) => Some(generate_digest(it)),
        Command::Refresh(address) => Some(digest(&("context_refresh", address.as_str()))),
        Command::Edit(EditPacket { address, patch }) => {
            Some(digest(&("context_edit", address.as_str(), patch)))
        }
        Command::Feedback(GiveFeedback { address, version, feedback }) => {
            let Feedback { gaps, unused, outcome, note } = feedback;
            let outcome = outcome.map(Outcome::as_str);
            let address = address.as_ref().map(Address::as_str);
            Some(digest(&("context_feedback", address, version, gaps, unused, outcome, note)))
        }
        Command::Clear(address) => Some(digest(&("context_clear", address.as_str()))),
        Command::Read(_) | Command::Query(_) | Command::Statistics(_) | Command::List => None,
    }
}

fn generate_digest(it: &GeneratePacket) -> Result<[u8; 16], Error> {
    // The recipe has everything else, with a conversation as what was found in it.
    let by = Participant::parse("orchestrator")?;
    let recipe = Recipe::new(it, &PacketConfig::default(), &by).text();
    let (depth, budget) = (it.depth.map(Depth::as_str), it.budget.map(|it| it.0));
    digest(&("context_generate", recipe, depth, budget, it.is_preview))
}
