//! Adding memories (spec 19.2).

use crate::{
    Error,
    audit::AuditAction,
    decision::Decision,
    item::Authority,
    kv::Bucket,
    memories::{
        Added, DecisionId, Kind, Memory, MemoryRef, MemoryWarning, NewMemory, Reply, Status,
        near::Near, warning,
    },
    participant::Role,
    project::{draft::Draft, open::OpenProject},
    text::{likeness, likeness::REPEATED_ABOVE},
    time::Timestamp,
};

/// The most memories that a new one is compared with.
const COMPARED_MAX: usize = 8;

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn add_memories(&self, new: &[NewMemory]) -> Result<Decision, Error> {
        self.check_active()?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        for it in new {
            self.check_times(it.at, it.expires_at)?;
        }
        let refs: Vec<MemoryRef> =
            new.iter().flat_map(|it| it.parent.iter().chain(&it.supersedes)).copied().collect();
        let mut linked = self.existing(&refs)?.into_iter();
        let recalled = self.session()?.map(|it| it.recalled).unwrap_or_default();
        let mut draft = Draft::new(self);
        let mut added = Vec::new();
        for it in new {
            let parent = it.parent.and_then(|_| linked.next());
            let superseded: Vec<Memory> = linked.by_ref().take(it.supersedes.len()).collect();
            added.push(self.add(&mut draft, it, parent.as_ref(), &superseded, &recalled)?);
        }
        draft.check_limits()?;
        let reply = crate::reply::Reply::Memories(Reply::Added(added));
        if draft.is_empty() {
            return Ok(self.answer(reply));
        }
        draft.commit(reply)
    }

    /// Validates the times of a memory.
    pub(super) fn check_times(
        &self,
        at: Option<Timestamp>,
        expires_at: Option<Timestamp>,
    ) -> Result<(), Error> {
        if let Some(at) = at.filter(|it| *it > self.at) {
            return Err(Error::malformed(format!(
                "timestamp {at} is in the future; it is when the memory happened, leave it out for now"
            )));
        }
        if let Some(at) = expires_at.filter(|it| *it <= self.now) {
            return Err(Error::malformed(format!(
                "expires_at {at} is in the past; name a later time, or leave it out"
            )));
        }
        Ok(())
    }

    /// Adds a memory, or finds the one with the same words.
    pub(in crate::project) fn add(
        &self,
        draft: &mut Draft<'_, B>,
        new: &NewMemory,
        parent: Option<&Memory>,
        superseded: &[Memory],
        recalled: &[u64],
    ) -> Result<Added, Error> {
        let digest = new.digest();
        let text = [new.title.as_str(), "\n", &new.content.text()].concat();
        let near = Near::new(&digest, &new.title, &text);
        if let Some(same) = self.same(draft, &near, &digest)? {
            return Ok(Added {
                id: same.id,
                decision: same.decision,
                version: same.version,
                is_new: false,
                warnings: vec![warning::already_stored(&same, !superseded.is_empty())],
            });
        }
        // A memory that is named by both of its ids is replaced once.
        let mut replaced: Vec<u64> = Vec::new();
        for number in superseded.iter().map(Memory::number) {
            if !replaced.contains(&number) {
                replaced.push(number);
            }
        }
        let mut warnings = warning::on_text(new);
        warnings.extend(self.like(draft, &near, &text, &replaced, recalled)?);
        let kind = new.content.kind();
        let is_proposal = kind == Kind::Decision && self.is_agent();
        let is_verified = !is_proposal && new.authority < Authority::ToolExternal;
        if !is_verified {
            warnings.push(warning::unverified());
        }
        let number = draft.meta.totals.last_memory.saturating_add(1);
        draft.meta.totals.last_memory = number;
        let memory = Memory {
            id: self.id(number),
            decision: (kind == Kind::Decision).then(|| self.next_decision(draft)),
            title: new.title.clone(),
            content: Some(new.content.clone()),
            kind,
            tags: new.tags.clone(),
            importance: new.importance,
            status: (kind == Kind::Issue).then(|| new.status.unwrap_or(Status::Open)),
            authority: new.authority,
            is_verified,
            at: new.at.unwrap_or(self.at),
            created_at: self.at,
            created_by: self.caller.participant.clone(),
            created_in: self.caller.session.clone(),
            changed_at: self.at,
            changed_by: self.caller.participant.clone(),
            version: 1,
            expires_at: new.expires_at,
            parent: parent.map(Memory::number),
            supersedes: replaced.clone(),
            superseded_by: None,
            archived_at: None,
            is_marked: false,
            source: new.source.clone(),
            redacted: None,
        };
        let added =
            Added { id: memory.id, decision: memory.decision, version: 1, is_new: true, warnings };
        draft.memory_event(AuditAction::AddMemory, &memory, None);
        draft.add(memory)?;
        for it in replaced {
            self.replace(draft, it, number)?;
        }
        Ok(added)
    }

    pub(in crate::project) fn is_agent(&self) -> bool {
        self.caller.participant.role() == Role::Agent
    }

    /// Returns the memory with the same words, if there is one.
    fn same(
        &self,
        draft: &mut Draft<'_, B>,
        near: &Near,
        digest: &str,
    ) -> Result<Option<Memory>, Error> {
        let numbers: Vec<u64> = draft.near()?.same(near).take(COMPARED_MAX).collect();
        for number in numbers {
            let memory = draft.memory(number)?.filter(|it| !it.is_expired(self.now));
            if let Some(it) = memory.filter(|it| it.digest() == digest) {
                return Ok(Some(it));
            }
        }
        Ok(None)
    }

    /// Returns the warning that another memory is nearly equal, or about the same subject.
    fn like(
        &self,
        draft: &mut Draft<'_, B>,
        near: &Near,
        text: &str,
        replaced: &[u64],
        recalled: &[u64],
    ) -> Result<Option<MemoryWarning>, Error> {
        let numbers = draft.near()?.like(near).filter(|it| !replaced.contains(it));
        let numbers: Vec<u64> = numbers.take(COMPARED_MAX).collect();
        let mut of_subject = None;
        for number in numbers {
            let Some(other) = draft.memory(number)?.filter(|it| !it.is_expired(self.now)) else {
                continue;
            };
            if likeness(text, &other.text()) > REPEATED_ABOVE {
                return Ok(Some(warning::on_like(&other, true, recalled.contains(&number))));
            }
            let own = Near::new("", &other.title, "");
            let is_meant = near.sketch.has_subject_of(&own.sketch) && other.archived_at.is_none();
            if is_meant && of_subject.is_none() {
                of_subject = Some(warning::on_like(&other, false, false));
            }
        }
        Ok(of_subject)
    }

    /// Returns the second id of a new decision.
    fn next_decision(&self, draft: &mut Draft<'_, B>) -> DecisionId {
        let day = DecisionId::day_of(self.at);
        let last = &mut draft.meta.totals.last_decision;
        *last = (day, if last.0 == day { last.1.saturating_add(1) } else { 1 });
        DecisionId { day, ordinal: last.1 }
    }

    /// Replaces a memory by another.
    ///
    /// # Errors
    ///
    /// [`Error::Forbidden`] if an agent replaces what it did not write, or what was confirmed by what was
    /// not; [`Error::MemoryArchived`].
    pub(super) fn replace(
        &self,
        draft: &mut Draft<'_, B>,
        number: u64,
        by: u64,
    ) -> Result<(), Error> {
        let Some(mut it) = draft.memory(number)? else { return Ok(()) };
        if self.is_agent() && it.created_by != self.caller.participant {
            return Err(Error::Forbidden {
                message: "an agent supersedes only what it wrote itself; add the memory without \
                          supersedes, and report to the orchestrator which one it replaces",
            });
        }
        if self.is_agent() && draft.memory(by)?.is_some_and(|by| is_retired(&it, &by)) {
            return Err(Error::Forbidden {
                message: "an agent supersedes a verified memory only with a verified one, and a verified \
                          decision only with a decision; add the new one without supersedes, and ask the \
                          orchestrator to confirm it (mark_memories, verified) and to supersede the old one",
            });
        }
        if it.archived_at.is_some() {
            return Err(Error::MemoryArchived { id: it.id.to_string() });
        }
        it.superseded_by = Some(by);
        it.archived_at = Some(self.at);
        draft.memory_event(AuditAction::SupersedeMemory, &it, None);
        draft.write(it)
    }
}

/// Returns true if the replacement of a verified memory would leave nothing verified in its place.
fn is_retired(old: &Memory, by: &Memory) -> bool {
    let is_other = old.kind == Kind::Decision && by.kind != Kind::Decision;
    old.is_verified && (!by.is_verified || is_other)
}
