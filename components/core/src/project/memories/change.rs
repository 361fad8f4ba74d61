//! Changing memories: next versions, marks, replacement, redaction (spec 19.2).

use crate::{
    Error,
    audit::{AuditAction, Subject},
    decision::Decision,
    handoffs::Handoff,
    item::Authority,
    key::Line,
    kv::Bucket,
    memories::{
        Holds, Kind, Mark, Memory, MemoryRef, NewMemory, REDACTED_TITLE, RedactedMemory, Reply,
        UpdateMemory, Value,
    },
    participant::Participant,
    project::{draft::Draft, open::OpenProject, require_orchestrator},
    store::redaction::check_reason,
};

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn update_memory(&self, change: &UpdateMemory) -> Result<Decision, Error> {
        self.check_active()?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        self.check_times(None, change.expires_at.flatten())?;
        let before = self.one(change.id)?;
        let is_own = before.created_by == self.caller.participant;
        if self.is_agent() && !is_own && !change.is_of_status() {
            return Err(Error::Forbidden {
                message: "an agent changes only what it wrote itself, and the status of issues; add a \
                          memory of your own, or report it to the orchestrator",
            });
        }
        if before.archived_at.is_some() {
            return Err(Error::MemoryArchived { id: before.id.to_string() });
        }
        if change.if_version.is_some_and(|it| it != before.version) {
            return Err(Error::MemoryConflict {
                id: before.id.to_string(),
                current_version: before.version,
            });
        }
        let memory = self.changed(&before, change)?;
        let (id, version) = (memory.id, memory.version);
        let mut draft = Draft::new(self);
        draft.memory_event(AuditAction::UpdateMemory, &memory, None);
        draft.update(&before, memory)?;
        draft.check_limits()?;
        draft.commit(crate::reply::Reply::Memories(Reply::Updated { id, version }))
    }

    /// Returns the next version of a memory.
    fn changed(&self, before: &Memory, change: &UpdateMemory) -> Result<Memory, Error> {
        let Some(content) = &before.content else {
            return Err(Error::malformed(
                "this memory was redacted, so there is nothing to change; add a new one",
            ));
        };
        // The same rules as for a new memory.
        let new = NewMemory {
            title: change.title.clone().unwrap_or_else(|| before.title.clone()),
            content: content.changed(change.content.clone())?,
            tags: change.tags.clone().unwrap_or_else(|| before.tags.clone()),
            importance: change.importance.unwrap_or(before.importance),
            status: change.status.or(before.status),
            authority: before.authority,
            at: None,
            expires_at: None,
            parent: None,
            supersedes: Vec::new(),
            source: None,
        }
        .checked()?;
        // Only words can be a proposal.
        let has_new_words = new.title != before.title || new.content != *content;
        let is_proposal = self.is_agent()
            && has_new_words
            && (before.kind == Kind::Decision || before.authority >= Authority::ToolExternal);
        Ok(Memory {
            title: new.title,
            content: Some(new.content),
            tags: new.tags,
            importance: new.importance,
            status: new.status,
            is_verified: before.is_verified && !is_proposal,
            changed_at: self.at,
            changed_by: self.caller.participant.clone(),
            version: before.version.saturating_add(1),
            expires_at: change.expires_at.unwrap_or(before.expires_at),
            ..before.clone()
        })
    }

    /// Returns one memory.
    pub(super) fn one(&self, id: MemoryRef) -> Result<Memory, Error> {
        let missing = || Error::MemoryNotFound { id: id.to_string() };
        self.existing(&[id])?.pop().ok_or_else(missing)
    }

    pub(super) fn supersede_memory(&self, id: MemoryRef, by: MemoryRef) -> Result<Decision, Error> {
        self.check_active()?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        let (old, new) = (self.one(id)?, self.one(by)?);
        // A memory that was replaced leads to the one that replaced it, and so on.
        let mut next = Some(new.number());
        let mut steps = 0_u32;
        while let Some(number) = next.filter(|_| steps < self.meta.totals.memories.max(1)) {
            if number == old.number() {
                return Err(Error::SupersedesItself { id: old.id.to_string() });
            }
            next = self.stored(number)?.and_then(|it| it.superseded_by);
            steps = steps.saturating_add(1);
        }
        if new.archived_at.is_some() {
            return Err(Error::MemoryArchived { id: new.id.to_string() });
        }
        let mut draft = Draft::new(self);
        self.replace(&mut draft, old.number(), new.number())?;
        let (id, by) = (old.id, new.id);
        let mut new = new;
        new.supersedes.push(old.number());
        draft.write(new)?;
        draft.commit(crate::reply::Reply::Memories(Reply::Superseded { id, by }))
    }

    pub(super) fn mark_memories(&self, ids: &[MemoryRef], mark: Mark) -> Result<Decision, Error> {
        self.check_active()?;
        require_orchestrator(
            self.caller,
            "only an orchestrator archives, restores, deletes and confirms memories; report what you \
             need, or change the memories that you wrote with update_memory",
        )?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        let memories = self.different(ids)?;
        let marked = memories.iter().map(|it| it.id).collect();
        let mut draft = Draft::new(self);
        for before in memories {
            let mut it = draft.memory(before.number())?.unwrap_or(before);
            match mark {
                Mark::Archived => it.archived_at = it.archived_at.or(Some(self.at)),
                Mark::Deleted => it.is_marked = true,
                Mark::Verified => it.is_verified = true,
                Mark::Active => {
                    it.is_marked = false;
                    if it.archived_at.take().is_some() {
                        // What was restored is young again: else the same rule would archive it.
                        it.changed_at = self.at;
                    }
                    if let Some(by) = it.superseded_by.take()
                        && let Some(mut by) = draft.memory(by)?
                    {
                        by.supersedes.retain(|one| *one != it.number());
                        draft.write(by)?;
                    }
                }
            }
            let reason = Line::parse("mark", mark.as_str())?;
            draft.memory_event(AuditAction::MarkMemory, &it, Some(reason));
            draft.write(it)?;
        }
        draft.commit(crate::reply::Reply::Memories(Reply::Marked { ids: marked, mark }))
    }

    pub(super) fn redact_memory(&self, id: MemoryRef, reason: &Line) -> Result<Decision, Error> {
        require_orchestrator(
            self.caller,
            "only an orchestrator redacts memories; report to it what must go",
        )?;
        // A later page may have a package with it.
        self.check_imported()?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        let number = self.numbers(&[id])?.into_iter().next().unwrap_or_default();
        let has_it = |it: &Handoff| it.named.contains(&number) || it.memory == Some(number);
        let mut draft = Draft::new(self);
        let Some(memory) = self.stored(number)? else {
            // Of a memory that was removed, packages still have the words.
            let own = self.id(number);
            if !self.redact_packages(&mut draft, has_it, reason)? {
                return Err(Error::MemoryNotFound { id: id.to_string() });
            }
            let subject = Some(Subject::memory(own));
            draft.event(AuditAction::RedactMemory, subject, Some(reason.clone()));
            let reply = Reply::Redacted { id: own, digests: Vec::new() };
            return draft.commit(crate::reply::Reply::Memories(reply));
        };
        self.check_words(&memory, reason)?;
        let (id, is_state) = (memory.id, memory.kind == Kind::State);
        let digests = self.redact_words(&mut draft, memory, reason)?;
        self.redact_packages(&mut draft, has_it, reason)?;
        if is_state {
            // Its steps stand in for lists of the package, which the memory of the handoff repeats.
            self.redact_memories_of(&mut draft, has_it, reason)?;
        }
        draft.commit(crate::reply::Reply::Memories(Reply::Redacted { id, digests }))
    }

    /// Rejects a reason that repeats the text of a memory, in any version.
    pub(in crate::project) fn check_words(
        &self,
        memory: &Memory,
        reason: &Line,
    ) -> Result<(), Error> {
        let versions = self.versions(memory.number())?;
        versions.iter().chain([memory]).try_for_each(|it| check_reason_of(reason, it))
    }

    /// Redacts a memory in all its versions, within a draft. Returns the digests of their texts.
    pub(in crate::project) fn redact_words(
        &self,
        draft: &mut Draft<'_, B>,
        memory: Memory,
        reason: &Line,
    ) -> Result<Vec<String>, Error> {
        let number = memory.number();
        let versions = self.versions(number)?;
        let mut digests = Vec::new();
        let mut redacted = |it: Memory| {
            let digest = it.digest();
            if !digests.contains(&digest) {
                digests.push(digest.clone());
            }
            Memory {
                title: REDACTED_TITLE.to_owned(),
                content: None,
                tags: Vec::new(),
                source: None,
                // Another reason replaces one that was a mistake.
                redacted: Some(RedactedMemory {
                    digest: it.redacted.map_or(digest, |it| it.digest),
                    reason: reason.clone(),
                }),
                ..it
            }
        };
        if !versions.is_empty() {
            let versions: Vec<Memory> = versions.into_iter().map(&mut redacted).collect();
            draft.write_versions(number, &versions)?;
        }
        let memory = redacted(memory);
        draft.memory_event(AuditAction::RedactMemory, &memory, Some(reason.clone()));
        draft.forget(number)?;
        draft.write(memory)?;
        Ok(digests)
    }
}

/// Rejects a reason that repeats the title or a text of a memory that is to be redacted.
fn check_reason_of(reason: &Line, it: &Memory) -> Result<(), Error> {
    let Some(content) = &it.content else { return Ok(()) };
    check_reason(reason, &it.title)?;
    for (rule, value) in content.members() {
        match value {
            // The name of a severity is no secret, and neither is that of a participant.
            Value::Text(_) if rule.holds == Holds::Severity => {}
            Value::Text(text)
                if ["from_agent", "to_agent"].contains(&rule.name)
                    && Participant::parse(text).is_ok() => {}
            Value::Text(text) => check_reason(reason, text)?,
            Value::Texts(all) => all.iter().try_for_each(|it| check_reason(reason, it))?,
            Value::Number(_) => {}
        }
    }
    Ok(())
}
