//! The summary of a session (spec 19.9). The session collects the data that the caller may read.

use super::{Decision, OpenSession};
use crate::{
    Error,
    audit::AuditAction,
    kv::Bucket,
    memories::summary::{Material, SummarizeSession, summarize},
    participant::{Participant, Role},
    reply::Reply,
    tokens::Tokens,
};

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn summarize(&self, request: &SummarizeSession) -> Result<Decision, Error> {
        let (sources, _) = self.sources(&|it| self.may_read(it))?;
        let is_agent = self.caller.participant.role() == Role::Agent;
        let feed = self.feed()?;
        let mut agents: Vec<Participant> = Vec::new();
        let writers = sources.entries.iter().map(|it| &it.written_by);
        for it in feed.iter().map(|it| &it.participant).chain(writers) {
            if it.role() != Role::Admin && !agents.contains(it) {
                agents.push(it.clone());
            }
        }
        let mut gaps = Vec::new();
        for it in self.stored_packets().feedback()? {
            if !is_agent || it.by == self.caller.participant {
                let (number, at) = (it.number, it.at);
                gaps.extend(it.feedback.gaps.into_iter().map(|gap| (number, at, gap)));
            }
        }
        // No number reveals entries that the caller may not read.
        let seen = self.entries(None)?.into_iter().filter(|it| self.may_see(it));
        let tokens_used = seen.map(|it| it.value_tokens).fold(Tokens(0), Tokens::plus);
        let is_compaction = |it: &&crate::audit::AuditRecord| it.action == AuditAction::Compact;
        let material = Material {
            session: self.session,
            project: self.meta.project.as_ref(),
            start: self.meta.created_at,
            end: self.meta.changed_at,
            agents,
            sources,
            gaps,
            tokens_used,
            operations: u64::try_from(feed.len()).unwrap_or_default(),
            compactions: u64::try_from(feed.iter().filter(is_compaction).count())
                .unwrap_or_default(),
        };
        let summary = summarize(&material, request, &|text| self.count(text))?;
        Ok(self.answer(Reply::Summary(Box::new(summary))))
    }
}
