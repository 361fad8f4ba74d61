//! A commit under construction, which every change of a project uses.
//!
//! A draft writes a memory with its signature, its sketch and the totals, counts the uses by
//! sessions, and keeps the feed.

use super::{feed::COMMITS_KEPT, open::OpenProject, outcome, record};
use crate::{
    Error,
    audit::{AuditAction, AuditRecord, Subject},
    config::REQUESTS_REMEMBERED,
    decision::Decision,
    key::{LINE_CHARS_MAX, Line},
    kv::{Bucket, Change, Revision},
    memories::{
        Memory, Use, VERSIONS_KEPT,
        near::{self, Index, Near},
        rows::{self, SessionUse},
        signature::{self, Segment},
    },
    order,
    outline::Marker,
    pattern::Participants,
    portable::{PortableMemory, PortableSession},
    record::{StoredChange, StoredEvent, change_row},
    reply::Reply,
    row::damaged,
    scope::Scope,
    time::Timestamp,
};

/// The most bytes of memories of a project: 64 MiB.
pub(crate) const PROJECT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The most sessions whose use is kept.
pub(super) const SESSIONS_MAX: u32 = 1_000;
/// The most memories that are remembered of those that a session was shown last.
pub(super) const RECALLED_MAX: usize = 64;

/// A commit under construction.
pub(super) struct Draft<'a, B> {
    pub(super) open: &'a OpenProject<'a, B>,
    /// The metadata after the commit.
    pub(super) meta: record::Meta,
    changes: Vec<Change>,
    events: Vec<StoredEvent>,
    /// The memories that were written, by their numbers; `None` for one that was removed.
    memories: Vec<(u64, Option<Memory>)>,
    segments: Vec<Segment>,
    uses: Vec<(u64, Vec<Use>)>,
    near: Option<Index>,
    /// The numbers of memories that the session was shown.
    pub(super) recalled: Vec<u64>,
}

impl<'a, B: Bucket> Draft<'a, B> {
    pub(super) fn new(open: &'a OpenProject<'a, B>) -> Self {
        let mut meta = open.meta.clone();
        meta.changed_at = open.at;
        Self {
            open,
            meta,
            changes: Vec::new(),
            events: Vec::new(),
            memories: Vec::new(),
            segments: Vec::new(),
            uses: Vec::new(),
            near: None,
            recalled: Vec::new(),
        }
    }

    /// Adds an event.
    pub(super) fn event(
        &mut self,
        action: AuditAction,
        label: Option<Subject>,
        reason: Option<Line>,
    ) {
        let record = AuditRecord {
            scope: Scope::Project(self.open.project.clone()),
            revision: self.open.bucket.revision().next(),
            action,
            participant: self.open.caller.participant.clone(),
            at: self.open.at,
            entry: None,
            label,
            reason,
            round: None,
        };
        self.events.push(StoredEvent { record, readable_by: Participants::default() });
    }

    /// Adds an event about a memory.
    pub(super) fn memory_event(
        &mut self,
        action: AuditAction,
        memory: &Memory,
        reason: Option<Line>,
    ) {
        self.event(action, Some(Subject::memory(memory.id)), reason);
    }

    /// Returns a memory as it is after the changes so far.
    pub(super) fn memory(&self, number: u64) -> Result<Option<Memory>, Error> {
        match self.memories.binary_search_by_key(&number, |it| it.0) {
            Ok(place) => Ok(self.memories.get(place).and_then(|it| it.1.clone())),
            Err(_) => self.open.stored(number),
        }
    }

    /// Returns the digests and sketches of all memories.
    pub(super) fn near(&mut self) -> Result<&mut Index, Error> {
        if self.near.is_none() {
            let rows = self.open.bucket.scan(near::PAGES, None, u32::MAX)?;
            self.near = Some(Index::decode(&rows)?);
        }
        Ok(self.near.get_or_insert_default())
    }

    /// Writes a new memory.
    pub(super) fn add(&mut self, memory: Memory) -> Result<(), Error> {
        if !self.near()?.is_next(memory.number()) {
            return Err(damaged("the last number of the project is not that of its memories"));
        }
        self.meta.totals.memories = self.meta.totals.memories.saturating_add(1);
        self.set_near(&memory)?;
        self.write(memory)
    }

    /// Writes a memory that was imported, with its earlier versions and its uses.
    pub(super) fn import(&mut self, it: &PortableMemory) -> Result<(), Error> {
        let number = it.memory.number();
        if it.uses != Use::default() {
            self.set_use(number, |uses| *uses = it.uses)?;
        }
        if !it.versions.is_empty() {
            self.write_versions(number, &it.versions)?;
        }
        self.near()?.extend(number.saturating_sub(1));
        if it.memory.redacted.is_none() {
            return self.add(it.memory.clone());
        }
        // What it said is not found by likeness.
        self.near()?.extend(number);
        self.meta.totals.memories = self.meta.totals.memories.saturating_add(1);
        self.write(it.memory.clone())
    }

    /// Writes what an imported session did.
    pub(super) fn import_session(&mut self, it: &PortableSession) -> Result<(), Error> {
        let row = rows::session_row(&it.session);
        self.changes.push(Change::put(row, rows::encode_session(&it.did)?));
        Ok(())
    }

    /// Writes the next version of a memory, and keeps the version before.
    pub(super) fn update(&mut self, before: &Memory, memory: Memory) -> Result<(), Error> {
        let number = memory.number();
        let mut versions = self.open.versions(number)?;
        versions.push(before.clone());
        let surplus = versions.len().saturating_sub(VERSIONS_KEPT);
        versions.drain(..surplus);
        self.write_versions(number, &versions)?;
        self.set_near(&memory)?;
        self.write(memory)
    }

    /// Writes a memory whose words did not change.
    pub(super) fn write(&mut self, memory: Memory) -> Result<(), Error> {
        let number = memory.number();
        let before = match self.memory(number)? {
            Some(it) => rows::encode_memory(&it)?.len(),
            None => 0,
        };
        self.resize(before, rows::encode_memory(&memory)?.len());
        self.set_signature(number, Some(&memory))?;
        order::entry(&mut self.memories, number, |it| *it = Some(memory));
        Ok(())
    }

    /// Replaces the earlier versions of a memory.
    pub(super) fn write_versions(&mut self, number: u64, versions: &[Memory]) -> Result<(), Error> {
        let before = self.open.bucket.get(&rows::versions_row(number))?.map_or(0, |it| it.len());
        let row = rows::encode_versions(versions)?;
        self.resize(before, row.len());
        self.changes.push(Change::put(rows::versions_row(number), row));
        Ok(())
    }

    /// Removes a memory with all its versions.
    pub(super) fn remove(&mut self, memory: &Memory) -> Result<(), Error> {
        let number = memory.number();
        let versions = self.open.bucket.get(&rows::versions_row(number))?.map_or(0, |it| it.len());
        self.resize(rows::encode_memory(memory)?.len().saturating_add(versions), 0);
        self.meta.totals.memories = self.meta.totals.memories.saturating_sub(1);
        self.changes.push(Change::Delete(rows::versions_row(number)));
        self.set_signature(number, None)?;
        self.near()?.set(number, None);
        self.set_use(number, |it| *it = Use::default())?;
        order::entry(&mut self.memories, number, |it| *it = None);
        Ok(())
    }

    /// Counts that a memory was read, once in a commit. Returns its uses.
    pub(super) fn count_use(&mut self, number: u64) -> Result<Use, Error> {
        let at = self.open.at;
        let is_first = !self.recalled.contains(&number);
        let mut counted = Use::default();
        self.set_use(number, |it| {
            *it = Use { count: it.count.saturating_add(u32::from(is_first)), last: at };
            counted = *it;
        })?;
        if is_first {
            self.recalled.push(number);
        }
        Ok(counted)
    }

    /// Removes the digest and the sketch of a memory, so that it no longer counts as repeated.
    pub(super) fn forget(&mut self, number: u64) -> Result<(), Error> {
        self.near()?.set(number, None);
        Ok(())
    }

    fn set_near(&mut self, memory: &Memory) -> Result<(), Error> {
        let near = Near::new(&memory.digest(), &memory.title, &memory.text());
        self.near()?.set(memory.number(), Some(near));
        Ok(())
    }

    fn set_signature(&mut self, number: u64, memory: Option<&Memory>) -> Result<(), Error> {
        let (segment, place) = signature::place(number);
        let open = self.open;
        let read = |row: &str| Ok(open.bucket.get(row)?);
        if !self.segments.iter().any(|it| it.number() == segment) {
            self.segments.push(Segment::open(segment, &read)?);
        }
        let mut own = self.segments.iter_mut().filter(|it| it.number() == segment);
        own.try_for_each(|it| it.set(place, memory, &read))
    }

    pub(super) fn set_use(
        &mut self,
        number: u64,
        change: impl FnOnce(&mut Use),
    ) -> Result<(), Error> {
        let (segment, place) = signature::place(number);
        if !self.uses.iter().any(|it| it.0 == segment) {
            let row = self.open.bucket.get(&rows::uses_row(segment))?;
            let stored = row.map_or_else(|| Ok(Vec::new()), |it| rows::decode_uses(&it))?;
            self.uses.push((segment, stored));
        }
        let own = self.uses.iter_mut().find(|it| it.0 == segment);
        if let Some((_, uses)) = own {
            if place >= uses.len() {
                uses.resize(place.saturating_add(1), Use::default());
            }
            uses.get_mut(place).map(change);
        }
        Ok(())
    }

    /// Adds a change of a row that is no memory's.
    pub(super) fn push(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Writes a row whose bytes count, in place of one of `before` bytes.
    pub(super) fn put_sized(&mut self, row: String, before: usize, bytes: Vec<u8>) {
        self.resize(before, bytes.len());
        self.changes.push(Change::Put(row, bytes));
    }

    /// Adds an event about a section, with a line of details; without details if the line is empty.
    pub(super) fn section_event(
        &mut self,
        action: AuditAction,
        marker: &Marker,
        line: &str,
    ) -> Result<(), Error> {
        let line: String = line.chars().take(LINE_CHARS_MAX).collect();
        let line = if line.is_empty() { None } else { Some(Line::parse("event", &line)?) };
        self.event(action, Some(Subject::section(marker)), line);
        Ok(())
    }

    pub(super) fn resize(&mut self, before: usize, after: usize) {
        let bytes = |it: usize| u64::try_from(it).unwrap_or(u64::MAX);
        let total = self.meta.totals.bytes.saturating_sub(bytes(before));
        self.meta.totals.bytes = total.saturating_add(bytes(after));
    }

    /// Rejects a commit that exceeds the limits of the project.
    pub(super) fn check_limits(&self) -> Result<(), Error> {
        let (totals, most) = (&self.meta.totals, self.meta.config.memories_max);
        let message = if totals.memories > most {
            format!(
                "the project would have {} memories, it holds at most {most}; mark what no longer \
                 matters as deleted, and let the orchestrator call maintain",
                totals.memories
            )
        } else if totals.bytes > PROJECT_BYTES_MAX {
            format!(
                "memories, sections and packages would take {} bytes, at most {PROJECT_BYTES_MAX} \
                 fit; mark memories as deleted and let the orchestrator call maintain, or delete \
                 sections",
                totals.bytes
            )
        } else {
            return Ok(());
        };
        Err(Error::MemoryLimit { message })
    }

    /// Returns true if nothing happened.
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the audit records of the draft.
    pub(super) fn records(self) -> Vec<AuditRecord> {
        self.events.into_iter().map(|it| it.record).collect()
    }

    /// Returns the decision to commit and reply with `reply`.
    pub(super) fn commit(self, reply: Reply) -> Result<Decision, Error> {
        let revision = self.open.bucket.revision().next();
        let request = self.open.retry.as_ref().map(|it| it.row(revision, &reply)).transpose()?;
        let (changes, records) = self.finish(request)?;
        Ok(Decision::Change { changes, outcome: outcome(revision, reply), records })
    }

    /// Returns the decision to commit and reject the request with `error`. A retry of the request is
    /// performed.
    pub(super) fn reject(self, error: Error) -> Result<Decision, Error> {
        let (changes, records) = self.finish(None)?;
        Ok(Decision::Reject { changes, error, records })
    }

    /// Returns the rows of the commit, and its audit records.
    fn finish(
        mut self,
        request: Option<(String, Vec<u8>)>,
    ) -> Result<(Vec<Change>, Vec<AuditRecord>), Error> {
        let revision = self.open.bucket.revision().next();
        self.write_session()?;
        for (number, memory) in std::mem::take(&mut self.memories) {
            let row = rows::memory_row(number);
            self.changes.push(match memory {
                Some(it) => Change::put(row, rows::encode_memory(&it)?),
                None => Change::Delete(row),
            });
        }
        let open = self.open;
        for it in std::mem::take(&mut self.segments) {
            self.changes.extend(it.changes(&|row| Ok(open.bucket.get(row)?))?);
        }
        for (segment, it) in std::mem::take(&mut self.uses) {
            self.changes.push(Change::put(rows::uses_row(segment), rows::encode_uses(&it)?));
        }
        self.changes.extend(self.near.take().map(Index::changes).unwrap_or_default());
        self.changes.push(Change::put(record::META, self.meta.encode()?));
        let request_row = request.map(|(row, answer)| {
            self.changes.push(Change::put(row.clone(), answer));
            row
        });
        let change = StoredChange { request_row, events: std::mem::take(&mut self.events) };
        self.changes.push(Change::put(change_row(revision), change.encode(self.open.at)?));
        self.prune(revision)?;
        Ok((self.changes, change.events.into_iter().map(|it| it.record).collect()))
    }

    /// Removes the oldest commit of the feed, and the stored reply to the oldest request.
    fn prune(&mut self, revision: Revision) -> Result<(), Error> {
        if let Some(ago) = revision.0.checked_sub(COMMITS_KEPT) {
            self.changes.push(Change::Delete(change_row(Revision(ago))));
        }
        let Some(ago) = revision.0.checked_sub(REQUESTS_REMEMBERED.into()) else { return Ok(()) };
        if let Some(bytes) = self.open.bucket.get(&change_row(Revision(ago)))? {
            self.changes.extend(StoredChange::decode_request_row(&bytes)?.map(Change::Delete));
        }
        Ok(())
    }

    /// Records that the caller's session did something.
    fn write_session(&mut self) -> Result<(), Error> {
        let Some(session) = &self.open.caller.session else { return Ok(()) };
        let at = self.open.at;
        let mut it = if let Some(it) = self.open.session()? {
            it
        } else {
            if self.meta.totals.sessions >= SESSIONS_MAX {
                self.forget_session()?;
            }
            self.meta.totals.sessions = self.meta.totals.sessions.saturating_add(1);
            SessionUse { first_at: at, ..SessionUse::default() }
        };
        it.last_at = at;
        for number in std::mem::take(&mut self.recalled) {
            it.recalled.retain(|one| *one != number);
            it.recalled.push(number);
        }
        let surplus = it.recalled.len().saturating_sub(RECALLED_MAX);
        it.recalled.drain(..surplus);
        self.changes.push(Change::put(rows::session_row(session), rows::encode_session(&it)?));
        Ok(())
    }

    /// Removes what is known of the session that did nothing for the longest time.
    fn forget_session(&mut self) -> Result<(), Error> {
        let mut oldest: Option<(Timestamp, String)> = None;
        for (row, bytes) in self.open.bucket.scan(rows::SESSIONS, None, u32::MAX)? {
            let last_at = rows::decode_session(&bytes)?.last_at;
            if oldest.as_ref().is_none_or(|it| last_at < it.0) {
                oldest = Some((last_at, row));
            }
        }
        self.changes.extend(oldest.map(|it| Change::Delete(it.1)));
        Ok(())
    }
}
