//! Export of a project as a document, and import (spec 15.6).
//!
//! A document holds a page of a project, so that a large one fits messages of any size. The first page
//! creates the project, which is read-only until the last one was imported.
//!
//! # Invariants
//!
//! - Pages of one import are of one revision of the exported project.
//! - An imported memory has the same ids, versions, writers, times and uses.
//! - An imported section has the same versions, writers and times, and no owner. An imported handoff has
//!   the same package and is not open.
//! - Signatures and sketches are computed again.

use super::{
    Request,
    draft::Draft,
    open::OpenProject,
    page,
    record::{Import, Meta},
    retries::Retry,
};
use crate::{
    Error,
    audit::AuditAction,
    decision::{Decision, require_admin},
    estimate,
    handoffs::Handoff,
    kv::{Bucket, Change},
    memories::{DecisionId, rows},
    outline::Section,
    ownership::rows::{COORDINATION, encode_state},
    portable::{PortableMemory, PortableProject},
    reply::Reply,
};

/// The number of rows of memories that are read at once.
const ROWS_READ: u32 = 64;
/// The bytes of memories, sections and handoffs in a page. The last one may exceed it: a section
/// with all its versions by 4 MiB.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn export(&self, after: u64) -> Result<Decision, Error> {
        require_admin(self.caller)?;
        if self.meta.import.is_some() {
            return Err(Error::malformed(
                "the import of this project is not finished, so it has no document; import the \
                 other pages first",
            ));
        }
        let (sections, handoffs) = (self.sections_by_bytes()?, self.kept_handoffs()?);
        let count = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
        let totals = &self.meta.totals;
        let (day, ordinal) = totals.last_decision;
        let is_first = after == 0;
        let mut page = PortableProject {
            project: self.project.clone(),
            revision: self.bucket.revision(),
            origins: self.origins.until(totals.last_memory),
            is_archived: self.meta.is_archived,
            created_at: self.meta.created_at,
            config: self.meta.config.clone(),
            last_memory: totals.last_memory,
            last_decision: (ordinal > 0).then_some(DecisionId { day, ordinal }),
            session_count: totals.sessions,
            section_count: count(sections.len()),
            handoff_count: count(handoffs.len()),
            sessions: if is_first { self.all_sessions()? } else { Vec::new() },
            coordination: Some(self.coordination_state()?).filter(|it| is_first && it.version > 0),
            after,
            next: None,
            memories: Vec::new(),
            sections: Vec::new(),
            handoffs: Vec::new(),
        };
        let mut room = self.export_memories(&mut page)?;
        self.export_others(&mut page, &mut room, sections, handoffs)?;
        Ok(self.answer(Reply::PortableProject(Box::new(page))))
    }

    /// Adds memories to a page. Returns the room that is left.
    fn export_memories(&self, page: &mut PortableProject) -> Result<usize, Error> {
        let uses = self.uses()?;
        let mut room = PAGE_BYTES;
        let mut last = rows::memory_row(page.after);
        let mut number = page.after;
        loop {
            let rows = self.bucket.scan(rows::MEMORIES, Some(&last), ROWS_READ)?;
            let is_last = u32::try_from(rows.len()).is_ok_and(|it| it < ROWS_READ);
            for (row, bytes) in rows {
                if room == 0 {
                    page.next = Some(number);
                    return Ok(room);
                }
                last = row;
                let memory = rows::decode_memory(&bytes)?;
                number = memory.number();
                if memory.is_expired(self.now) {
                    continue;
                }
                let versions = self.bucket.get(&rows::versions_row(number))?.unwrap_or_default();
                room = room.saturating_sub(bytes.len()).saturating_sub(versions.len());
                let versions = match versions.as_slice() {
                    [] => Vec::new(),
                    it => rows::decode_versions(it)?,
                };
                page.memories.push(PortableMemory { memory, uses: uses.of(number), versions });
            }
            if is_last {
                return Ok(room);
            }
        }
    }

    /// Adds what follows the memories to a page, as far as there is room.
    fn export_others(
        &self,
        page: &mut PortableProject,
        room: &mut usize,
        sections: Vec<Section>,
        handoffs: Vec<Handoff>,
    ) -> Result<(), Error> {
        let mut place = page.last_memory;
        let mut has_next = |page: &mut PortableProject, room: usize| {
            let before = place;
            place = place.saturating_add(1);
            if room == 0 && page.next.is_none() && place > page.after {
                page.next = Some(before);
            }
            page.next.is_none() && place > page.after
        };
        for it in sections {
            if has_next(page, *room) {
                let (section, bytes) = self.export_section(it)?;
                *room = room.saturating_sub(bytes);
                page.sections.push(section);
            }
        }
        for it in handoffs {
            if has_next(page, *room) {
                let (handoff, bytes) = self.export_handoff(it)?;
                *room = room.saturating_sub(bytes);
                page.handoffs.push(handoff);
            }
        }
        Ok(())
    }
}

impl<B: Bucket> Request<'_, B> {
    pub(super) fn import(
        &self,
        page: &PortableProject,
        retry: Option<Retry>,
    ) -> Result<Decision, Error> {
        page::check(page, self.now)?;
        estimate::check(self.tokenizer, "estimator", &page.config.estimator)?;
        require_admin(self.caller)?;
        let digest = page::digest(page)?;
        let meta = match self.existing()? {
            None if page.after == 0 => self.imported(page),
            None => {
                return Err(Error::malformed(format!(
                    "there is no project {} yet; import the first page of the document first, the \
                     one with after 0",
                    self.project
                )));
            }
            Some(mut it) => {
                it.retry.clone_from(&retry);
                if let Some(first) = it.first_reply()? {
                    return Ok(first);
                }
                let Some(import) = &it.meta.import else {
                    return Err(Error::ProjectExists { project: self.project.to_string() });
                };
                if import.until != page.after || import.digest != digest {
                    return Err(Error::malformed(format!(
                        "the import of project {} goes on with the page after {}, of the same \
                         export: if the project changed between two pages, delete the import and \
                         export again; all pages must name the same revision",
                        self.project, import.until
                    )));
                }
                it.meta
            }
        };
        let mut open = OpenProject::new(self, meta);
        open.retry = retry;
        // What changes later is not older than what is imported.
        open.at = open.at.max(page::latest_time(page));
        let mut draft = Draft::new(&open);
        for it in &page.sessions {
            draft.import_session(it)?;
        }
        for it in &page.memories {
            draft.import(it)?;
        }
        for it in &page.sections {
            draft.import_section(it)?;
        }
        for it in &page.handoffs {
            draft.import_handoff(it)?;
        }
        if let Some(it) = &page.coordination {
            draft.push(Change::put(COORDINATION, encode_state(it)?));
        }
        if page.next.is_none() {
            draft.near()?.extend(page.last_memory);
        }
        page::check_links(page, &draft)?;
        draft.meta.totals.last_decision = page::last_decision(page, &open.meta)?;
        draft.meta.import = page.next.map(|until| Import { until, digest });
        draft.meta.is_archived = page.is_archived || page.next.is_some();
        draft.check_limits()?;
        draft.event(AuditAction::ImportProject, None, None);
        let info = draft.info();
        draft.commit(Reply::Project(info))
    }

    /// Returns the metadata of an imported project, before its first memory.
    fn imported(&self, page: &PortableProject) -> Meta {
        let incarnation = self.bucket.revision().next().0;
        let mut meta = Meta::new(incarnation, self.now, page.config.clone());
        meta.created_at = page.created_at;
        meta.origins = page.origins.clone();
        meta.first_memory = page.last_memory.saturating_add(1);
        meta.totals.last_memory = page.last_memory;
        meta.totals.sessions = page.session_count;
        meta
    }
}
