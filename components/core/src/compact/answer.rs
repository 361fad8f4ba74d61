//! The answers to the operations of compaction. They need no session, only a count of tokens. The
//! caller stores the results, if they are to be kept.

use super::{
    Command, CompactItems, ExtractFacts, Outcome, Reply, Request, SummaryRequest, check_summary,
    compact, repair,
};
use crate::{
    Error,
    extract::{extract, extract_all},
    item::{self, Item},
    tokens::Tokens,
};

/// Counts the tokens of a text.
type Count<'a> = &'a dyn Fn(&str) -> Result<Tokens, Error>;

impl Command {
    /// Answers the operation. `count` counts the tokens of a text.
    ///
    /// # Errors
    ///
    /// Those of `count`, and [`Error::TargetUnreachable`].
    pub fn answer(&self, count: Count<'_>) -> Result<Reply, Error> {
        match self {
            Self::Extract(it) => Ok(it.answer()),
            Self::Compact(it) => it.answer(count),
            Self::CheckSummary(it) => it.answer(count),
        }
    }
}

impl ExtractFacts {
    fn answer(&self) -> Reply {
        Reply::Extracted { extraction: extract(&self.items, self.from), ids: ids(&self.items) }
    }
}

impl CompactItems {
    /// Compacts the conversation. `count` counts the tokens of a text.
    ///
    /// # Errors
    ///
    /// Those of `count`, and [`Error::TargetUnreachable`].
    pub(crate) fn answer(&self, count: Count<'_>) -> Result<Reply, Error> {
        let items = item::counted(&self.items, &self.uncounted, count)?;
        let request =
            Request { items: &items, task: &self.task, aim: self.aim, weighting: self.weighting };
        match compact(&request, &|text| count(text))? {
            Outcome::Compacted(compaction) => {
                let is_dry_run = self.is_dry_run;
                let items = items.into_owned();
                Ok(Reply::Compacted { compaction, items, is_dry_run, envelope: None })
            }
            Outcome::Unreachable { target, needed } => {
                Err(Error::TargetUnreachable { target, needed })
            }
        }
    }
}

impl SummaryRequest {
    fn answer(&self, count: Count<'_>) -> Result<Reply, Error> {
        let extraction = extract_all(&self.items);
        let check = check_summary(&extraction.facts, &self.summary);
        let repaired = self
            .repair
            .map(|max| repair(&extraction.facts, &check, &self.summary, max, &|text| count(text)));
        let repair = repaired.transpose()?;
        Ok(Reply::Checked { extraction, ids: ids(&self.items), check, repair })
    }
}

fn ids(items: &[Item]) -> Vec<String> {
    items.iter().map(|it| it.id.clone()).collect()
}
