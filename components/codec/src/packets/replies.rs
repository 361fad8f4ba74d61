//! Replies about packets (spec 18).

use serde::Serialize;
use shared_context_core::{
    Key,
    packets::{
        Address, Advice, Form, Origin, Packet, PacketAnswer, PacketRead, PacketWritten, Reply,
        Source, Stale, Verification,
    },
    text::{METHOD, Score},
};

use super::{packet::PacketText, reports};
use crate::json::to_vec;

/// A packet that was written, or would be.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_written"))]
pub(crate) struct WrittenReply<'a> {
    #[serde(flatten)]
    packet: PacketReply<'a>,
    /// Its budget.
    max_tokens: u32,
    /// How many statements are in it.
    included: u32,
    /// How many are not, by reason.
    omitted: Vec<OmittedForm>,
    /// The tokens of everything that it was made from.
    before_tokens: u32,
    /// How many percent of them the packet saves, with two decimals.
    saved_percent: f64,
    /// The keys of entries that are not in it because its receiver may not read them, at most 100.
    withheld_keys: Vec<&'a str>,
    /// What earlier feedback says about such a packet.
    advice: Vec<AdviceForm<'a>>,
    /// The session's revision.
    revision: u64,
}

/// A packet: its text in Markdown or YAML, or itself.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_text"))]
struct PacketReply<'a> {
    /// Its id; absent in a preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    /// Whom it is for.
    address: &'a str,
    /// Its version.
    version: u32,
    /// `minimal`, `standard` or `deep`.
    depth: &'static str,
    /// `markdown`, `yaml` or `json`.
    form: &'static str,
    /// Its tokens in this form.
    tokens: u32,
    /// Its checksum.
    checksum: &'a str,
    /// Its text in this form; absent for JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// The packet itself; absent for Markdown and YAML.
    #[serde(skip_serializing_if = "Option::is_none")]
    packet: Option<PacketText>,
}

/// How many statements are not in a packet for one reason.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_omission"))]
struct OmittedForm {
    /// `irrelevant`, `over_budget`, `duplicate_of` or another.
    reason: &'static str,
    /// How many.
    count: u32,
}

/// What earlier feedback says about a packet.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_advice"))]
struct AdviceForm<'a> {
    /// `KNOWN_GAP` or `USUALLY_UNUSED`.
    code: &'static str,
    /// The advice.
    message: &'a str,
}

/// A packet that was read.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_read"))]
pub(crate) struct ReadReply<'a> {
    #[serde(flatten)]
    packet: PacketReply<'a>,
    /// The newest version.
    newest_version: u32,
    /// A layer that the packet does not have; its text is `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<LayerForm>,
    /// What changed in its sources since it was written.
    stale: Vec<StaleForm<'a>>,
    /// Where it differs from the packet that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<ComparedForm<'a>>,
    /// The addresses of other packets for you.
    others: Vec<&'a str>,
    /// The session's revision.
    revision: u64,
}

/// A layer that was read from the sources of a packet.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_layer"))]
struct LayerForm {
    /// `goal`, `decisions`, `codebase` or `history`.
    layer: &'static str,
    /// Its tokens.
    tokens: u32,
    /// How many statements did not fit.
    left_out: u32,
}

/// A source that changed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_stale"))]
struct StaleForm<'a> {
    /// The places of the statements that come from it, as JSON pointers; none if they are hidden.
    pointers: &'a [String],
    #[serde(flatten)]
    source: OriginForm<'a>,
    /// `newer`, `gone` or `redacted`.
    staleness: &'static str,
    /// Its version now, or the last round.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<u64>,
}

/// Where a statement stands.
#[derive(Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_origin"))]
struct OriginForm<'a> {
    /// `given`, `entry`, `state`, `item`, `file` or `missing`.
    kind: &'static str,
    /// The key of an entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    /// The version of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    /// The round of a state.
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<u64>,
    /// The path of a file, or of a place in the state of a round.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    /// The id of an item of the conversation or of an envelope.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<&'a str>,
    /// The line in the item, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// The id of missing context.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<&'a str>,
}

/// Where a packet differs from the one that was sent.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_comparison"))]
struct ComparedForm<'a> {
    /// True if it is the same.
    is_intact: bool,
    /// The checksum that it should have.
    checksum: &'a str,
    /// The places that differ, as JSON pointers, at most 100.
    differences: &'a [String],
}

/// The answer to a question.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_answer"))]
pub(crate) struct AnswerReply<'a> {
    /// The address of the packet.
    address: &'a str,
    /// The statements that have most in common with the question, best first.
    findings: Vec<FindingForm<'a>>,
    /// Their tokens.
    tokens: u32,
    /// How many others have something in common with it.
    left_out: u32,
    /// The method of comparison: `lexical/1`.
    similarity: &'static str,
    /// The session's revision.
    revision: u64,
}

/// A statement that was found.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_finding"))]
struct FindingForm<'a> {
    /// The part of a packet that it belongs to.
    part: &'static str,
    /// The statement, with its reason.
    text: &'a str,
    /// How much it has in common with the question, 0 to 1.
    score: f64,
    /// Where it comes from.
    source: SourceForm<'a>,
}

/// The source of a statement.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_finding_source"))]
struct SourceForm<'a> {
    #[serde(flatten)]
    origin: OriginForm<'a>,
    /// The digest of what stands there.
    digest: &'a str,
    /// How far it can be trusted.
    authority: &'static str,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
}

/// Serializes a reply about packets.
pub(crate) fn encode(reply: &Reply, revision: u64) -> Vec<u8> {
    match reply {
        Reply::Written(it) => to_vec(&written(it, revision)),
        Reply::Read(it) => to_vec(&read(it, revision)),
        Reply::Feedback(it) => reports::feedback(it, revision),
        Reply::Answer(it) => to_vec(&answer(it, revision)),
        Reply::Statistics(it) => reports::statistics(it, revision),
        Reply::Cleared(address, versions) => {
            reports::cleared(address.as_str(), *versions, revision)
        }
        Reply::List(it) => reports::list(it, revision),
        // The session replaces them by what they refer to.
        Reply::KeptWritten(..) | Reply::KeptFeedback(_) => Vec::new(),
    }
}

/// Returns a score as a number with at most four decimals.
pub(super) fn number(Score(score): Score) -> f64 {
    f64::from(score) / f64::from(Score::ONE.0)
}

fn packet<'a>(it: &'a Packet, form: Form, text: &'a str) -> PacketReply<'a> {
    let is_json = form == Form::Json;
    PacketReply {
        id: it.id.as_deref(),
        address: it.address.as_str(),
        version: it.version,
        depth: it.depth.as_str(),
        form: form.as_str(),
        tokens: it.token_count.of(form).0,
        checksum: &it.checksum,
        text: (!is_json).then_some(text),
        packet: is_json.then(|| PacketText(it.text())),
    }
}

fn written(it: &PacketWritten, revision: u64) -> WrittenReply<'_> {
    let (before, after) = (it.report.before.0, it.packet.token_count.of(it.form).0);
    let saved = Score::ratio(before.saturating_sub(after).into(), before.into());
    WrittenReply {
        packet: packet(&it.packet, it.form, &it.text),
        max_tokens: it.budget.0,
        included: it.report.included,
        omitted: it
            .report
            .omitted
            .iter()
            .map(|(reason, count)| OmittedForm { reason: reason.as_str(), count: *count })
            .collect(),
        before_tokens: before,
        saved_percent: f64::from(saved.0) / 100.0,
        withheld_keys: it.report.withheld.iter().map(Key::as_str).collect(),
        advice: it.advice.iter().map(advice).collect(),
        revision,
    }
}

fn advice(it: &Advice) -> AdviceForm<'_> {
    AdviceForm { code: it.code.as_str(), message: &it.message }
}

fn read(it: &PacketRead, revision: u64) -> ReadReply<'_> {
    let mut packet = packet(&it.packet, it.form, &it.text);
    if it.layer.is_some() {
        (packet.text, packet.packet) = (Some(it.text.as_str()), None);
    }
    ReadReply {
        packet,
        newest_version: it.newest,
        layer: it.layer.as_ref().map(|it| LayerForm {
            layer: it.layer.as_str(),
            tokens: it.tokens.0,
            left_out: it.left_out,
        }),
        stale: it.stale.iter().map(stale).collect(),
        compared: it.verification.as_ref().map(compared),
        others: it.others.iter().map(Address::as_str).collect(),
        revision,
    }
}

fn stale(it: &Stale) -> StaleForm<'_> {
    let hidden = OriginForm { kind: "entry", ..OriginForm::default() };
    StaleForm {
        pointers: &it.pointers,
        source: it.origin.as_ref().map_or(hidden, origin),
        staleness: it.staleness.as_str(),
        current: it.current,
    }
}

fn origin(it: &Origin) -> OriginForm<'_> {
    let none = OriginForm::default();
    match it {
        Origin::Given => OriginForm { kind: "given", ..none },
        Origin::Entry { key, version } => {
            OriginForm { kind: "entry", key: Some(key.as_str()), version: Some(*version), ..none }
        }
        Origin::State { round, path } => {
            OriginForm { kind: "state", round: Some(*round), path: Some(path), ..none }
        }
        Origin::Item { id, line } => {
            OriginForm { kind: "item", item: Some(id), line: Some(*line), ..none }
        }
        Origin::File { path } => OriginForm { kind: "file", path: Some(path), ..none },
        Origin::Missing { id } => OriginForm { kind: "missing", missing: Some(id), ..none },
    }
}

fn compared(it: &Verification) -> ComparedForm<'_> {
    ComparedForm { is_intact: it.is_intact, checksum: &it.checksum, differences: &it.differences }
}

fn answer(it: &PacketAnswer, revision: u64) -> AnswerReply<'_> {
    let findings = it.answer.findings.iter().map(|it| FindingForm {
        part: it.part.as_str(),
        text: &it.text,
        score: number(it.score),
        source: source(&it.source),
    });
    AnswerReply {
        address: it.address.as_str(),
        findings: findings.collect(),
        tokens: it.answer.tokens.0,
        left_out: it.answer.left_out,
        similarity: METHOD,
        revision,
    }
}

fn source(it: &Source) -> SourceForm<'_> {
    SourceForm {
        origin: origin(&it.origin),
        digest: &it.digest,
        authority: it.authority.as_str(),
        by: it.by.as_deref(),
    }
}
