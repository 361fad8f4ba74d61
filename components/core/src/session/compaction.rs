//! The operations of compaction on a session (spec 17). They store nothing: the session counts
//! tokens, and decides who may ask.

use super::{Decision, OpenSession};
use crate::{
    Error,
    compact::{self, Command, CompactItems, ExtractFacts, Outcome, Reply, Request, SummaryRequest},
    extract::extract,
    item::Item,
    kv::Bucket,
    reply,
};

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn compaction(&self, command: &Command) -> Result<Decision, Error> {
        let reply = match command {
            Command::Extract(it) => extracted(it),
            Command::Compact(it) => self.compact(it)?,
            Command::CheckSummary(it) => self.check_summary(it)?,
        };
        Ok(self.answer(reply::Reply::Compaction(reply)))
    }

    fn compact(&self, it: &CompactItems) -> Result<Reply, Error> {
        let mut items = it.items.clone();
        for place in &it.uncounted {
            if let Some(item) = items.get_mut(*place) {
                item.tokens = self.count(item.text().unwrap_or_default())?;
            }
        }
        let request =
            Request { items: &items, task: &it.task, aim: it.aim, weighting: it.weighting };
        match compact::compact(&request, &|text| self.count(text))? {
            Outcome::Compacted(compaction) => {
                Ok(Reply::Compacted { compaction, items, is_dry_run: it.is_dry_run })
            }
            Outcome::Unreachable { target, needed } => {
                Err(Error::TargetUnreachable { target, needed })
            }
        }
    }

    fn check_summary(&self, it: &SummaryRequest) -> Result<Reply, Error> {
        let extraction = compact::extract_all(&it.items);
        let check = compact::check_summary(&extraction.facts, &it.summary);
        let count = |text: &str| self.count(text);
        let repair = it
            .repair
            .map(|max| compact::repair(&extraction.facts, &check, &it.summary, max, &count));
        Ok(Reply::Checked { extraction, ids: ids(&it.items), check, repair: repair.transpose()? })
    }
}

fn extracted(it: &ExtractFacts) -> Reply {
    Reply::Extracted { extraction: extract(&it.items, it.from), ids: ids(&it.items) }
}

fn ids(items: &[Item]) -> Vec<String> {
    items.iter().map(|it| it.id.clone()).collect()
}
