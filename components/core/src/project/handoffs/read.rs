//! Finding and reading handoffs, and the links of a decision (spec 21.4).

use super::reply;
use crate::{
    Error,
    decision::Decision,
    handoffs::{
        Handoff, HandoffId, Link, ListHandoffs, Party, PromptRequest, Reply, Trace, TraceStep,
        material::{Carried, PacketRef, carried},
        prompt, rows,
        trace::{PACKAGES_MAX, STEPS_MAX},
    },
    kv::Bucket,
    memories::MemoryRef,
    order::sorted,
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
        let has = |number: u64| steps.iter().any(|it| it.id.number() == number);
        let all = self.kept_handoffs()?.into_iter().filter(|it| self.may_see(it));
        let (handoffs, others): (Vec<Handoff>, Vec<Handoff>) =
            all.partition(|it| it.named.iter().copied().chain(it.memory).any(has));
        let (handoffs, linked, is_cut) = self.follow_packets(handoffs, others)?;
        let is_truncated = place < found.len() || is_cut;
        let mut sessions: Vec<String> = Vec::new();
        let of_memories = steps.iter().filter_map(|it| it.memory.as_ref()?.created_in.as_ref());
        let of_handoffs = handoffs.iter().flat_map(|it| [&it.from, &it.to]);
        let of_handoffs = of_handoffs.filter_map(|it| it.session.as_ref());
        let linked = linked.iter().map(|it| it.session.as_str());
        for session in of_memories.chain(of_handoffs).map(SessionId::as_str).chain(linked) {
            if let Err(at) = sessions.binary_search_by(|it| it.as_str().cmp(session)) {
                sessions.insert(at, session.to_owned());
            }
        }
        let trace = Trace { steps, handoffs, sessions, is_truncated };
        Ok(self.answer(crate::reply::Reply::Handoffs(Reply::Traced(Box::new(trace)))))
    }

    /// Adds to `handoffs` those of `others` that carried a packet that one of theirs links with,
    /// directly or over others. Returns them, the oldest first, with the packets that are linked, and
    /// true if there may be more.
    fn follow_packets(
        &self,
        mut handoffs: Vec<Handoff>,
        mut others: Vec<Handoff>,
    ) -> Result<(Vec<Handoff>, Vec<PacketRef>, bool), Error> {
        let mut left = PACKAGES_MAX;
        let mut read = |it: &Handoff| -> Result<Option<Carried>, Error> {
            let Some(rest) = left.checked_sub(1) else { return Ok(None) };
            left = rest;
            let bytes = self.bucket.get(&rows::package_row(it.id))?;
            let stored = bytes.map(|it| rows::decode_package(&it)).transpose()?;
            Ok(stored.and_then(|(text, _)| carried(&text)))
        };
        let mut linked: Vec<PacketRef> = Vec::new();
        let mut place = 0;
        while let Some(it) = handoffs.get(place) {
            place = place.saturating_add(1);
            let links = read(it)?.map_or_else(Vec::new, |it| it.links);
            for link in links {
                if linked.contains(&link) {
                    continue;
                }
                // Who hands a packet over acts in its session, or does so later.
                let is_of =
                    |it: &Party| it.session.as_ref().is_some_and(|it| it.as_str() == link.session);
                let mut kept = Vec::new();
                for it in others {
                    let may_carry = is_of(&it.from) || is_of(&it.to);
                    let carried = if may_carry { read(&it)? } else { None };
                    let has_it = carried.is_some_and(|it| it.packet.as_ref() == Some(&link));
                    if has_it { handoffs.push(it) } else { kept.push(it) }
                }
                others = kept;
                linked.push(link);
            }
        }
        Ok((sorted(handoffs, |a, b| a.id.0.cmp(&b.id.0)), linked, left == 0))
    }

    pub(super) fn project_prompt(&self, request: &PromptRequest) -> Result<Decision, Error> {
        let mut passages = self.section_passages(request)?;
        passages.extend(self.critical(request.task.as_deref())?);
        let it = prompt::write(self.project, request, passages);
        Ok(self.answer(crate::reply::Reply::Handoffs(Reply::Prompt(Box::new(it)))))
    }
}
