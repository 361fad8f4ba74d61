//! The rows of the context pipeline: their names and contents.
//!
//! `a/head` holds the numbers and the sizes of the kept envelopes, `a/e/<number>` an envelope,
//! `a/i/<number>` an injection, `a/m/<number>` missing context.

use serde::{Deserialize, Serialize};

use super::{
    assembly::{self, Rules},
    kept::{Answer, Content, Injection, KeptEnvelope, KeptId, Missing, Part},
    kinds::{MissingKind, Place, Target},
    request::{AnswerMissing, AssembleContext, Command, RecordInjection, ReportMissing},
};
use crate::{
    Error,
    budget::Budget,
    compact::{Aim, CompactItems},
    context::plan::Part as WindowPart,
    item::{Body, Item},
    kv::Revision,
    pattern::KeyPattern,
    row::{damaged, decode, digest, encode, stored_key, stored_participant},
    time::Timestamp,
};

/// The name of the row of [`Head`].
pub(crate) const HEAD: &str = "a/head";
/// The prefix of the rows of envelopes.
pub(crate) const ENVELOPES: &str = "a/e/";
/// The prefix of the rows of injections.
pub(crate) const INJECTIONS: &str = "a/i/";
/// The prefix of the rows of missing context.
pub(crate) const MISSING: &str = "a/m/";

/// Returns the name of a row of this prefix.
pub(crate) fn row(prefix: &str, number: u64) -> String {
    format!("{prefix}{number:016x}")
}

/// The numbers that were given, and what is kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) last_envelope: u64,
    pub(crate) last_injection: u64,
    pub(crate) oldest_injection: u64,
    pub(crate) last_missing: u64,
    /// The kept envelopes, oldest first: numbers, and bytes as documents.
    pub(crate) envelopes: Vec<(u64, u64)>,
}

#[derive(Serialize, Deserialize)]
struct EnvelopeRecord {
    number: u64,
    created_by: String,
    head: String,
    open: String,
    close: String,
    parts: Vec<PartRecord>,
}

#[derive(Serialize, Deserialize)]
struct PartRecord {
    item: Option<String>,
    digest: String,
    before: String,
    content: ContentRecord,
    after: String,
    entry: Option<(String, u64)>,
    is_evidence: bool,
}

#[derive(Serialize, Deserialize)]
enum ContentRecord {
    Text(String),
    Redacted(String),
    Reference,
}

/// A stored injection: number, envelope, place, target, time, participant.
type InjectionRecord = (u64, u64, String, String, u64, String);

/// Stored missing context: number, kind, text, envelope, time, participant, answer.
type MissingRecord = (u64, String, String, Option<u64>, u64, String, Option<AnswerRecord>);

/// A stored answer: text, time, participant.
type AnswerRecord = (String, u64, String);

pub(crate) fn encode_envelope(it: &KeptEnvelope) -> Result<Vec<u8>, Error> {
    let part = |it: &Part| PartRecord {
        item: it.item.clone(),
        digest: it.digest.clone(),
        before: it.before.clone(),
        content: match &it.content {
            Content::Text(text) => ContentRecord::Text(text.clone()),
            Content::Redacted(reason) => ContentRecord::Redacted(reason.clone()),
            Content::Reference | Content::Withheld => ContentRecord::Reference,
        },
        after: it.after.clone(),
        entry: it.entry.as_ref().map(|(key, revision)| (key.as_str().to_owned(), revision.0)),
        is_evidence: it.is_evidence,
    };
    encode(&EnvelopeRecord {
        number: it.number,
        created_by: it.created_by.as_str().to_owned(),
        head: it.head.clone(),
        open: it.open.clone(),
        close: it.close.clone(),
        parts: it.parts.iter().map(part).collect(),
    })
}

pub(crate) fn decode_envelope(bytes: &[u8]) -> Result<KeptEnvelope, Error> {
    let it: EnvelopeRecord = decode(bytes)?;
    // Replies have it as it is.
    if !assembly::is_object(&it.head) {
        return Err(damaged("an envelope that is no JSON"));
    }
    let part = |it: PartRecord| {
        let entry =
            it.entry.map(|(key, revision)| Ok::<_, Error>((stored_key(&key)?, Revision(revision))));
        Ok(Part {
            item: it.item,
            digest: it.digest,
            before: it.before,
            content: match it.content {
                ContentRecord::Text(text) => Content::Text(text),
                ContentRecord::Redacted(reason) => Content::Redacted(reason),
                ContentRecord::Reference => Content::Reference,
            },
            after: it.after,
            entry: entry.transpose()?,
            is_evidence: it.is_evidence,
        })
    };
    Ok(KeptEnvelope {
        number: it.number,
        created_by: stored_participant(&it.created_by)?,
        head: it.head,
        open: it.open,
        close: it.close,
        parts: it.parts.into_iter().map(part).collect::<Result<_, Error>>()?,
    })
}

fn injection_record(it: &Injection) -> InjectionRecord {
    let (place, target) = (it.place.as_str().to_owned(), it.target.as_str().to_owned());
    (it.number, it.envelope.number, place, target, it.at.0, it.by.as_str().to_owned())
}

fn missing_record(it: &Missing) -> MissingRecord {
    let answer = it.answer.as_ref();
    let answer = answer.map(|it| (it.text.clone(), it.at.0, it.by.as_str().to_owned()));
    let envelope = it.envelope.map(|it| it.number);
    let (kind, by) = (it.kind.as_str().to_owned(), it.by.as_str().to_owned());
    (it.id.number, kind, it.text.clone(), envelope, it.at.0, by, answer)
}

pub(crate) fn encode_injection(it: &Injection) -> Result<Vec<u8>, Error> {
    encode(&injection_record(it))
}

pub(crate) fn decode_injection(bytes: &[u8]) -> Result<Injection, Error> {
    let (number, envelope, place, target, at, by): InjectionRecord = decode(bytes)?;
    Ok(Injection {
        number,
        envelope: KeptId::envelope(envelope),
        place: Place::parse(&place).map_err(damaged)?,
        target: Target::parse(&target).map_err(damaged)?,
        at: Timestamp(at),
        by: stored_participant(&by)?,
    })
}

pub(crate) fn encode_missing(it: &Missing) -> Result<Vec<u8>, Error> {
    encode(&missing_record(it))
}

pub(crate) fn decode_missing(bytes: &[u8]) -> Result<Missing, Error> {
    let (number, kind, text, envelope, at, by, answer): MissingRecord = decode(bytes)?;
    let answer = answer.map(|(text, at, by)| {
        Ok::<_, Error>(Answer { text, at: Timestamp(at), by: stored_participant(&by)? })
    });
    Ok(Missing {
        id: KeptId::missing(number),
        kind: MissingKind::parse(&kind).map_err(damaged)?,
        text,
        envelope: envelope.map(KeptId::envelope),
        at: Timestamp(at),
        by: stored_participant(&by)?,
        answer: answer.transpose()?,
    })
}

/// Returns the digest that identifies a change; `None` for a read.
pub(crate) fn command_digest(it: &Command) -> Option<Result<[u8; 16], Error>> {
    match it {
        Command::Assemble(it) => Some(assemble_digest(it)),
        Command::RecordInjection(RecordInjection { envelope, place, target }) => {
            Some(digest(&("record_injection", envelope.number, place.as_str(), target.as_str())))
        }
        Command::ReportMissing(ReportMissing { kind, text, envelope }) => {
            let envelope = envelope.map(|it| it.number);
            Some(digest(&("report_missing", kind.as_str(), text, envelope)))
        }
        Command::AnswerMissing(AnswerMissing { missing, answer }) => {
            Some(digest(&("answer_missing", missing.number, answer)))
        }
        Command::PlanWindow(_)
        | Command::ReadEnvelope(_)
        | Command::ExportEvidence(_)
        | Command::ListMissing(_) => None,
    }
}

fn assemble_digest(it: &AssembleContext) -> Result<[u8; 16], Error> {
    let Rules { budget: Budget { tokens, bytes, items, newer_than, reserved }, .. } = it.rules;
    let rules = &it.rules;
    let names = [
        rules.target.as_str(),
        rules.place.as_str(),
        rules.purpose.as_str(),
        rules.rank_by.as_str(),
        rules.format.as_str(),
    ];
    let window = rules
        .window
        .as_ref()
        .map(|(plan, used)| (plan.window.0, WindowPart::ALL.map(|it| plan.parts.of(it).0), used.0));
    digest(&(
        ("assemble_context", &it.task, it.previous.map(|it| it.number), it.keeps),
        (tokens.0, bytes, items, newer_than.map(|it| it.0), reserved.0, rules.relevance_min.0),
        (names, &rules.pinned, &rules.pruned, window),
        (it.entries.as_ref().map(KeyPattern::as_str), it.has_round_state, &it.uncounted),
        it.items.iter().map(item).collect::<Vec<_>>(),
    ))
}

/// Returns the digest that identifies a compaction.
pub(crate) fn compaction_digest(it: &CompactItems) -> Result<[u8; 16], Error> {
    let aim = match it.aim {
        Aim::Window(it) => ("window", it.0),
        Aim::Tokens(it) => ("tokens", it.0),
        Aim::Reduction(it) => ("reduction", it.into()),
    };
    digest(&(
        ("compact", &it.task, aim, it.weighting.as_str(), it.keeps),
        &it.uncounted,
        it.items.iter().map(item).collect::<Vec<_>>(),
    ))
}

/// Returns what identifies an item.
fn item(it: &Item) -> impl Serialize + '_ {
    let (text, reference) = match &it.body {
        Body::Text(text) => (Some(text), None),
        Body::Reference { digest } => (None, Some(digest)),
    };
    let source = &it.source;
    (
        (&it.id, it.kind.as_str(), text, reference, it.tokens.0),
        (&source.origin, &source.selectors, &source.digest, source.authority.as_str()),
        &source.native_ids,
        it.visibility.targets().map(Target::as_str).collect::<Vec<_>>(),
        (it.at.map(|it| it.0), it.expires_at.map(|it| it.0), it.importance, it.open_issues),
        it.roles.iter().map(|it| it.as_str()).collect::<Vec<_>>(),
        (it.operations_ago, &it.depends_on, &it.pair, &it.group),
    )
}
