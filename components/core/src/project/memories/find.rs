//! Reading and finding memories (spec 19.3, 19.4).

use crate::{
    Error,
    audit::AuditAction,
    count::{narrow, widen},
    decision::Decision,
    kv::Bucket,
    memories::{
        FoundMemories, FoundMemory, Kind, Links, Memory, MemoryRead, MemoryRef, Rank, Reply,
        SearchMemories, render,
        search::{First, Matches, Ranked, cursor, snippet},
    },
    project::{draft::Draft, open::OpenProject},
    text::{Score, counted, words::Reader},
};

/// The longest log of decisions, in bytes.
const LOG_BYTES_MAX: usize = 1024 * 1024;

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn read_memories(&self, ids: &[MemoryRef]) -> Result<Decision, Error> {
        let memories = self.different(ids)?;
        let mut draft = Draft::new(self);
        let mut read = Vec::new();
        for memory in memories {
            let uses = draft.count_use(memory.number())?;
            read.push(MemoryRead { links: self.links(&memory), memory, uses });
        }
        if self.meta.is_archived {
            return Ok(self.answer(crate::reply::Reply::Memories(Reply::Read(read))));
        }
        draft.event(AuditAction::ReadMemories, None, None);
        draft.commit(crate::reply::Reply::Memories(Reply::Read(read)))
    }

    /// Returns the memories of a request that names each once, by either of its ids.
    ///
    /// # Errors
    ///
    /// [`Error::MemoryNotFound`], or [`Error::Malformed`] for one that is named twice.
    pub(super) fn different(&self, ids: &[MemoryRef]) -> Result<Vec<Memory>, Error> {
        let memories = self.existing(ids)?;
        for (nth, (it, id)) in memories.iter().zip(ids).enumerate() {
            if memories.iter().take(nth).any(|one| one.id == it.id) {
                return Err(Error::malformed(format!(
                    "ids names {id} twice, once by its other id; name it once"
                )));
            }
        }
        Ok(memories)
    }

    pub(super) fn memory_history(&self, id: MemoryRef) -> Result<Decision, Error> {
        let memory = self.one(id)?;
        let number = memory.number();
        let uses = self.uses()?.of(number);
        let mut all = self.versions(number)?;
        all.push(memory);
        let read = |memory: Memory| MemoryRead { links: self.links(&memory), memory, uses };
        let versions = all.into_iter().rev().map(read).collect();
        Ok(self.answer(crate::reply::Reply::Memories(Reply::History(versions))))
    }

    fn links(&self, it: &Memory) -> Links {
        Links {
            parent: it.parent.map(|it| self.id(it)),
            supersedes: it.supersedes.iter().map(|it| self.id(*it)).collect(),
            superseded_by: it.superseded_by.map(|it| self.id(it)),
        }
    }

    pub(super) fn search_memories(&self, search: &SearchMemories) -> Result<Decision, Error> {
        let mut reader = Reader::default();
        let terms = counted::terms(&mut reader, search.query.as_deref().unwrap_or_default());
        let mut matches = Matches::new(&terms, self.meta.totals.memories);
        let named = self.named(search)?;
        self.each_signature(|it| {
            if search.may_match(it, self.now) {
                matches.push(it);
            }
        })?;
        let uses = self.uses()?;
        let limit = widen(search.limit);
        let mut first = First::new(limit.saturating_add(1), search.cursor);
        let mut total = 0_u32;
        for (brief, scores) in matches.scored() {
            let scores = match named {
                Some(it) if it == brief.number => (Score::ONE, Score::ONE),
                Some(_) => (Score(0), Score(0)),
                None => scores,
            };
            if search.query.is_some() && scores == (Score(0), Score(0)) {
                continue;
            }
            total = total.saturating_add(1);
            let uses = uses.of(brief.number);
            let rank = Rank::new(scores, brief.importance, brief.at, uses, self.now);
            let cursor = cursor(search.order(), &brief, uses, &rank);
            first.push(Ranked { cursor, number: brief.number, uses, rank });
        }
        let has_more = first.ranked.len() > limit;
        first.ranked.truncate(limit);
        let next = first.ranked.last().map(|it| it.cursor).filter(|_| has_more);
        let mut found = Vec::new();
        for Ranked { number, uses, rank, .. } in first.ranked {
            let memory = self.stored(number)?.filter(|it| search.matches(it));
            let Some(memory) = memory else { continue };
            let content = memory.content.as_ref();
            let snippet = content.map(|it| snippet(it, &terms, &mut reader)).unwrap_or_default();
            found.push(FoundMemory { memory, uses, rank, snippet });
        }
        let reply = Reply::Found(FoundMemories { found, total, next });
        Ok(self.answer(crate::reply::Reply::Memories(reply)))
    }

    /// Returns the number of the memory whose id the query is.
    fn named(&self, search: &SearchMemories) -> Result<Option<u64>, Error> {
        let query = search.query.as_deref().unwrap_or_default().trim();
        let Ok(id) = MemoryRef::parse(query) else { return Ok(None) };
        match self.numbers(&[id]) {
            Ok(numbers) => Ok(numbers.first().copied()),
            Err(Error::MemoryNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn decision_log(&self, limit: u32) -> Result<Decision, Error> {
        let mut numbers = Vec::new();
        self.each_signature(|it| {
            let head = &it.head;
            if head.kind == Kind::Decision && !head.is_expired(self.now) {
                numbers.push(head.number);
            }
        })?;
        let total = narrow(numbers.len());
        let mut text = String::new();
        let mut count = 0_u32;
        for number in numbers.into_iter().rev().take(widen(limit)) {
            let Some(memory) = self.stored(number)? else { continue };
            let decision = render::decision(self.project.as_str(), &memory);
            if text.len().saturating_add(decision.len()) > LOG_BYTES_MAX {
                break;
            }
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&decision);
            count = count.saturating_add(1);
        }
        let reply = Reply::DecisionLog { text, count, total };
        Ok(self.answer(crate::reply::Reply::Memories(reply)))
    }
}
