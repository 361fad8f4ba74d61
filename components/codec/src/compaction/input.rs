//! Builders of commands of compaction (spec 17).

use shared_context_core::{
    Command, CompactionCommand, Error,
    compact::{Aim, CompactItems, ExtractFacts, SummaryRequest, Weighting},
    context::plan::WINDOW_TOKENS_DEFAULT,
    extract::Position,
    item::Item,
    tokens::Tokens,
};

use crate::{
    form::form,
    item::{self, ItemForm},
    refusal::shorten,
};

/// The most tokens of a repaired summary when the request does not say.
const REPAIR_TOKENS_DEFAULT: Tokens = Tokens(10_000);

/// A position in a conversation.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "conversation_position"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct PositionForm {
    /// The id of an item of the request.
    item: String,
    /// The line in its text, from 1; 1 when absent.
    line: Option<u32>,
}

form! { PositionForm: item, line }

impl PositionForm {
    fn position(&self, items: &[Item]) -> Result<Position, Error> {
        let found = items.iter().position(|it| it.id == self.item);
        let item = found.ok_or_else(|| {
            let shown = shorten(&self.item, 80);
            Error::malformed(format!("from names item {shown:?}, which is not in the request"))
        })?;
        let line = self.line.unwrap_or(1).checked_sub(1);
        let line =
            line.ok_or_else(|| Error::malformed("from.line is 0; the first line of a text is 1"))?;
        Ok(Position { item, line })
    }
}

/// Builds the command to extract facts.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn extract(items: Vec<ItemForm>, from: Option<PositionForm>) -> Result<Command, Error> {
    let (items, _) = item::items(items)?;
    let mut request = ExtractFacts { items, from: Position::default() };
    request.check()?;
    if let Some(from) = from {
        request.from = from.position(&request.items)?;
    }
    Ok(Command::Compaction(CompactionCommand::Extract(Box::new(request))))
}

/// A request to compact a conversation, not yet validated.
#[derive(Debug)]
pub(crate) struct CompactInput {
    pub(crate) items: Vec<ItemForm>,
    pub(crate) task: Option<String>,
    pub(crate) window_tokens: Option<u32>,
    pub(crate) target_tokens: Option<u32>,
    pub(crate) reduction_percent: Option<u32>,
    pub(crate) weighting: Option<String>,
    pub(crate) dry_run: Option<bool>,
    pub(crate) keep: Option<bool>,
}

/// Builds the command to compact a conversation.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn compact(it: CompactInput) -> Result<Command, Error> {
    let aim = match (it.window_tokens, it.target_tokens, it.reduction_percent) {
        (None, None, None) => Aim::Window(WINDOW_TOKENS_DEFAULT),
        (Some(window), None, None) => Aim::Window(Tokens(window)),
        (None, Some(target), None) => Aim::Tokens(Tokens(target)),
        (None, None, Some(percent)) => Aim::Reduction(u8::try_from(percent).map_err(|_| {
            Error::malformed(format!("reduction_percent is {percent}; it must be 1 to 99"))
        })?),
        _ => {
            return Err(Error::malformed(
                "a compaction has one aim; send one of window_tokens, target_tokens and \
                 reduction_percent",
            ));
        }
    };
    let (items, uncounted) = item::items(it.items)?;
    let weighting = it.weighting.as_deref().map(Weighting::parse).transpose()?;
    let request = CompactItems {
        items,
        uncounted,
        task: it.task.unwrap_or_default(),
        aim,
        weighting: weighting.unwrap_or(Weighting::Default),
        is_dry_run: it.dry_run.unwrap_or(false),
        keeps: it.keep.unwrap_or(false),
    };
    request.check()?;
    Ok(Command::Compaction(CompactionCommand::Compact(Box::new(request))))
}

/// Builds the command to check a summary.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn check_summary(
    items: Vec<ItemForm>,
    summary: String,
    repair: Option<bool>,
    max_tokens: Option<u32>,
) -> Result<Command, Error> {
    let repair = match (repair.unwrap_or(false), max_tokens) {
        (true, max) => Some(max.map_or(REPAIR_TOKENS_DEFAULT, Tokens)),
        (false, None) => None,
        (false, Some(_)) => {
            return Err(Error::malformed(
                "max_tokens is for a repaired summary; send repair, or leave max_tokens out",
            ));
        }
    };
    let (items, _) = item::items(items)?;
    let request = SummaryRequest { items, summary, repair };
    request.check()?;
    Ok(Command::Compaction(CompactionCommand::CheckSummary(Box::new(request))))
}
