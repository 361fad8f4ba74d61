//! Expected answers and effects of entry changes: permissions, conditions and limits.

use shared_context_core::{
    Batch, Code, Command, Condition, Delete, Key, Reply, RequestId, Write,
    audit::AuditAction,
    port::Revision,
    reply::{BatchWritten, Deleted, Shown, Written},
    store::{
        Entry,
        access::{Access, AccessChange},
        expiry::Expiry,
    },
    time::Timestamp,
    tokens::Tokens,
};

use super::state::{Answer, Model, StoredEntry, is_granted, name, participant};

/// The answer to a command, and the new state if the command changes the session.
pub type Transition = (Answer, Option<Model>);

/// The only value of the generator that looks like a secret.
pub(crate) const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";
/// Ten years in milliseconds.
const EXPIRY_MS_MAX: u64 = 315_360_000_000;

impl Model {
    /// Returns the expected answer and new state for a command that changes entries, snapshots or
    /// the session's status. Returns `None` for any other command.
    pub fn change(&self, clock: u64, who: &str, command: &Command) -> Option<Transition> {
        Some(match command {
            Command::Write(it) => self.write(clock, who, it),
            Command::Delete(it) => self.delete(clock, who, it),
            Command::WriteBatch(it) => self.write_batch(clock, who, it),
            Command::SetAccess { key, change } => self.set_access(clock, who, key, change),
            Command::TakeSnapshot { label, note } => {
                self.take_snapshot(clock, who, label, note.as_ref())
            }
            Command::RestoreSnapshot(label) => self.restore_snapshot(clock, who, label),
            Command::DeleteSnapshot(label) => self.delete_snapshot(clock, who, label),
            Command::Redact { key, revision, reason } => {
                self.redact(clock, who, key, *revision, reason)
            }
            Command::Sweep => self.sweep(clock),
            Command::ArchiveSession | Command::RevokeCredentials => {
                self.archive_or_revoke(clock, who, *command == Command::ArchiveSession)
            }
            Command::UpdateSession(change) => self.update(clock, who, change),
            _ => return None,
        })
    }

    /// Writes an entry.
    pub fn write(&self, clock: u64, who: &str, request: &Write) -> Transition {
        let (command, id) = (Command::Write(request.clone()), request.request_id.as_ref());
        let is_reused = match self.check_retry(clock, who, id, &command, &[request]) {
            Ok(is_reused) => is_reused,
            Err(answer) => return (*answer, None),
        };
        let view = self.at(clock);
        let plan = view.check_write(who, request).and_then(|()| {
            if is_reused { Err(Code::RequestIdReused) } else { view.plan(clock, who, request) }
        });
        match plan {
            Err(code) => (Err(code), None),
            Ok(new) => {
                let mut next = self.begin_change(clock);
                next.put(who, &new);
                let written = Written { entry: new.entry, warnings: Vec::new() };
                match view.check_totals(&next) {
                    Err(code) => (Err(code), None),
                    Ok(()) => next.done(who, id, command, Reply::Written(written)),
                }
            }
        }
    }

    /// Removes an entry.
    pub fn delete(&self, clock: u64, who: &str, request: &Delete) -> Transition {
        let (command, id) = (Command::Delete(request.clone()), request.request_id.as_ref());
        let is_reused = match self.check_retry(clock, who, id, &command, &[]) {
            Ok(is_reused) => is_reused,
            Err(answer) => return (*answer, None),
        };
        match self.at(clock).check_delete(who, request, is_reused) {
            Err(code) => (Err(code), None),
            Ok(previous_version) => {
                let mut next = self.begin_change(clock);
                next.remove(who, &request.key);
                let reply = Reply::Deleted(Deleted { key: request.key.clone(), previous_version });
                next.done(who, id, command, reply)
            }
        }
    }

    /// Writes and removes entries, all or none.
    pub fn write_batch(&self, clock: u64, who: &str, request: &Batch) -> Transition {
        let (command, id) = (Command::WriteBatch(request.clone()), request.request_id.as_ref());
        let writes: Vec<&Write> = request.writes.iter().collect();
        let is_reused = match self.check_retry(clock, who, id, &command, &writes) {
            Ok(is_reused) => is_reused,
            Err(answer) => return (*answer, None),
        };
        let view = self.at(clock);
        let plan = |it: &&Write| view.check_write(who, it).and_then(|()| view.plan(clock, who, it));
        let plans: Vec<_> = writes.iter().map(plan).collect();
        let ends = request.deletes.iter().map(|it| view.check_delete(who, it, false));
        let ends: Vec<_> = ends.collect();
        let rejections = plans.iter().filter_map(|it| it.as_ref().err().copied());
        let rejections = rejections.chain(ends.iter().filter_map(|it| it.err()));
        let rejections = rejections.chain(is_reused.then_some(Code::RequestIdReused));
        if let Some(first) =
            rejections.min_by_key(|it| Code::ALL.iter().position(|code| code == it))
        {
            return (Err(first), None);
        }
        let mut next = self.begin_change(clock);
        let mut done = BatchWritten { written: Vec::new(), deleted: Vec::new() };
        for (it, previous_version) in request.deletes.iter().zip(ends.into_iter().flatten()) {
            next.remove(who, &it.key);
            done.deleted.push(Deleted { key: it.key.clone(), previous_version });
        }
        for new in plans.into_iter().flatten() {
            next.put(who, &new);
            done.written.push(Written { entry: new.entry, warnings: Vec::new() });
        }
        match view.check_totals(&next) {
            Err(code) => (Err(code), None),
            Ok(()) => next.done(who, id, command, Reply::BatchWritten(done)),
        }
    }

    /// Changes the access lists of an entry.
    pub fn set_access(
        &self,
        clock: u64,
        who: &str,
        key: &Key,
        change: &AccessChange,
    ) -> Transition {
        if let Err(code) = self.check_participant(who) {
            return (Err(code), None);
        }
        if !is_granted(who, key) {
            return (Err(Code::Forbidden), None);
        }
        let view = self.at(clock);
        let Some(old) = view.entries.get(key) else { return (Err(Code::KeyNotFound), None) };
        if !may_set_access(who, &old.entry) {
            return (Err(Code::Forbidden), None);
        }
        let access = changed(&old.entry.access, change);
        let is_read_only = !view.may_write(who, key, &access);
        let is_readable = view.may_read(who, key, &access);
        if access == old.entry.access {
            let shown = Shown { entry: old.entry.clone(), is_readable, is_read_only };
            return (Ok((old.entry.revision, Reply::Access(shown))), None);
        }
        let mut next = self.begin_change(clock);
        let touched = Revision(next.revision);
        let entry = Entry { access, touched, ..old.entry.clone() };
        let new = StoredEntry { entry: entry.clone(), ..old.clone() };
        next.record(who, AuditAction::SetAccess, Some((old, &new)));
        next.entries.insert(key.clone(), new);
        (Ok((touched, Reply::Access(Shown { entry, is_readable, is_read_only }))), Some(next))
    }

    /// Answers retries, and rejects requests that are invalid whatever the entries. Otherwise
    /// returns true if another request already used this request id.
    fn check_retry(
        &self,
        clock: u64,
        who: &str,
        id: Option<&RequestId>,
        command: &Command,
        writes: &[&Write],
    ) -> Result<bool, Box<Answer>> {
        let name = id.map(|id| (name(who).to_owned(), id.as_str().to_owned()));
        let known = name.and_then(|it| self.answers.get(&it));
        let again = known.filter(|(request, _)| request == command);
        if again.is_none() && writes.iter().any(|it| Self::is_invalid_expiry(clock, it)) {
            return Err(Box::new(Err(Code::MalformedRequest)));
        }
        self.check_participant(who).map_err(|code| Box::new(Err(code)))?;
        let is_granted = keys(command).into_iter().all(|it| is_granted(who, it));
        // A retry under a credential without these keys gets no stored answer.
        let first =
            |answer: &Answer| if is_granted { answer.clone() } else { Err(Code::Forbidden) };
        again.map_or(Ok(known.is_some()), |(_, answer)| Err(Box::new(first(answer))))
    }

    /// Completes a change, and remembers its answer under its request id.
    pub(super) fn done(
        mut self,
        who: &str,
        id: Option<&RequestId>,
        request: Command,
        reply: Reply,
    ) -> Transition {
        let answer = Ok((Revision(self.revision), reply));
        if let Some(id) = id {
            let name = (name(who).to_owned(), id.as_str().to_owned());
            self.answers.insert(name, (request, answer.clone()));
        }
        (answer, Some(self))
    }

    /// Rejects a change by the admin or in an archived session.
    fn check_participant(&self, who: &str) -> Result<(), Code> {
        match who {
            _ if self.about.is_archived => Err(Code::SessionArchived),
            "admin" => Err(Code::Forbidden),
            _ => Ok(()),
        }
    }

    fn check_write(&self, who: &str, request: &Write) -> Result<(), Code> {
        let current = self.entries.get(&request.key).map(|it| &it.entry);
        let own = current.map_or_else(Access::default, |it| it.access.clone());
        let is_narrowed = current.is_some() && changed(&own, &request.options.access) != own;
        let may_narrow = current.is_none_or(|it| may_set_access(who, it));
        let may_write = self.may_write(who, &request.key, &own);
        if may_write && (may_narrow || !is_narrowed) { Ok(()) } else { Err(Code::Forbidden) }
    }

    /// Returns the version that a delete would remove.
    fn check_delete(&self, who: &str, request: &Delete, is_reused: bool) -> Result<u64, Code> {
        let current = self.entries.get(&request.key);
        let own = current.map_or_else(Access::default, |it| it.entry.access.clone());
        match current {
            _ if !(self.may_write(who, &request.key, &own)
                || who == "orchestrator" && current.is_some()) =>
            {
                Err(Code::Forbidden)
            }
            _ if is_reused => Err(Code::RequestIdReused),
            None => Err(Code::KeyNotFound),
            Some(it) if holds(&request.condition, Some(it)) => Ok(it.entry.version),
            Some(_) => Err(Code::VersionConflict),
        }
    }

    fn is_invalid_expiry(clock: u64, request: &Write) -> bool {
        match request.options.expiry {
            Some(Expiry::At(at)) => at.0 <= clock || at.0 > clock + EXPIRY_MS_MAX,
            _ => false,
        }
    }

    fn plan(&self, clock: u64, who: &str, request: &Write) -> Result<StoredEntry, Code> {
        let tokens = request.value.chars().count().div_ceil(4);
        if tokens > self.config().limits.value_tokens_max.0 as usize {
            return Err(Code::ValueTooLarge);
        }
        if self.config().rejects_secrets && request.value.contains(SECRET) {
            return Err(Code::SensitiveValue);
        }
        let current = self.entries.get(&request.key);
        if !holds(&request.condition, current) {
            return Err(Code::VersionConflict);
        }
        let old = current.map(|it| &it.entry);
        let (now, revision) = (self.now(clock), Revision(self.revision + 1));
        let expiry = request.options.expiry.or(self.config().ttl_default.map(Expiry::After));
        let expires_at = expiry.map(|it| match it {
            Expiry::At(at) => at,
            Expiry::After(ttl) => Timestamp(clock + u64::from(ttl.seconds()) * 1_000),
        });
        let own = old.map_or_else(Access::default, |it| it.access.clone());
        let entry = Entry {
            key: request.key.clone(),
            written_by: participant(who),
            written_at: Timestamp(now),
            version: old.map_or(1, |it| it.version + 1),
            value_tokens: Tokens(tokens as u32),
            value_bytes: request.value.len() as u32,
            revision,
            created: old.map_or(revision, |it| it.created),
            touched: revision,
            expires_at,
            access: changed(&own, &request.options.access),
            keeps_history: request
                .options
                .keeps_history
                .unwrap_or(old.is_none_or(|it| it.keeps_history)),
            is_redacted: false,
        };
        Ok(StoredEntry { entry, value: request.value.clone() })
    }

    /// Rejects a state that exceeds a limit, unless it exceeds it no more than before.
    fn check_totals(&self, next: &Self) -> Result<(), Code> {
        let limits = &self.config().limits;
        let is_over = |now: usize, before: usize, max: u32| now > max as usize && now > before;
        let (keys, keys_before) = (next.entries.len(), self.entries.len());
        let (tokens, tokens_before) = (next.tokens() as usize, self.tokens() as usize);
        let is_full = is_over(keys, keys_before, limits.keys_max)
            || is_over(tokens, tokens_before, limits.store_tokens_max.0);
        if is_full { Err(Code::StoreFull) } else { Ok(()) }
    }
}

/// Returns the keys that a command changes.
fn keys(command: &Command) -> Vec<&Key> {
    match command {
        Command::Write(it) => vec![&it.key],
        Command::Delete(it) => vec![&it.key],
        Command::WriteBatch(it) => {
            let written = it.writes.iter().map(|it| &it.key);
            written.chain(it.deletes.iter().map(|it| &it.key)).collect()
        }
        other => panic!("{other:?} has no request id"),
    }
}

fn may_set_access(who: &str, entry: &Entry) -> bool {
    who == "orchestrator" || entry.written_by.as_str() == name(who)
}

fn changed(own: &Access, change: &AccessChange) -> Access {
    Access {
        readable_by: change.readable_by.clone().unwrap_or(own.readable_by.clone()),
        writable_by: change.writable_by.clone().unwrap_or(own.writable_by.clone()),
    }
}

fn holds(condition: &Condition, current: Option<&StoredEntry>) -> bool {
    let version = current.map_or(0, |it| it.entry.version);
    let revision = current.map(|it| it.entry.revision);
    condition.if_version.is_none_or(|it| it == version)
        && (condition.if_revision.is_none() || condition.if_revision == revision)
}
