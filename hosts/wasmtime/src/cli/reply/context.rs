//! Assembled contexts, their envelopes, and missing context.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::Deserialize;

use super::{
    super::output::{DIMMED, GREEN, Output, counted, grouped, instant, plain, table},
    Human,
};

/// The most candidates that are listed as left out.
const OMISSIONS_MAX: usize = 20;

/// Reply of `assemble_context`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct AssembledReply {
    /// The text to show.
    pub(crate) text: String,
    envelope: Envelope,
}

/// Reply of `read_envelope`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct EnvelopeReply {
    digest: String,
    envelope: Envelope,
    injections: Vec<Injection>,
}

/// An envelope.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Envelope {
    id: Option<String>,
    assembly: Assembly,
    budget: Budget,
    items: Vec<Item>,
    selection: Selection,
}

/// The text as a list of blocks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Assembly {
    blocks: Vec<Block>,
    is_replanned: bool,
    reused_prefix_tokens: u64,
    tokens: u64,
}

/// A block of the text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Block {
    item: Option<String>,
    segment: String,
    tokens: u64,
}

/// The limits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Budget {
    tokens: u64,
    reserved: u64,
}

/// A candidate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Item {
    id: String,
    tokens: u64,
}

/// The outcome of each candidate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Selection {
    candidates: Vec<Candidate>,
}

/// The outcome of a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Candidate {
    id: String,
    omitted: Option<Omitted>,
}

/// The reason why a candidate was left out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Omitted {
    reason: String,
    other: Option<String>,
}

/// Reply of `record_injection`, and an element of an envelope's injections.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Injection {
    #[serde(rename = "injection")]
    number: u64,
    envelope: String,
    place: String,
    target: String,
    at: String,
    by: String,
}

/// Reply of `report_missing` and of `answer_missing`, and an element of a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct MissingReply {
    missing: String,
    kind: String,
    text: String,
    reported_at: String,
    reported_by: String,
    answer: Option<String>,
    answered_by: Option<String>,
}

/// Reply of `list_missing`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct MissingListReply {
    missing: Vec<MissingReply>,
    open: u64,
}

impl AssembledReply {
    /// Formats what is in the text, what is not, and why.
    pub(crate) fn summary(&self, output: Output) -> String {
        self.envelope.summary(output)
    }
}

impl Human for AssembledReply {
    fn human(&self, output: Output) -> String {
        let end = if self.text.ends_with('\n') { "" } else { "\n" };
        format!("{}{end}\n{}", plain(&self.text), self.summary(output))
    }
}

impl Human for EnvelopeReply {
    fn human(&self, output: Output) -> String {
        let mut text = self.envelope.summary(output);
        let _ = writeln!(text, "{DIMMED}{}{DIMMED:#}", self.digest);
        for it in &self.injections {
            text.push_str(&it.line());
        }
        text
    }
}

impl Envelope {
    fn summary(&self, output: Output) -> String {
        let Assembly { blocks, is_replanned, reused_prefix_tokens, tokens } = &self.assembly;
        let rows: Vec<_> = blocks
            .iter()
            .map(|Block { item, segment, tokens }| {
                let item = item.clone().unwrap_or_else(|| "-".to_owned());
                vec![item, grouped(*tokens), segment.clone()]
            })
            .collect();
        let mut text = table(output, &["IN", "#TOKENS", "SEGMENT"], &rows);
        text.push_str(&self.omissions(output));
        // Writing to a string does not fail.
        let limit = grouped(self.budget.tokens);
        let _ = write!(text, "\n{} of {limit} tokens used", grouped(*tokens));
        if self.budget.reserved > 0 {
            let _ = write!(text, ", {} reserved", grouped(self.budget.reserved));
        }
        if *reused_prefix_tokens > 0 {
            let same = grouped(*reused_prefix_tokens);
            let _ = write!(text, "\nthe first {same} tokens are the same as before");
        }
        if *is_replanned {
            text.push_str("\neverything was selected anew, so that the best fits");
        }
        if let Some(id) = &self.id {
            let _ = write!(text, "\nkept as {}", plain(id));
        }
        text.push('\n');
        text
    }

    /// Formats the candidates that were left out; an empty text if there are none.
    fn omissions(&self, output: Output) -> String {
        let sizes: BTreeMap<&str, u64> =
            self.items.iter().map(|it| (it.id.as_str(), it.tokens)).collect();
        let omitted = self.selection.candidates.iter().filter_map(|it| {
            let Omitted { reason, other } = it.omitted.as_ref()?;
            let tokens = sizes.get(it.id.as_str()).map(|it| grouped(*it)).unwrap_or_default();
            let reason = match other {
                Some(other) => format!("{reason}: {other}"),
                None => reason.clone(),
            };
            Some(vec![it.id.clone(), tokens, reason])
        });
        let mut rows: Vec<_> = omitted.collect();
        if rows.is_empty() {
            return String::new();
        }
        let more = rows.len().saturating_sub(OMISSIONS_MAX);
        rows.truncate(OMISSIONS_MAX);
        let mut text = format!("\n{}", table(output, &["OUT", "#TOKENS", "REASON"], &rows));
        if more > 0 {
            let more = u64::try_from(more).unwrap_or(u64::MAX);
            let _ = writeln!(text, "… and {} more; `--json` lists all", grouped(more));
        }
        text
    }
}

impl Injection {
    fn line(&self) -> String {
        let Self { number, envelope, place, target, at, by } = self;
        format!(
            "injection {number}: {} at {} for {}, recorded by {} at {} UTC\n",
            plain(envelope),
            plain(place),
            plain(target),
            plain(by),
            instant(at)
        )
    }
}

impl Human for Injection {
    fn human(&self, _: Output) -> String {
        format!("{GREEN}✓{GREEN:#} {}", self.line())
    }
}

impl Human for MissingReply {
    fn human(&self, _: Output) -> String {
        let Self { missing, kind, .. } = self;
        let done = match &self.answered_by {
            Some(by) => format!("answered by {}", plain(by)),
            None => format!("reported by {}", plain(&self.reported_by)),
        };
        format!("{GREEN}✓{GREEN:#} {} ({}) {done}\n", plain(missing), plain(kind))
    }
}

impl Human for MissingListReply {
    fn human(&self, output: Output) -> String {
        if self.missing.is_empty() {
            return format!(
                "{DIMMED}nothing here; agents report with the action report_missing{DIMMED:#}\n"
            );
        }
        let rows: Vec<_> = self
            .missing
            .iter()
            .map(|it| {
                let text = match (&it.answer, &it.answered_by) {
                    (Some(answer), Some(by)) => format!("{} → {answer} ({by})", it.text),
                    _ => it.text.clone(),
                };
                let cells = [&it.missing, &it.kind, &it.reported_by];
                let mut row: Vec<String> = cells.into_iter().cloned().collect();
                row.extend([instant(&it.reported_at), text]);
                row
            })
            .collect();
        let header = ["ID", "KIND", "REPORTED BY", "REPORTED AT (UTC)", "~TEXT → ANSWER"];
        format!("{}\n{} open\n", table(output, &header, &rows), counted(self.open, "report"))
    }
}
