//! Finding and reading handoffs, and the links of a decision (spec 21.4).

use super::reply;
use crate::{
    Error,
    decision::Decision,
    handoffs::{
        Handoff, HandoffId, Link, ListHandoffs, PromptRequest, Reply, Trace, TraceStep, prompt,
        trace::STEPS_MAX,
    },
    kv::Bucket,
    memories::MemoryRef,
    project::open::OpenProject,
    scope::SessionId,
};

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn list_handoffs(&self, it: &ListHandoffs) -> Result<Decision, Error> {
        let mut all = self.kept_handoffs()?;
        all.reverse();
        let is_of = |one: &Handoff| {
            it.participant
                .as_ref()
                .is_none_or(|by| one.from.participant == *by || one.to.participant == *by)
        };
        all.retain(|one| {
            self.may_see(one) && it.state.is_none_or(|it| it == one.state) && is_of(one)
        });
        Ok(self.answer(crate::reply::Reply::Handoffs(Reply::Listed(all))))
    }

    pub(super) fn read_handoff(&self, id: HandoffId) -> Result<Decision, Error> {
        let handoff = self.handoff(id)?;
        Ok(self.answer(reply(self.shown_handoff(handoff, true)?)))
    }

    pub(super) fn trace_decision(&self, id: MemoryRef) -> Result<Decision, Error> {
        let mut numbers = self.numbers(&[id])?;
        let Some(first) = numbers.pop() else {
            return Err(Error::MemoryNotFound { id: id.to_string() });
        };
        // A memory that was removed or has expired ends its branch.
        let mut found: Vec<(u64, Link, Option<u64>)> = vec![(first, Link::Asked, None)];
        let mut steps = Vec::new();
        let mut place = 0;
        while let Some((number, link, from)) = found.get(place).copied() {
            place = place.saturating_add(1);
            let memory = self.stored(number)?.filter(|it| !it.is_expired(self.now));
            if let Some(it) = &memory {
                let earlier = it.supersedes.iter().map(|it| (*it, Link::Supersedes));
                let later = it.superseded_by.map(|it| (it, Link::SupersededBy));
                let parent = it.parent.map(|it| (it, Link::Parent));
                for (next, link) in later.into_iter().chain(earlier).chain(parent) {
                    if !found.iter().any(|it| it.0 == next) {
                        found.push((next, link, Some(number)));
                    }
                }
            } else if link == Link::Asked {
                return Err(Error::MemoryNotFound { id: id.to_string() });
            }
            let (id, from) = (self.id(number), from.map(|it| self.id(it)));
            steps.push(TraceStep { memory, id, link, from });
            if steps.len() >= STEPS_MAX {
                break;
            }
        }
        let is_truncated = place < found.len();
        let mut handoffs = self.kept_handoffs()?;
        let has = |number: u64| steps.iter().any(|it| it.id.number() == number);
        handoffs
            .retain(|it| self.may_see(it) && it.named.iter().copied().chain(it.memory).any(has));
        let mut sessions: Vec<String> = Vec::new();
        let of_memories = steps.iter().filter_map(|it| it.memory.as_ref()?.created_in.as_ref());
        let of_handoffs = handoffs.iter().flat_map(|it| [&it.from, &it.to]);
        let of_handoffs = of_handoffs.filter_map(|it| it.session.as_ref());
        for session in of_memories.chain(of_handoffs).map(SessionId::as_str) {
            if let Err(at) = sessions.binary_search_by(|it| it.as_str().cmp(session)) {
                sessions.insert(at, session.to_owned());
            }
        }
        let trace = Trace { steps, handoffs, sessions, is_truncated };
        Ok(self.answer(crate::reply::Reply::Handoffs(Reply::Traced(Box::new(trace)))))
    }

    pub(super) fn project_prompt(&self, request: &PromptRequest) -> Result<Decision, Error> {
        let mut passages = self.section_passages(request)?;
        passages.extend(self.critical(request.task.as_deref())?);
        let it = prompt::write(self.project, request, passages);
        Ok(self.answer(crate::reply::Reply::Handoffs(Reply::Prompt(Box::new(it)))))
    }
}
