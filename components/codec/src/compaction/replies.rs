//! Replies of compaction (spec 17).

use serde::{Serialize, Serializer};
use shared_context_core::{
    CompactionReply,
    compact::{
        Compaction, Coverage, Digest, Repair, ScoreParts, Snapshot, SummaryCheck, VerdictKind,
    },
    context::{
        capacity::{OPERATIONS_MAX, YELLOW},
        kept::KeptId,
    },
    extract::{Detail, Extraction, Fact, Position, Severity},
    item::Item,
};

use crate::json::to_vec;

/// The facts of a conversation.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "extract_reply"))]
pub(crate) struct ExtractReply<'a> {
    /// The facts, in the order of their places.
    facts: Vec<FactItem<'a>>,
    /// The number of lines that were read.
    lines: u32,
    /// Where to go on, if a limit was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<PositionItem<'a>>,
    /// The session's revision.
    revision: u64,
}

/// A position in a conversation.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "next_position"))]
struct PositionItem<'a> {
    /// The id of the item.
    item: &'a str,
    /// The line in its text, from 1.
    line: u32,
}

/// A fact of a conversation.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "fact"))]
struct FactItem<'a> {
    /// `goal`, `constraint`, `preference`, `decision`, `issue`, `critical`, `state`,
    /// `modification`, `question`, `learning`, `failure`, `pattern`, `fact`, `prune` or `noise`.
    class: &'static str,
    /// How much it must be kept: 100 always, 31 to 99 rather, 0 to 30 not.
    score: u8,
    /// `open`: it holds; `resolved`: it is done; `superseded`: a later fact replaces it.
    status: &'static str,
    /// Its text, a part of the text of its item.
    text: &'a str,
    /// The id of its item.
    item: &'a str,
    /// The line in the text of the item, from 1.
    line: u32,
    /// Its first character in the text of the item, from 0.
    start: u32,
    /// The character after its last.
    end: u32,
    /// The SHA-256 of its text.
    digest: &'a str,
    /// How far its source can be trusted, as its item says.
    authority: &'static str,
    /// Who is named as its author.
    #[serde(skip_serializing_if = "Option::is_none")]
    made_by: Option<&'a str>,
    /// The time that is written before it, as it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    said_at: Option<&'a str>,
    /// The id of an issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    /// The severity of an issue: `critical`, `high`, `medium` or `low`.
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<&'static str>,
    /// The labelled parts of its text, such as the rationale.
    #[serde(skip_serializing_if = "Details::is_empty")]
    details: Details<'a>,
    /// The place in the list of facts, from 0, of the fact that replaces or resolves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<usize>,
}

/// The labelled parts of a fact: labels and texts. Of a label that is there twice the first counts.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transparent, inline))]
struct Details<'a>(
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    &'a [Detail],
);

impl Details<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_first = |(place, it): &(usize, &Detail)| {
            self.0.iter().position(|other| other.label == it.label) == Some(*place)
        };
        let firsts = self.0.iter().enumerate().filter(is_first);
        serializer.collect_map(firsts.map(|(_, it)| (&it.label, &it.text)))
    }
}

/// A conversation that fits, or the plan of one.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "compact_reply"))]
pub(crate) struct CompactReply<'a> {
    /// The id of its envelope, if it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The most tokens of the result.
    target_tokens: u32,
    /// The conversation before.
    before: SnapshotItem,
    /// The conversation after.
    after: SnapshotItem,
    /// The tokens that were saved.
    saved_tokens: u32,
    /// Their share of the tokens before in percent, rounded down.
    saved_percent: u64,
    /// The items of the result, in order.
    items: Vec<ResultItem<'a>>,
    /// What became of each item of the request, in order.
    plan: Vec<PlanItem<'a>>,
    /// What removed items said. Absent if there is nothing to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<DigestItem<'a>>,
    /// The classes of which facts were lost. A fact of score 100 never is.
    losses: Vec<LossItem>,
    /// How much of the conversation is in the result.
    coverage: CoverageItem,
    /// What was checked after the compaction.
    checklist: Vec<CheckItem<'a>>,
    /// Remarks.
    flags: Vec<FlagItem>,
    /// When the next compaction is due.
    refresh: RefreshItem,
    /// The session's revision.
    revision: u64,
}

/// A conversation before or after a compaction.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "conversation_counts"))]
struct SnapshotItem {
    /// Its tokens.
    tokens: u32,
    /// The number of items.
    items: u32,
    /// The number of decisions that hold.
    decisions: u32,
    /// The number of open issues.
    issues: u32,
    /// The number of files that were modified.
    files: u32,
}

/// An item of the result.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "result_item"))]
struct ResultItem<'a> {
    /// Its id in the request; for the digest `digest:` and 12 hexadecimal digits of its SHA-256.
    id: &'a str,
    /// Its tokens.
    tokens: u32,
    /// Its new text. Absent if its text is unchanged, and from a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// True for the digest.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_digest: bool,
}

/// What became of an item, and why.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "planned_item"))]
struct PlanItem<'a> {
    /// Its id.
    id: &'a str,
    /// Its score: 100 is kept, 0 to 30 is removed first.
    score: u8,
    /// The parts of a score of 31 to 99, each 0 to 100 percent. Absent if a rule decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<ScoreItem>,
    /// Why it has this score: the class of a fact in it, or a rule.
    rule: &'static str,
    /// `kept` whole, `condensed` to a part of its text, `digested` into the digest, or `removed`.
    fate: &'static str,
    /// The id of the item that it repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats: Option<&'a str>,
}

/// The parts of a score.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "compaction_score"))]
struct ScoreItem {
    /// How late in the conversation it is.
    recency: u8,
    /// How often it is referred to.
    references: u8,
    /// How relevant it is for the task.
    relevance: u8,
    /// How many names, numbers and ids it has for its length.
    density: u8,
}

/// What removed items said.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "compaction_digest"))]
struct DigestItem<'a> {
    /// The id of its item in the result.
    id: &'a str,
    /// Its tokens.
    tokens: u32,
    /// Its lines, in order.
    lines: Vec<LineItem<'a>>,
}

/// A line of a digest.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "digest_line"))]
struct LineItem<'a> {
    /// `goal`, `constraints`, `decisions`, `issues`, `state`, `modifications` or `learnings`.
    section: &'static str,
    /// The text, in the words of the conversation. Absent from a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// The id of its item, and the line in it; of a line of an earlier digest as that had it.
    source: &'a str,
    /// How far its source can be trusted.
    authority: &'static str,
    /// The SHA-256 of the text.
    digest: &'a str,
}

/// How much of a class was lost.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "class_loss"))]
struct LossItem {
    /// The class.
    class: &'static str,
    /// How many of its facts the conversation had.
    before: u32,
    /// How many of them are in the result.
    after: u32,
}

/// How much of the conversation is in the result.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "source_coverage"))]
struct CoverageItem {
    /// The number of items that are kept whole.
    kept: u32,
    /// The number of items of which a part is kept.
    in_part: u32,
    /// The number of items that are removed.
    removed: u32,
    /// The share of the tokens that are kept whole, in percent.
    percent_kept: u8,
}

/// A point of the checklist.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "checklist_point"))]
struct CheckItem<'a> {
    /// What is checked.
    check: &'static str,
    /// True if it holds.
    holds: bool,
    /// The evidence.
    evidence: &'a str,
}

/// A remark on a compaction.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "compaction_flag"))]
struct FlagItem {
    /// `over_aggressive`, `under_target` or `nothing_to_gain`.
    flag: &'static str,
    /// What it means.
    meaning: &'static str,
}

/// When the next compaction is due: what comes first.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "refresh_policy"))]
struct RefreshItem {
    /// After this many operations.
    operations: u32,
    /// Once this share of the window is used, in percent.
    used_percent: u32,
}

/// What a summary has of the facts that must be kept.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "check_reply"))]
pub(crate) struct CheckReply<'a> {
    /// The facts that must be kept and hold, in the order of their places.
    facts: Vec<VerdictItem<'a>>,
    /// How many of them the summary has.
    present: usize,
    /// How many it lacks.
    missing: usize,
    /// How many it has with an earlier value.
    outdated: usize,
    /// The repaired summary, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<RepairItem<'a>>,
    /// The session's revision.
    revision: u64,
}

/// What a summary has of a fact.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "summary_verdict"))]
struct VerdictItem<'a> {
    /// `present`, `missing`, or `outdated`: the summary has an earlier value.
    verdict: &'static str,
    /// The fact.
    text: &'a str,
    /// Its class.
    class: &'static str,
    /// The id of its item.
    item: &'a str,
    /// The line in the text of the item, from 1.
    line: u32,
    /// The line of the summary that comes closest, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_line: Option<u32>,
    /// The numbers, ids, names and words of the fact that the summary lacks.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    lacks: &'a [String],
}

/// A summary with the facts that it lacked.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "repaired_summary"))]
struct RepairItem<'a> {
    /// The summary, then the facts.
    text: &'a str,
    /// Its tokens.
    tokens: u32,
    /// The places in the list of facts, from 0, of those that were appended.
    appended: Vec<usize>,
    /// The places of those that did not fit.
    left_out: Vec<usize>,
}

/// Serializes a reply of compaction.
pub(crate) fn encode(reply: &CompactionReply, revision: u64) -> Vec<u8> {
    match reply {
        CompactionReply::Extracted { extraction, ids } => to_vec(&ExtractReply {
            facts: extraction.facts.iter().map(|it| fact(it, ids)).collect(),
            lines: extraction.lines,
            next: extraction.next.and_then(|it| position(it, ids)),
            revision,
        }),
        CompactionReply::Compacted { compaction, items, is_dry_run, envelope } => {
            let id = compaction.digest.as_ref().map(Digest::id).unwrap_or_default();
            let reply = compacted(compaction, items, &id, !is_dry_run, revision);
            let id = envelope.map(|it| KeptId::envelope(it).to_string());
            to_vec(&CompactReply { id, ..reply })
        }
        CompactionReply::Checked { extraction, ids, check, repair } => {
            to_vec(&checked(extraction, ids, check, repair.as_ref(), revision))
        }
    }
}

fn fact<'a>(it: &'a Fact, ids: &'a [String]) -> FactItem<'a> {
    FactItem {
        class: it.class.as_str(),
        score: it.score,
        status: it.status.as_str(),
        text: &it.text,
        item: id_of(ids, it.place.item),
        line: it.place.line.saturating_add(1),
        start: it.place.char_start,
        end: it.place.char_end,
        digest: &it.digest,
        authority: it.authority.as_str(),
        made_by: it.made_by.as_deref(),
        said_at: it.said_at.as_deref(),
        id: it.id.as_deref(),
        severity: it.severity.map(Severity::as_str),
        details: Details(&it.details),
        superseded_by: it.superseded_by,
    }
}

fn position(it: Position, ids: &[String]) -> Option<PositionItem<'_>> {
    let item = ids.get(it.item)?;
    Some(PositionItem { item, line: it.line.saturating_add(1) })
}

fn id_of(ids: &[String], place: usize) -> &str {
    ids.get(place).map(String::as_str).unwrap_or_default()
}

fn compacted<'a>(
    it: &'a Compaction,
    items: &'a [Item],
    digest_id: &'a str,
    has_texts: bool,
    revision: u64,
) -> CompactReply<'a> {
    let id = |place: usize| items.get(place).map(|it| it.id.as_str()).unwrap_or_default();
    let mut result: Vec<ResultItem<'_>> = it
        .remainders
        .iter()
        .map(|it| ResultItem {
            id: id(it.item),
            tokens: it.tokens.0,
            text: it.text.as_deref().filter(|_| has_texts),
            is_digest: false,
        })
        .collect();
    if let Some(digest) = &it.digest {
        let text = has_texts.then_some(digest.text.as_str());
        let item = ResultItem { id: digest_id, tokens: digest.tokens.0, text, is_digest: true };
        result.insert(it.digest_before.min(result.len()), item);
    }
    let plan = items.iter().zip(&it.scored).map(|(item, it)| PlanItem {
        id: &item.id,
        score: it.score,
        parts: it.parts.map(score),
        rule: it.rule,
        fate: it.fate.as_str(),
        repeats: it.repeats.map(id),
    });
    let Coverage { kept, in_part, removed, percent_kept } = it.coverage;
    let (saved, before) = (it.saved().0, it.before.tokens.0);
    let losses = it.losses.iter().map(|it| LossItem {
        class: it.class.as_str(),
        before: it.before,
        after: it.after,
    });
    let checklist = it.findings.iter().map(|it| CheckItem {
        check: it.check,
        holds: it.holds,
        evidence: &it.evidence,
    });
    let flags = it.flags.iter();
    let flags = flags.map(|it| FlagItem { flag: it.as_str(), meaning: it.description() });
    CompactReply {
        id: None,
        target_tokens: it.target.0,
        before: snapshot(it.before),
        after: snapshot(it.after),
        saved_tokens: saved,
        saved_percent: u64::from(saved)
            .saturating_mul(100)
            .checked_div(before.into())
            .unwrap_or_default(),
        items: result,
        plan: plan.collect(),
        digest: it.digest.as_ref().map(|it| digest(it, digest_id, has_texts)),
        losses: losses.collect(),
        coverage: CoverageItem { kept, in_part, removed, percent_kept },
        checklist: checklist.collect(),
        flags: flags.collect(),
        refresh: RefreshItem { operations: OPERATIONS_MAX, used_percent: YELLOW.0 / 100 },
        revision,
    }
}

fn snapshot(it: Snapshot) -> SnapshotItem {
    let Snapshot { tokens, items, decisions, issues, files } = it;
    SnapshotItem { tokens: tokens.0, items, decisions, issues, files }
}

fn score(it: ScoreParts) -> ScoreItem {
    let ScoreParts { recency, references, relevance, density } = it;
    ScoreItem { recency, references, relevance, density }
}

fn digest<'a>(it: &'a Digest, id: &'a str, has_texts: bool) -> DigestItem<'a> {
    let lines = it.lines.iter().map(|it| LineItem {
        section: it.section.as_str(),
        text: has_texts.then_some(it.text.as_str()),
        source: &it.source,
        authority: it.authority.as_str(),
        digest: &it.digest,
    });
    DigestItem { id, tokens: it.tokens.0, lines: lines.collect() }
}

fn checked<'a>(
    extraction: &'a Extraction,
    ids: &'a [String],
    check: &'a SummaryCheck,
    repair: Option<&'a Repair>,
    revision: u64,
) -> CheckReply<'a> {
    let facts = check.verdicts.iter().filter_map(|it| {
        let fact = extraction.facts.get(it.fact)?;
        Some(VerdictItem {
            verdict: it.kind.as_str(),
            text: &fact.text,
            class: fact.class.as_str(),
            item: id_of(ids, fact.place.item),
            line: fact.place.line.saturating_add(1),
            summary_line: it.line.map(|it| it.saturating_add(1)),
            lacks: &it.lacks,
        })
    });
    let count = |kind| check.verdicts.iter().filter(|it| it.kind == kind).count();
    // Verdicts are in the order of their facts.
    let places = |facts: &[usize]| {
        let place = |it: &usize| check.verdicts.binary_search_by_key(it, |it| it.fact).ok();
        facts.iter().filter_map(place).collect()
    };
    CheckReply {
        facts: facts.collect(),
        present: count(VerdictKind::Present),
        missing: count(VerdictKind::Missing),
        outdated: count(VerdictKind::Outdated),
        repaired: repair.map(|it| RepairItem {
            text: &it.text,
            tokens: it.tokens.0,
            appended: places(&it.appended),
            left_out: places(&it.left_out),
        }),
        revision,
    }
}
