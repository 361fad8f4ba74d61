//! Replies of the context pipeline (spec 16).

use serde::Serialize;
use serde_json::Value;
use shared_context_core::{
    canonical,
    context::{
        Assembled, EnvelopeRead, PlannedWindow, Reply, SampleEstimate, Share,
        capacity::{Action, Trigger},
        kept::{Content, Injection, Missing, Part as KeptPart},
        plan::{ActiveUse, Part, Parts},
    },
    digest,
    tokens::Tokens,
};

use super::{compacted::AnyEnvelope, envelope::Envelope};
use crate::json::{Time, to_vec};

/// The name of the format of exported evidence.
const EVIDENCE_FORMAT: &str = "shared-context/evidence/1";

/// The plan of a context window, and how full it is.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "window_reply"))]
pub(crate) struct WindowReply {
    /// The size of the window.
    window_tokens: u32,
    /// The sizes of its parts.
    parts: PartsReply,
    /// How the active part is used.
    active_use: ActiveUseReply,
    /// The tokens of the window that are in no part.
    unplanned_tokens: u32,
    /// The tokens that are used.
    used_tokens: u32,
    /// Their share of the window in percent, rounded down to two decimals.
    used_percent: f64,
    /// How full the window is: `green`, `yellow` from 80 %, `orange` from 90 %, `red` from 95 %.
    level: &'static str,
    /// What that means.
    meaning: &'static str,
    /// What it demands, in order.
    actions: Vec<ActionReply>,
    /// The reasons to compact that are due.
    due: Vec<TriggerReply>,
    /// The estimate of the sample. Absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<EstimateReply>,
    /// The session's revision.
    revision: u64,
}

/// The parts of a window.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "window_parts_in_tokens"))]
struct PartsReply {
    /// The tokens of instructions and knowledge.
    knowledge: u32,
    /// The tokens of the task.
    active: u32,
    /// The tokens of decisions and the state that persists.
    session_memory: u32,
    /// The tokens that stay free.
    buffer: u32,
}

/// How the active part is used.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "active_use"))]
struct ActiveUseReply {
    /// The tokens that loading may fill.
    load: u32,
    /// The tokens for outputs of tools.
    tool_outputs: u32,
    /// The tokens for context that turns out to be needed.
    expansion: u32,
    /// The tokens that stay free.
    safety: u32,
}

/// An action that a level demands.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "capacity_action"))]
struct ActionReply {
    /// Its name.
    action: &'static str,
    /// What to do.
    meaning: &'static str,
}

/// A reason to compact that is due.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "trigger"))]
struct TriggerReply {
    /// Its name.
    trigger: &'static str,
    /// What happened.
    meaning: &'static str,
    /// False for the decision of a person or an agent.
    is_automatic: bool,
}

/// The estimate of a text beside its exact count.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "estimate"))]
struct EstimateReply {
    /// A quarter of the characters, rounded up.
    estimated_tokens: u32,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    exact: Option<ExactReply>,
}

/// The exact count of a text.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "exact_count"))]
struct ExactReply {
    /// The encoding that counted exactly. Absent, with what follows, if there is none.
    encoding: String,
    /// The exact count.
    exact_tokens: u32,
    /// The error of the estimate in percent of the exact count, with one decimal; negative if the
    /// estimate is too low. Null if the exact count is 0 and the estimate is not.
    error_percent: Option<f64>,
    /// True if the error is more than 10 %, so that the estimate should not be relied upon.
    is_off: bool,
}

/// An assembled context.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "assemble_reply"))]
pub(crate) struct AssembleReply<'a> {
    /// The id of the envelope, if it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The text to show.
    text: &'a str,
    /// Why each candidate is in the text or not.
    envelope: Envelope<'a>,
    /// The session's revision.
    revision: u64,
}

/// A kept envelope, of an assembly or a compaction.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "envelope_reply"))]
pub(crate) struct EnvelopeReply<'a> {
    /// Its id.
    id: String,
    /// The digest of `envelope`: SHA-256 over canonical JSON (RFC 8785).
    digest: String,
    /// Of an assembly: why each candidate was shown or not. Of a compaction: what became of each item.
    envelope: AnyEnvelope<'a>,
    /// Where it became visible, oldest first.
    injections: Vec<InjectionItem>,
    /// The session's revision.
    revision: u64,
}

/// A kept envelope with the texts that were shown, or with those of the result of a compaction.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "evidence_reply"))]
pub(crate) struct EvidenceReply<'a> {
    /// The format: `shared-context/evidence/1`.
    format: &'static str,
    /// The id of the envelope.
    id: String,
    /// The digest of `envelope`: SHA-256 over canonical JSON (RFC 8785).
    digest: String,
    /// Of an assembly: why each candidate was shown or not. Of a compaction: what became of each item.
    /// With the digests of all texts.
    envelope: AnyEnvelope<'a>,
    /// What stands before the parts.
    open: &'a str,
    /// What was shown, or the items of the result of a compaction, in order.
    parts: Vec<PartItem<'a>>,
    /// What stands after the parts.
    close: &'a str,
    /// Where it became visible, oldest first.
    injections: Vec<InjectionItem>,
    /// The session's revision.
    revision: u64,
    /// The digest of all other members, computed like `digest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(required, with = "String"))]
    document_digest: Option<String>,
}

/// A part of the text that was shown, or an item of the result of a compaction. The digest of its
/// block in the envelope is that of `before`, `text` and `after` together; the digest of its item in
/// the result is that of `text`, which has nothing around it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "evidence_part"))]
struct PartItem<'a> {
    /// The id of the item; absent for the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<&'a str>,
    /// The digest of the text.
    digest: &'a str,
    /// What stands before the text.
    before: &'a str,
    /// The text; absent if it was redacted, is withheld, or was only referred to.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// Why the text was redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<&'a str>,
    /// True if you may not see the text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    withheld: bool,
    /// What stands after the text.
    after: &'a str,
}

/// Where a context became visible.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "injection"))]
struct InjectionItem {
    /// Its number in the session.
    injection: u64,
    /// The envelope.
    envelope: String,
    /// The place.
    place: &'static str,
    /// Who saw it.
    target: &'static str,
    /// When it was recorded.
    at: Time,
    /// Who recorded it.
    by: String,
}

/// A recorded injection.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "injection_reply"))]
pub(crate) struct InjectionReply {
    #[serde(flatten)]
    injection: InjectionItem,
    /// The session's revision.
    revision: u64,
}

/// Missing context.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "missing_context"))]
struct MissingItem<'a> {
    /// Its id.
    missing: String,
    /// `blocker`, `input`, `question` or `requested_source`.
    kind: &'static str,
    /// What is missing.
    text: &'a str,
    /// The envelope in which it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    envelope: Option<String>,
    /// When it was reported.
    reported_at: Time,
    /// Who reported it.
    reported_by: &'a str,
    /// The answer; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'a str>,
    /// When it was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_at: Option<Time>,
    /// Who answered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<&'a str>,
}

/// One missing context.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "missing_reply"))]
pub(crate) struct MissingReply<'a> {
    #[serde(flatten)]
    missing: MissingItem<'a>,
    /// The session's revision.
    revision: u64,
}

/// Missing context, blockers first.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "missing_list"))]
pub(crate) struct MissingListReply<'a> {
    /// The missing context.
    missing: Vec<MissingItem<'a>>,
    /// How much of it is open.
    open: u32,
    /// The session's revision.
    revision: u64,
}

/// Serializes a reply of the context pipeline.
pub(crate) fn encode(reply: &Reply, revision: u64) -> Vec<u8> {
    match reply {
        Reply::Window(it) => encode_window(it, revision),
        Reply::Assembled(it) => encode_assembled(it, revision),
        Reply::Envelope(it) => to_vec(&EnvelopeReply {
            id: it.envelope.id().to_string(),
            digest: it.envelope.digest(),
            envelope: AnyEnvelope(&it.envelope.head),
            injections: it.injections.iter().map(injection).collect(),
            revision,
        }),
        Reply::Evidence(it) => to_vec(&evidence(it, revision)),
        Reply::Injection(it) => to_vec(&InjectionReply { injection: injection(it), revision }),
        Reply::Missing(it) => to_vec(&MissingReply { missing: missing(it), revision }),
        Reply::MissingList(it) => to_vec(&MissingListReply {
            missing: it.missing.iter().map(missing).collect(),
            open: it.open,
            revision,
        }),
        // The session replaces them by what they refer to.
        Reply::KeptEnvelope(_) | Reply::KeptMissing(..) => Vec::new(),
    }
}

/// Serializes the plan of a window.
pub(crate) fn encode_window(it: &PlannedWindow, revision: u64) -> Vec<u8> {
    to_vec(&window(it, revision))
}

/// Serializes an assembled context. The envelope is put in as it is: the core has just written it, and
/// to check its syntax takes longer than to write it.
pub(crate) fn encode_assembled(it: &Assembled, revision: u64) -> Vec<u8> {
    let id = it.id.map(|it| it.to_string());
    let envelope = Envelope("null");
    let mut reply = to_vec(&AssembleReply { id, text: &it.text, envelope, revision });
    let end = format!(",\"revision\":{revision}}}");
    reply.truncate(reply.len().saturating_sub("null".len()).saturating_sub(end.len()));
    reply.extend_from_slice(it.envelope.as_bytes());
    reply.extend_from_slice(end.as_bytes());
    reply
}

fn evidence(it: &EnvelopeRead, revision: u64) -> EvidenceReply<'_> {
    let mut reply = EvidenceReply {
        format: EVIDENCE_FORMAT,
        id: it.envelope.id().to_string(),
        digest: it.envelope.digest(),
        envelope: AnyEnvelope(&it.envelope.head),
        open: &it.envelope.open,
        parts: it.envelope.parts.iter().map(part).collect(),
        close: &it.envelope.close,
        injections: it.injections.iter().map(injection).collect(),
        revision,
        document_digest: None,
    };
    let document: Option<Value> = serde_json::from_slice(&to_vec(&reply)).ok();
    let canonical = document.and_then(|it| canonical::text(&it).ok());
    reply.document_digest = canonical.map(digest::sha256);
    reply
}

fn part(it: &KeptPart) -> PartItem<'_> {
    let (text, redacted) = match &it.content {
        Content::Text(text) => (Some(text.as_str()), None),
        Content::Redacted(reason) => (None, Some(reason.as_str())),
        Content::Reference | Content::Withheld => (None, None),
    };
    PartItem {
        item: it.item.as_deref(),
        digest: &it.digest,
        before: &it.before,
        text,
        redacted,
        withheld: it.content == Content::Withheld,
        after: &it.after,
    }
}

fn injection(it: &Injection) -> InjectionItem {
    InjectionItem {
        injection: it.number,
        envelope: it.envelope.to_string(),
        place: it.place.as_str(),
        target: it.target.as_str(),
        at: Time(it.at),
        by: it.by.as_str().to_owned(),
    }
}

fn missing(it: &Missing) -> MissingItem<'_> {
    let answer = it.answer.as_ref();
    MissingItem {
        missing: it.id.to_string(),
        kind: it.kind.as_str(),
        text: &it.text,
        envelope: it.envelope.map(|it| it.to_string()),
        reported_at: Time(it.at),
        reported_by: it.by.as_str(),
        answer: answer.map(|it| it.text.as_str()),
        answered_at: answer.map(|it| Time(it.at)),
        answered_by: answer.map(|it| it.by.as_str()),
    }
}

fn window(it: &PlannedWindow, revision: u64) -> WindowReply {
    let ActiveUse { load, tool_outputs, expansion, safety } = it.plan.active_use;
    WindowReply {
        window_tokens: it.plan.window.0,
        parts: parts(&it.plan.parts),
        active_use: ActiveUseReply {
            load: load.0,
            tool_outputs: tool_outputs.0,
            expansion: expansion.0,
            safety: safety.0,
        },
        unplanned_tokens: it.plan.unplanned.0,
        used_tokens: it.used.0,
        used_percent: f64::from(Share::of(it.used, it.plan.window).0) / 100.0,
        level: it.level.as_str(),
        meaning: it.level.description(),
        actions: it.level.actions().iter().map(|it| action(*it)).collect(),
        due: it.due.iter().map(|it| trigger(*it)).collect(),
        estimate: it.estimate.as_ref().map(estimate),
        revision,
    }
}

fn parts(it: &Parts<Tokens>) -> PartsReply {
    PartsReply {
        knowledge: it.of(Part::Knowledge).0,
        active: it.of(Part::Active).0,
        session_memory: it.of(Part::SessionMemory).0,
        buffer: it.of(Part::Buffer).0,
    }
}

fn action(it: Action) -> ActionReply {
    ActionReply { action: it.as_str(), meaning: it.description() }
}

fn trigger(it: Trigger) -> TriggerReply {
    TriggerReply {
        trigger: it.as_str(),
        meaning: it.description(),
        is_automatic: it.is_automatic(),
    }
}

fn estimate(it: &SampleEstimate) -> EstimateReply {
    let exact = it.exact.as_ref().map(|(by, it)| ExactReply {
        encoding: by.as_str().to_owned(),
        exact_tokens: it.exact.0,
        // At most 2^32 units of 0.1 %, which a double has exactly.
        #[expect(clippy::cast_precision_loss, reason = "see above")]
        error_percent: it.error_permille().map(|permille| permille as f64 / 10.0),
        is_off: it.is_off(),
    });
    EstimateReply { estimated_tokens: it.estimated.0, exact }
}
