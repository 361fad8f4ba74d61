//! The envelope: an assembly as a JSON document that others can check (spec 16.13).
//!
//! It is written in canonical form (RFC 8785) from the beginning, so that its digest needs no other
//! writer. It has the digests of all texts, but no text.

use serde_json::{Map, Value};

use super::{Assembly, Candidate, Previous, PreviousBlock, Ranking, Request, Segment};
use crate::{
    budget::{Budget, Omission, Reason},
    canonical::Writer,
    digest,
    item::{Body, Item, Source, Target},
    order::{set, sorted},
    participant::Participant,
    scope::SessionId,
    text::METHOD,
    time::Timestamp,
    tokens::Tokens,
};

/// The name of the format of envelopes.
pub const ENVELOPE_FORMAT: &str = "shared-context/envelope/1";

/// The id and the owner of an envelope.
#[derive(Debug, Clone, Copy)]
pub struct Heading<'a> {
    /// Its id; `None` if it is not kept.
    pub id: Option<&'a str>,
    /// The session, and the participant that asked for it; `None` without a session.
    pub owner: Option<(&'a SessionId, &'a Participant)>,
    /// True if it lists the candidates that its target may not see.
    pub shows_hidden: bool,
}

impl Assembly {
    /// Returns the envelope of an assembly of `request`, as canonical JSON.
    pub fn envelope(&self, request: &Request<'_>, heading: &Heading<'_>) -> String {
        let Request { task, items, rules, now, .. } = *request;
        let is_shown = |it: &Candidate| {
            heading.shows_hidden
                || it.omission.as_ref().is_none_or(|it| !it.reason.is_confidential())
        };
        let shown = || items.iter().zip(&self.candidates).filter(|(_, it)| is_shown(it));
        let mut json = Writer::default();
        json.open('{');
        self.write_assembly(&mut json, request);
        write_budget(&mut json, &rules.budget, self);
        json.text("created_at", &now.to_string());
        if let Some((_, created_by)) = heading.owner {
            json.text("created_by", created_by.as_str());
        }
        json.text("format", ENVELOPE_FORMAT);
        if let Some(id) = heading.id {
            json.text("id", id);
        }
        json.list("items");
        shown().for_each(|(item, _)| write_item(&mut json, item));
        json.close(']');
        json.text("purpose", rules.purpose.as_str());
        json.object("selection");
        json.list("candidates");
        shown().for_each(|(item, candidate)| write_candidate(&mut json, item, candidate));
        json.close(']');
        json.text("rank_by", rules.rank_by.as_str());
        json.parts("relevance_min", rules.relevance_min.0);
        json.close('}');
        if let Some((session, _)) = heading.owner {
            json.text("session", session.as_str());
        }
        json.text("similarity", METHOD);
        json.object("surface");
        let tokens = shown().fold(Tokens(0), |sum, (item, _)| sum.plus(item.tokens));
        json.number("items", number(shown().count()));
        json.number("tokens", tokens.0.into());
        json.close('}');
        if let Some(block) = self.blocks.iter().find(|it| it.place.is_none()) {
            json.object("task");
            json.text("digest", &digest::sha256(task.trim_end()));
            json.number("tokens", block.tokens.0.into());
            json.close('}');
        }
        self.write_window(&mut json, &rules.budget);
        json.close('}');
        json.into_text()
    }

    fn write_assembly(&self, json: &mut Writer, request: &Request<'_>) {
        let Request { items, rules, .. } = *request;
        json.object("assembly");
        json.list("blocks");
        for block in &self.blocks {
            json.open('{');
            json.text("digest", &block.digest);
            if let Some(item) = block.place.and_then(|it| items.get(it)) {
                json.text("item", &item.id);
            }
            json.text("segment", block.segment.as_str());
            json.number("tokens", block.tokens.0.into());
            json.close('}');
        }
        json.close(']');
        json.text("format", rules.format.as_str());
        json.flag("is_replanned", self.is_replanned);
        json.text("place", rules.place.as_str());
        json.number("reused_prefix_tokens", self.reused_prefix.0.into());
        json.text("target", rules.target.as_str());
        json.number("tokens", self.used.tokens.0.into());
        json.close('}');
    }

    fn write_window(&self, json: &mut Writer, budget: &Budget) {
        json.object("window");
        json.number("reserved_tokens", budget.reserved.0.into());
        json.list("segments");
        for segment in Segment::ALL {
            let blocks = || self.blocks.iter().filter(|it| it.segment == segment);
            if blocks().next().is_none() {
                continue;
            }
            json.open('{');
            json.number("blocks", number(blocks().count()));
            json.text("segment", segment.as_str());
            let tokens = blocks().fold(Tokens(0), |sum, it| sum.plus(it.tokens));
            json.number("tokens", tokens.0.into());
            json.close('}');
        }
        json.close(']');
        json.close('}');
    }
}

fn write_budget(json: &mut Writer, budget: &Budget, assembly: &Assembly) {
    json.object("budget");
    if let Some(bytes) = budget.bytes {
        json.number("bytes", bytes);
    }
    if let Some(items) = budget.items {
        json.number("items", items.into());
    }
    if let Some(at) = budget.newer_than {
        json.text("newer_than", &at.to_string());
    }
    json.number("reserved", budget.reserved.0.into());
    json.number("tokens", budget.tokens.0.into());
    json.object("used");
    json.number("bytes", assembly.used.bytes);
    json.number("items", assembly.used.items.into());
    json.number("tokens", assembly.used.tokens.0.into());
    json.close('}');
    json.close('}');
}

/// Writes an item without its text.
pub(crate) fn write_item(json: &mut Writer, item: &Item) {
    let time = |json: &mut Writer, name, at: Option<Timestamp>| {
        if let Some(at) = at {
            json.text(name, &at.to_string());
        }
    };
    json.open('{');
    time(json, "at", item.at);
    json.text("authority", item.source.authority.as_str());
    write_texts(json, "depends_on", item.depends_on.iter().map(String::as_str));
    match &item.body {
        Body::Text(text) => json.text("digest", &digest::sha256(text)),
        Body::Reference { digest } => json.text("digest", digest),
    }
    time(json, "expires_at", item.expires_at);
    if let Some(group) = &item.group {
        json.text("group", group);
    }
    json.text("id", &item.id);
    if let Some(importance) = item.importance {
        json.number("importance", importance.into());
    }
    json.flag("is_reference", item.text().is_none());
    json.text("kind", item.kind.as_str());
    if item.open_issues > 0 {
        json.number("open_issues", item.open_issues.into());
    }
    if let Some(operations) = item.operations_ago {
        json.number("operations_ago", operations.into());
    }
    if let Some(pair) = &item.pair {
        json.text("pair", pair);
    }
    write_texts(json, "roles", item.roles.iter().map(|it| it.as_str()));
    write_source(json, &item.source);
    write_texts(json, "targets", item.visibility.targets().map(Target::as_str));
    json.number("tokens", item.tokens.0.into());
    json.close('}');
}

fn write_source(json: &mut Writer, source: &Source) {
    if source.origin.is_none() && source.selectors.is_empty() && source.native_ids.is_empty() {
        return;
    }
    json.object("source");
    if !source.native_ids.is_empty() {
        json.object("native_ids");
        // RFC 8785 sorts names by their UTF-16 units.
        let ids = sorted(source.native_ids.iter().collect(), |(a, _), (b, _)| {
            a.encode_utf16().cmp(b.encode_utf16())
        });
        for (system, id) in ids {
            json.named(system, id);
        }
        json.close('}');
    }
    if let Some(origin) = &source.origin {
        json.text("origin", origin);
    }
    write_texts(json, "selectors", source.selectors.iter().map(String::as_str));
    json.close('}');
}

fn write_candidate(json: &mut Writer, item: &Item, candidate: &Candidate) {
    json.open('{');
    json.text("id", &item.id);
    if let Some(ranking) = &candidate.ranking {
        json.flag("is_fixed", ranking.is_fixed);
        json.text("loading", ranking.loading.as_str());
    }
    if let Some(omission) = &candidate.omission {
        write_omission(json, omission);
    }
    if let Some(rank) = candidate.rank {
        json.number("rank", rank.into());
    }
    if let Some(ranking) = &candidate.ranking {
        json.parts("relevance", ranking.relevance.0);
        write_score(json, ranking);
    }
    json.close('}');
}

fn write_omission(json: &mut Writer, omission: &Omission) {
    json.object("omitted");
    if !omission.numbers.is_empty() {
        json.object("numbers");
        omission.numbers.iter().for_each(|(name, value)| json.number(name, *value));
        json.close('}');
    }
    if let Some(other) = &omission.other {
        json.text("other", other);
    }
    json.text("reason", omission.reason.as_str());
    json.close('}');
}

fn write_score(json: &mut Writer, ranking: &Ranking) {
    if let Some(rule) = ranking.rule {
        json.text("rule", rule.as_str());
    }
    let score = &ranking.score;
    json.object("score");
    json.number("dependency", score.dependency.into());
    json.number("recency", score.recency.into());
    json.number("relevance", score.relevance.into());
    json.list("signals");
    for signal in &score.signals {
        json.open('{');
        json.number("points", signal.points().into());
        json.text("signal", signal.as_str());
        json.close('}');
    }
    json.close(']');
    json.number("total", score.total().into());
    json.close('}');
}

fn write_texts<'a>(json: &mut Writer, name: &str, texts: impl Iterator<Item = &'a str>) {
    let mut is_open = false;
    for text in texts {
        if !is_open {
            json.list(name);
            is_open = true;
        }
        json.item(text);
    }
    if is_open {
        json.close(']');
    }
}

impl Previous {
    /// Returns the facts of an envelope that a later assembly uses. `open` is its text before the
    /// blocks. An invalid `envelope` has no blocks.
    pub fn of_envelope(envelope: &str, open: &str) -> Self {
        let value: Value = serde_json::from_slice(envelope.as_bytes()).unwrap_or_default();
        let list = |path| value.pointer(path).and_then(Value::as_array).into_iter().flatten();
        let text = |value: &Value, path| value.pointer(path)?.as_str().map(str::to_owned);
        let block = |it: &Value| {
            Some(PreviousBlock { item: text(it, "/item"), digest: text(it, "/digest")? })
        };
        let over = |it: &Value| {
            text(it, "/omitted/reason").is_some_and(|it| it == Reason::OverBudget.as_str())
        };
        let tokens = |path| value.pointer(path).and_then(Value::as_u64).unwrap_or(0);
        let usable = tokens("/budget/tokens").saturating_sub(tokens("/budget/reserved"));
        Self {
            open: open.to_owned(),
            blocks: list("/assembly/blocks").filter_map(block).collect(),
            passed_over: set(list("/selection/candidates")
                .filter(|it| over(it))
                .filter_map(|it| text(it, "/id"))),
            usable: Tokens(u32::try_from(usable).unwrap_or(u32::MAX)),
        }
    }
}

/// Returns true if `envelope` is a JSON object.
pub(crate) fn is_object(envelope: &str) -> bool {
    serde_json::from_slice::<Map<String, Value>>(envelope.as_bytes()).is_ok()
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
