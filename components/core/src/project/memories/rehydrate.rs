//! Writes the knowledge of a project for a new session (spec 19.5).

use crate::{
    Error,
    audit::AuditAction,
    decision::Decision,
    kv::Bucket,
    memories::{
        Continuity, Memory, Part, RehydrateMemories, Rehydrated, Reply,
        rows::{self, decode_session},
        search::Matches,
        select::{self, Candidate},
    },
    project::{draft::Draft, open::OpenProject},
    text::{Score, counted, words::Reader},
    tokens::approximate,
};

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn rehydrate(&self, request: &RehydrateMemories) -> Result<Decision, Error> {
        let task = request.task.as_deref().unwrap_or_default();
        let terms = counted::terms(&mut Reader::default(), task);
        let mut matches = Matches::new(&terms, self.meta.totals.memories);
        let (mut archived, mut unverified) = (0_u32, 0_u32);
        self.each_signature(|it| {
            let head = &it.head;
            if head.is_expired(self.now) || head.is_marked {
            } else if head.archived_at.is_some() {
                archived = archived.saturating_add(1);
            } else if !head.is_verified && !request.with_unverified {
                unverified = unverified.saturating_add(1);
            } else {
                matches.push(it);
            }
        })?;
        let uses = self.uses()?;
        let candidates = matches.scored().map(|(brief, (title, content))| {
            // As in a rank, content counts more than the title.
            let sum = u32::from(title.0) * 15 + u32::from(content.0) * 25;
            let relevance = Score::ratio(sum.into(), 40 * u64::from(Score::ONE.0));
            Candidate { uses: uses.of(brief.number), brief, relevance }
        });
        let candidates: Vec<Candidate> = candidates.collect();
        let mut chosen: Vec<(Part, Vec<Memory>)> = Vec::new();
        for (part, numbers) in select::choose(&candidates, self.now) {
            let mut memories = Vec::new();
            for number in numbers {
                memories.extend(self.stored(number)?);
            }
            chosen.push((part, memories));
        }
        let continuity = self.continuity()?;
        let head = select::head(self.project.as_str(), self.caller.session.as_ref(), self.now);
        let summary = select::summary(&candidates, &chosen, archived, &continuity);
        // Fails if the estimator of the project is not available, so that no count is an estimate.
        self.count("")?;
        let count = |text: &str| self.count(text).unwrap_or_else(|_| approximate(text));
        let (text, tokens, parts, omitted) =
            select::tell((&head, &summary), &chosen, request.budget, &count);
        let mut draft = Draft::new(self);
        for id in parts.iter().flat_map(|it| &it.ids) {
            draft.count_use(id.number())?;
        }
        let budget = request.budget;
        let reply = Rehydrated { text, tokens, budget, parts, omitted, unverified, continuity };
        let reply = crate::reply::Reply::Memories(Reply::Rehydrated(Box::new(reply)));
        if self.meta.is_archived {
            return Ok(self.answer(reply));
        }
        draft.event(AuditAction::Rehydrate, None, None);
        draft.commit(reply)
    }

    /// Returns when other sessions worked on the project.
    fn continuity(&self) -> Result<Continuity, Error> {
        let own = self.caller.session.as_ref().map(rows::session_row);
        let mut last = None;
        for (row, bytes) in self.bucket.scan(rows::SESSIONS, None, u32::MAX)? {
            if Some(&row) != own.as_ref() {
                last = last.max(Some(decode_session(&bytes)?.last_at));
            }
        }
        // This one counts as well.
        let is_new =
            self.caller.session.is_some() && !self.meta.is_archived && self.session()?.is_none();
        Ok(Continuity {
            last_session_end: last,
            since_ms: last.map(|it| self.now.0.saturating_sub(it.0)),
            sessions: self.meta.totals.sessions.saturating_add(u32::from(is_new)),
        })
    }
}
