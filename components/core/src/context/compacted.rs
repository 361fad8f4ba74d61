//! The envelope of a compaction: its input, the outcome of each item and the result, as a JSON
//! document that others can check (spec 17.5).
//!
//! It is in canonical form (RFC 8785), with the digests of all texts and no text. The texts of the
//! result are kept beside it, as those of an assembly are.

use super::{
    assembly::write_item,
    kept::{Content, KeptEnvelope, KeptId, Part},
};
use crate::{
    canonical::Writer,
    compact::{CompactItems, Compaction, Coverage, Digest, ScoreParts, Snapshot},
    digest,
    item::{Body, Item, Target},
    participant::Participant,
    scope::SessionId,
    time::Timestamp,
};

/// The name of the format of envelopes of compactions.
pub const COMPACTION_FORMAT: &str = "shared-context/compaction/1";

/// The id and the owner of the envelope of a compaction.
#[derive(Debug, Clone, Copy)]
pub struct CompactionHeading<'a> {
    /// Its number.
    pub number: u64,
    /// The session.
    pub session: &'a SessionId,
    /// The participant that asked for it.
    pub created_by: &'a Participant,
    /// The time of the request.
    pub now: Timestamp,
}

impl KeptEnvelope {
    /// Creates the envelope of a compaction of `items`, which are those of `request` with all their
    /// tokens.
    pub fn of_compaction(
        request: &CompactItems,
        items: &[Item],
        compaction: &Compaction,
        heading: &CompactionHeading<'_>,
    ) -> Self {
        let result = compaction.items(items);
        Self {
            number: heading.number,
            created_by: heading.created_by.clone(),
            head: head(request, items, compaction, &result, heading),
            open: String::new(),
            parts: result.iter().map(part).collect(),
            close: String::new(),
        }
    }
}

fn part(item: &Item) -> Part {
    Part {
        item: Some(item.id.clone()),
        digest: digest_of(item),
        before: String::new(),
        content: match &item.body {
            Body::Text(text) => Content::Text(text.clone()),
            Body::Reference { .. } => Content::Reference,
        },
        after: String::new(),
        entry: None,
        is_evidence: item.visibility.has(Target::EvidenceExport),
    }
}

fn digest_of(item: &Item) -> String {
    match &item.body {
        Body::Text(text) => digest::sha256(text),
        Body::Reference { digest } => digest.clone(),
    }
}

/// Returns the envelope as canonical JSON.
fn head(
    request: &CompactItems,
    items: &[Item],
    it: &Compaction,
    result: &[Item],
    heading: &CompactionHeading<'_>,
) -> String {
    let mut json = Writer::default();
    json.open('{');
    write_snapshot(&mut json, "after", it.after);
    write_snapshot(&mut json, "before", it.before);
    json.list("checklist");
    for point in &it.findings {
        json.open('{');
        json.text("check", point.check);
        json.text("evidence", &point.evidence);
        json.flag("holds", point.holds);
        json.close('}');
    }
    json.close(']');
    write_coverage(&mut json, it.coverage);
    json.text("created_at", &heading.now.to_string());
    json.text("created_by", heading.created_by.as_str());
    if let Some(digest) = &it.digest {
        write_digest(&mut json, digest);
    }
    json.list("flags");
    it.flags.iter().for_each(|it| json.item(it.as_str()));
    json.close(']');
    json.text("format", COMPACTION_FORMAT);
    json.text("id", &KeptId::envelope(heading.number).to_string());
    json.list("items");
    for item in items {
        write_item(&mut json, item);
    }
    json.close(']');
    json.list("losses");
    for loss in &it.losses {
        json.open('{');
        json.number("after", loss.after.into());
        json.number("before", loss.before.into());
        json.text("class", loss.class.as_str());
        json.close('}');
    }
    json.close(']');
    write_plan(&mut json, items, it);
    json.list("result");
    for item in result {
        json.open('{');
        json.text("digest", &digest_of(item));
        json.text("item", &item.id);
        json.number("tokens", item.tokens.0.into());
        json.close('}');
    }
    json.close(']');
    json.text("session", heading.session.as_str());
    json.number("target_tokens", it.target.0.into());
    if !request.task.trim().is_empty() {
        json.object("task");
        json.text("digest", &digest::sha256(request.task.trim_end()));
        json.close('}');
    }
    json.text("weighting", request.weighting.as_str());
    json.close('}');
    json.into_text()
}

fn write_snapshot(json: &mut Writer, name: &str, it: Snapshot) {
    let Snapshot { tokens, items, decisions, issues, files } = it;
    json.object(name);
    json.number("decisions", decisions.into());
    json.number("files", files.into());
    json.number("issues", issues.into());
    json.number("items", items.into());
    json.number("tokens", tokens.0.into());
    json.close('}');
}

fn write_coverage(json: &mut Writer, it: Coverage) {
    let Coverage { kept, in_part, removed, percent_kept } = it;
    json.object("coverage");
    json.number("in_part", in_part.into());
    json.number("kept", kept.into());
    json.number("percent_kept", percent_kept.into());
    json.number("removed", removed.into());
    json.close('}');
}

fn write_digest(json: &mut Writer, it: &Digest) {
    json.object("digest");
    json.text("id", &it.id());
    json.list("lines");
    for line in &it.lines {
        json.open('{');
        json.text("authority", line.authority.as_str());
        json.text("digest", &line.digest);
        json.text("section", line.section.as_str());
        json.text("source", &line.source);
        json.close('}');
    }
    json.close(']');
    json.number("tokens", it.tokens.0.into());
    json.close('}');
}

fn write_plan(json: &mut Writer, items: &[Item], it: &Compaction) {
    json.list("plan");
    for (item, scored) in items.iter().zip(&it.scored) {
        json.open('{');
        json.text("fate", scored.fate.as_str());
        json.text("id", &item.id);
        if let Some(ScoreParts { recency, references, relevance, density }) = scored.parts {
            json.object("parts");
            json.number("density", density.into());
            json.number("recency", recency.into());
            json.number("references", references.into());
            json.number("relevance", relevance.into());
            json.close('}');
        }
        if let Some(other) = scored.repeats.and_then(|it| items.get(it)) {
            json.text("repeats", &other.id);
        }
        json.text("rule", scored.rule);
        json.number("score", scored.score.into());
        json.close('}');
    }
    json.close(']');
}
