//! Expected answers of compaction. They depend on the request alone, and nothing is stored.

use shared_context_core::{
    Code, CompactionCommand, CompactionReply,
    compact::{self, Outcome, Request},
    extract::extract,
    item::Item,
    tokens::approximate,
};

/// Returns the expected answer to an operation of compaction.
pub(super) fn answer(it: &CompactionCommand) -> Result<CompactionReply, Code> {
    let count = |text: &str| Ok(approximate(text));
    let ids = |items: &[Item]| items.iter().map(|it| it.id.clone()).collect();
    Ok(match it {
        CompactionCommand::Extract(it) => CompactionReply::Extracted {
            extraction: extract(&it.items, it.from),
            ids: ids(&it.items),
        },
        CompactionCommand::Compact(it) => {
            let mut items = it.items.clone();
            for place in &it.uncounted {
                items[*place].tokens = approximate(items[*place].text().unwrap_or_default());
            }
            let (task, aim, weighting) = (it.task.as_str(), it.aim, it.weighting);
            let request = Request { items: &items, task, aim, weighting };
            let outcome = compact::compact(&request, &count).map_err(|error| error.code())?;
            let Outcome::Compacted(compaction) = outcome else {
                return Err(Code::TargetUnreachable);
            };
            CompactionReply::Compacted { compaction, items, is_dry_run: it.is_dry_run }
        }
        CompactionCommand::CheckSummary(it) => {
            let extraction = compact::extract_all(&it.items);
            let check = compact::check_summary(&extraction.facts, &it.summary);
            let repair = it
                .repair
                .map(|max| compact::repair(&extraction.facts, &check, &it.summary, max, &count));
            let repair = repair.transpose().map_err(|error| error.code())?;
            CompactionReply::Checked { extraction, ids: ids(&it.items), check, repair }
        }
    })
}
