//! The operations of compaction, and their replies.

use super::{
    digest::id as document_id,
    summary::{Repair, SummaryCheck},
};
use crate::{
    Error,
    closed_list::closed_list,
    extract::{Class, Extraction, Position},
    item::{self, Authority, Body, Item, Kind, ListedKind, TASK_BYTES_MAX, Target, Visibility},
    tokens::Tokens,
};

pub use crate::extract::digest::{HEADING as DIGEST_HEADING, Section};

/// The share of the window that a compaction aims at, in percent.
pub const TARGET_PERCENT: u32 = 65;
/// The most items of a conversation.
pub const TURNS_MAX: u32 = 5_000;
/// The largest target, and the largest window.
pub const AIM_TOKENS_MAX: Tokens = Tokens(10_000_000);
/// The longest summary, in bytes.
pub const SUMMARY_BYTES_MAX: usize = 1 << 20;

closed_list! {
    /// The weights of the parts of a score.
    Weighting "weighting" {
        Default "default": "Recency 30, references 20, relevance 30, density 20.";
        Dense "dense": "Recency 10, references 20, relevance 30, density 40.";
    }
}

/// The target of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// 65 % of a window of this size.
    Window(Tokens),
    /// At most this many tokens.
    Tokens(Tokens),
    /// This many percent less than before, 1 to 99.
    Reduction(u8),
}

/// An operation of compaction. None stores anything, except for a compaction that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Extracts the facts of a conversation.
    Extract(Box<ExtractFacts>),
    /// Compacts a conversation.
    Compact(Box<CompactItems>),
    /// Checks a summary of a conversation.
    CheckSummary(Box<SummaryRequest>),
}

/// A request to extract facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractFacts {
    /// The conversation.
    pub items: Vec<Item>,
    /// The position to begin at.
    pub from: Position,
}

/// A request to compact a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactItems {
    /// The conversation.
    pub items: Vec<Item>,
    /// The places of the items whose tokens the session counts.
    pub uncounted: Vec<usize>,
    /// The task at hand.
    pub task: String,
    /// The target.
    pub aim: Aim,
    /// The weights of the parts of a score.
    pub weighting: Weighting,
    /// True if only the plan is returned, without texts.
    pub is_dry_run: bool,
    /// True if an envelope of the compaction is kept.
    pub keeps: bool,
}

/// A request to check a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRequest {
    /// The conversation.
    pub items: Vec<Item>,
    /// The summary.
    pub summary: String,
    /// The most tokens of the repaired summary; `None` if it is not to be repaired.
    pub repair: Option<Tokens>,
}

/// A compaction to be made.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The conversation, in its order.
    pub items: &'a [Item],
    /// The task at hand; empty without one.
    pub task: &'a str,
    /// The target.
    pub aim: Aim,
    /// The weights of the parts of a score.
    pub weighting: Weighting,
}

/// The reply to an operation of compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The reply to [`Command::Extract`]: the facts, and the ids of the items.
    Extracted {
        /// The facts.
        extraction: Extraction,
        /// The ids of the items, in their order.
        ids: Vec<String>,
    },
    /// The reply to [`Command::Compact`].
    Compacted {
        /// The compaction.
        compaction: Box<Compaction>,
        /// The conversation, as it was sent.
        items: Vec<Item>,
        /// True if texts are left out.
        is_dry_run: bool,
        /// The number of its envelope, if it is kept.
        envelope: Option<u64>,
    },
    /// The reply to [`Command::CheckSummary`].
    Checked {
        /// The facts.
        extraction: Extraction,
        /// The ids of the items, in their order.
        ids: Vec<String>,
        /// The check.
        check: SummaryCheck,
        /// The repaired summary, if it was asked for.
        repair: Option<Repair>,
    },
}

/// The result of a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The conversation fits now.
    Compacted(Box<Compaction>),
    /// The part that must be kept already exceeds the target.
    Unreachable {
        /// The target.
        target: Tokens,
        /// The tokens of what must be kept.
        needed: Tokens,
    },
}

/// A conversation before or after a compaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Its tokens.
    pub tokens: Tokens,
    /// The number of items.
    pub items: u32,
    /// The number of decisions that hold.
    pub decisions: u32,
    /// The number of open issues.
    pub issues: u32,
    /// The number of files that were modified.
    pub files: u32,
}

closed_list! {
    /// The outcome of an item in a compaction.
    Fate "fate" {
        Kept "kept": "It is kept whole.";
        Condensed "condensed": "It is replaced by a part of it, a placeholder, or all with a label.";
        Digested "digested": "It is removed; its facts are in the digest.";
        Removed "removed": "It is removed; it had no fact to keep.";
    }
}

/// The parts of a score, each 0 to 100 percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScoreParts {
    /// The position in the conversation: later items have more.
    pub recency: u8,
    /// The number of later references to it, as a rank.
    pub references: u8,
    /// Its relevance for the task.
    pub relevance: u8,
    /// The number of names, numbers and ids for its length, as a rank.
    pub density: u8,
}

/// The score and the outcome of one item, and the reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scored {
    /// The score, 0 to 100.
    pub score: u8,
    /// Its parts, for a score of 31 to 99 that no rule decided.
    pub parts: Option<ScoreParts>,
    /// The reason: the class that decided the score, such as `noise`, or a rule such as
    /// `last_user_message`.
    pub rule: &'static str,
    /// Its outcome.
    pub fate: Fate,
    /// The item that it repeats.
    pub repeats: Option<usize>,
}

/// An item of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remainder {
    /// The place of the item in the request.
    pub item: usize,
    /// Its new text; `None` if it is unchanged.
    pub text: Option<String>,
    /// Its tokens.
    pub tokens: Tokens,
}

/// What removed items said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// The document.
    pub text: String,
    /// Its tokens.
    pub tokens: Tokens,
    /// Its lines, in order.
    pub lines: Vec<DigestLine>,
}

/// A line of a digest: a fact, or what remains of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestLine {
    /// The section.
    pub section: Section,
    /// The text, in the words of the conversation.
    pub text: String,
    /// The digest of the text.
    pub digest: String,
    /// The id of the item that said it first, and the line in it from 1.
    pub source: String,
    /// The authority of that item.
    pub authority: Authority,
    /// The place in the request of the item that it was taken from.
    pub item: usize,
}

/// The loss of facts of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The class.
    pub class: Class,
    /// The number of its facts in the conversation.
    pub before: u32,
    /// The number of them in the result.
    pub after: u32,
}

/// The share of the conversation that the result covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Items that are kept whole.
    pub kept: u32,
    /// Items of which a part is kept, in their place or in the digest.
    pub in_part: u32,
    /// Items that are removed.
    pub removed: u32,
    /// The share of the tokens that are kept whole, in percent.
    pub percent_kept: u8,
}

closed_list! {
    /// A remark on a compaction.
    Flag "flag" {
        OverAggressive "over_aggressive": "More than 50 % was saved; read again what matters.";
        UnderTarget "under_target": "Less than 20 % was saved; another compaction will soon be due.";
        NothingToGain "nothing_to_gain": "The conversation is within the target already.";
    }
}

/// A point of the checklist, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The subject of the check, such as `decisions`.
    pub check: &'static str,
    /// True if the check succeeded.
    pub holds: bool,
    /// The evidence, such as `12 of 12 decisions`.
    pub evidence: String,
}

/// A compacted conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// The target.
    pub target: Tokens,
    /// Before.
    pub before: Snapshot,
    /// After.
    pub after: Snapshot,
    /// The score and the outcome of each item, in their order.
    pub scored: Vec<Scored>,
    /// The items of the result, in their order.
    pub remainders: Vec<Remainder>,
    /// The facts of removed items; `None` without such facts.
    pub digest: Option<Digest>,
    /// Before which remainder the digest belongs.
    pub digest_before: usize,
    /// The losses of each class; classes without a loss are left out.
    pub losses: Vec<Loss>,
    /// The share of the conversation that is covered.
    pub coverage: Coverage,
    /// The checklist.
    pub findings: Vec<Finding>,
    /// Remarks.
    pub flags: Vec<Flag>,
}

impl Digest {
    /// Returns the id of its item: `digest:` and 12 hexadecimal digits of its SHA-256.
    pub fn id(&self) -> String {
        super::digest::id(&self.text)
    }
}

impl Compaction {
    /// Returns the tokens that were saved.
    pub fn saved(&self) -> Tokens {
        self.before.tokens.minus(self.after.tokens)
    }

    /// Returns the conversation after the compaction of `items`: the items that are kept, and the
    /// digest as one more. The digest has the least authority of its sources, at most that of a
    /// model, and is visible only to targets that may see all of them.
    pub fn items(&self, items: &[Item]) -> Vec<Item> {
        let mut result = Vec::with_capacity(self.remainders.len().saturating_add(1));
        for (place, remainder) in self.remainders.iter().enumerate() {
            if place == self.digest_before {
                result.extend(self.digest_item(items));
            }
            let Some(item) = items.get(remainder.item) else { continue };
            let mut item = item.clone();
            if let Some(text) = &remainder.text {
                item.body = Body::Text(text.clone());
                item.source.digest = None;
            }
            item.tokens = remainder.tokens;
            result.push(item);
        }
        if self.digest_before >= self.remainders.len() {
            result.extend(self.digest_item(items));
        }
        result
    }

    fn digest_item(&self, items: &[Item]) -> Option<Item> {
        let digest = self.digest.as_ref()?;
        let sources = || digest.lines.iter().filter_map(|it| items.get(it.item));
        let visibility = sources().map(|it| it.visibility).reduce(Visibility::within);
        // Where no target may see all sources, only auditors may.
        let visibility = visibility.filter(|it| !it.is_empty());
        let kind = Kind::Listed(ListedKind::ComputedSummary);
        let mut item = Item::inline(document_id(&digest.text), kind, digest.text.as_str());
        item.tokens = digest.tokens;
        item.visibility = visibility.unwrap_or_else(|| Visibility::of([Target::EvidenceExport]));
        let authorities = digest.lines.iter().map(|it| it.authority);
        item.source.authority = Authority::least(authorities.chain([Authority::Model]));
        Some(item)
    }
}

impl ExtractFacts {
    /// Validates the request.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for the first of: more than [`TURNS_MAX`] items, an invalid item,
    /// an id twice, more than [`item::ITEMS_BYTES_MAX`] bytes of text, a position after the last item.
    pub fn check(&self) -> Result<(), Error> {
        check_items(&self.items)?;
        if self.from.item > 0 && self.from.item >= self.items.len() {
            return Err(Error::malformed("from must name an item of the request"));
        }
        Ok(())
    }
}

impl CompactItems {
    /// Validates the request.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for the first of: a plan that is to be kept, items as in
    /// [`ExtractFacts::check`], a task over [`TASK_BYTES_MAX`], an aim out of its range.
    pub fn check(&self) -> Result<(), Error> {
        if self.keeps && self.is_dry_run {
            return Err(Error::malformed(
                "keep is for a compaction with its texts, and dry_run leaves them out; send one of \
                 the two",
            ));
        }
        check_items(&self.items)?;
        check_bytes("task", &self.task, TASK_BYTES_MAX)?;
        let (member, value, min, max) = match self.aim {
            Aim::Window(it) => ("window_tokens", it.0, 1, AIM_TOKENS_MAX.0),
            Aim::Tokens(it) => ("target_tokens", it.0, 1, AIM_TOKENS_MAX.0),
            Aim::Reduction(it) => ("reduction_percent", u32::from(it), 1, 99),
        };
        if value < min || value > max {
            return Err(Error::malformed(format!(
                "{member} is {value}; it must be {min} to {max}"
            )));
        }
        Ok(())
    }
}

impl SummaryRequest {
    /// Validates the request.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for the first of: items as in [`ExtractFacts::check`], a summary over
    /// [`SUMMARY_BYTES_MAX`].
    pub fn check(&self) -> Result<(), Error> {
        check_items(&self.items)?;
        check_bytes("summary", &self.summary, SUMMARY_BYTES_MAX)
    }
}

fn check_items(items: &[Item]) -> Result<(), Error> {
    item::check_up_to(items, TURNS_MAX)?;
    item::check_bytes(items, "send the conversation in pieces")
}

fn check_bytes(member: &str, text: &str, max: usize) -> Result<(), Error> {
    if text.len() > max {
        return Err(Error::malformed(format!(
            "{member} has {} bytes, at most {max} fit",
            text.len()
        )));
    }
    Ok(())
}
