//! Maintenance: archives and removes memories by the rules (spec 19.6).

use crate::{
    Error,
    audit::AuditAction,
    decision::Decision,
    key::Line,
    kv::Bucket,
    memories::{
        ACTIONS_MAX, Kind, LifecycleAction, Maintained, MaintainedMemory, Memory, Reply, Rule,
        lifecycle::{Candidate, rule_for},
        signature::Head,
    },
    project::{draft::Draft, open::OpenProject, require_orchestrator},
};

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn maintain(&self, is_dry_run: bool) -> Result<Decision, Error> {
        if !is_dry_run {
            self.check_active()?;
        }
        require_orchestrator(
            self.caller,
            "only an orchestrator maintains memories; ask it to, if there is need",
        )?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        let mut due = self.due()?;
        let has_more = due.len() > ACTIONS_MAX;
        due.truncate(ACTIONS_MAX);
        let action = |(number, rule): &(u64, &'static Rule)| MaintainedMemory {
            action: rule.action,
            id: self.id(*number),
            rule,
        };
        let actions: Vec<MaintainedMemory> = due.iter().map(action).collect();
        let is_idle = due.is_empty();
        let reply = Reply::Maintained(Maintained { actions, has_more, is_dry_run });
        let reply = crate::reply::Reply::Memories(reply);
        if is_dry_run || is_idle {
            return Ok(self.answer(reply));
        }
        let mut draft = Draft::new(self);
        for (number, rule) in due {
            let Some(memory) = self.stored(number)? else { continue };
            let reason = Line::parse("rule", rule.name)?;
            match rule.action {
                LifecycleAction::Archived => {
                    draft.memory_event(AuditAction::ExpireMemory, &memory, Some(reason));
                    draft.write(Memory { archived_at: Some(self.at), ..memory })?;
                }
                LifecycleAction::Deleted => {
                    draft.memory_event(AuditAction::DeleteMemory, &memory, Some(reason));
                    draft.remove(&memory)?;
                }
            }
        }
        draft.commit(reply)
    }

    /// Returns the memories that a rule applies to, removals first.
    fn due(&self) -> Result<Vec<(u64, &'static Rule)>, Error> {
        let mut heads: Vec<Head> = Vec::new();
        self.each_signature(|it| heads.push(it.head.clone()))?;
        let uses = self.uses()?;
        // What will be removed, or does not count yet, replaces no other state.
        let is_state = |it: &&Head| {
            it.kind == Kind::State
                && it.archived_at.is_none()
                && !it.is_expired(self.now)
                && !it.is_marked
                && it.is_verified
        };
        let newest = heads.iter().filter(is_state).map(|it| (it.at, it.number)).max();
        let mut due = Vec::new();
        for head in &heads {
            let has_newer = newest.is_some_and(|it| it > (head.at, head.number));
            let candidate = Candidate { head, uses: uses.of(head.number), has_newer };
            due.extend(rule_for(candidate, self.now).map(|rule| (head.number, rule)));
        }
        let (removed, archived): (Vec<_>, Vec<_>) =
            due.into_iter().partition(|it| it.1.action == LifecycleAction::Deleted);
        Ok(removed.into_iter().chain(archived).collect())
    }
}
