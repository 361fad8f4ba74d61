//! Reading sections, the index and the inconsistencies (spec 20.2 to 20.5).

use crate::{
    Error,
    decision::Decision,
    kv::Bucket,
    outline::{Owner, Section, SectionVersion, check, index, links, propagation::is_detail, rows},
    ownership::{ReadSections, Reply, SectionRead},
    participant::Role,
    project::{open::OpenProject, outline::Tenures},
    tokens::{Tokens, approximate},
};

/// The most sections of one read.
const READ_MAX: usize = 20;
/// The most bytes of contents of one read; the first is read whole.
const READ_BYTES_MAX: usize = 128 * 1024;
/// The most bytes of contents of a check.
const CHECK_BYTES_MAX: usize = 16 * 1024 * 1024;

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn read_sections(&self, read: &ReadSections) -> Result<Decision, Error> {
        let section = self.section(&read.marker)?;
        let tenures = self.tenures()?;
        let (mut sections, mut more) = (Vec::new(), Vec::new());
        match read.level.filter(|it| *it != section.marker.level()) {
            None => sections.push(self.shown(section, &tenures, read, true)?),
            Some(level) => {
                let mut bytes = 0_usize;
                for it in self.below(&section, level, &tenures)? {
                    if sections.len() >= READ_MAX || bytes > READ_BYTES_MAX {
                        more.push(it.marker);
                        continue;
                    }
                    let shown = self.shown(it, &tenures, read, false)?;
                    bytes = bytes.saturating_add(shown.content.as_ref().map_or(0, String::len));
                    sections.push(shown);
                }
            }
        }
        Ok(self.answer(crate::reply::Reply::Outline(Reply::Read { sections, more })))
    }

    /// Returns the sections of a level that a section leads to: by its links, by its number, or over
    /// the levels between.
    fn below(&self, top: &Section, level: u8, tenures: &Tenures) -> Result<Vec<Section>, Error> {
        let all = self.sections()?;
        let mut reached = vec![top.clone()];
        let mut found: Vec<Section> = Vec::new();
        let own = top.marker.level();
        let is_down = level > own;
        let mut step = own;
        while step != level {
            step = if is_down { step.saturating_add(1) } else { step.saturating_sub(1) };
            let mut next: Vec<Section> = Vec::new();
            for from in reached.iter().filter(|it| self.may_read(it, tenures)) {
                let content =
                    if from.marker.level() < 4 { self.content(from)? } else { String::new() };
                let links = links::of(&content);
                for it in &all {
                    let marker = &it.marker;
                    let leads = links.contains(marker)
                        || links.iter().any(|link| marker.covers(link))
                        || is_detail(&from.marker, marker)
                        || is_detail(marker, &from.marker)
                        || (marker.level() == 1 && !is_down);
                    if leads && !next.contains(it) && !reached.contains(it) {
                        next.push(it.clone());
                    }
                }
            }
            let (wanted, between) =
                next.into_iter().partition::<Vec<_>, _>(|it| it.marker.level() == level);
            found.extend(wanted.into_iter().filter(|it| !found.contains(it)).collect::<Vec<_>>());
            reached.extend(between);
        }
        Ok(crate::order::sorted(found, |a, b| a.marker.cmp(&b.marker)))
    }

    /// Returns true if the caller may read the content of a section.
    pub(in crate::project) fn may_read(&self, section: &Section, tenures: &Tenures) -> bool {
        let lease = tenures.live(&section.marker, self.now);
        section.is_readable_by(self.caller)
            || lease.is_some_and(|it| it.owner == Owner::of(self.caller))
    }

    fn shown(
        &self,
        mut section: Section,
        tenures: &Tenures,
        read: &ReadSections,
        is_named: bool,
    ) -> Result<SectionRead, Error> {
        let marker = &section.marker.clone();
        let is_hidden = !self.may_read(&section, tenures);
        // A section that is not loaded is read by its name and level.
        let is_loaded = section.pruned.is_none() || (is_named && read.level.is_some());
        let mut versions = Vec::new();
        if is_named {
            for (row, _) in self.bucket.scan(&rows::versions_of(marker), None, u32::MAX)? {
                versions.push(rows::version_of(&row)?);
            }
        }
        let version = read.version.filter(|_| is_named).unwrap_or(section.version);
        let is_shown = !is_hidden && is_loaded && section.redacted.is_none();
        let is_earlier = version != section.version;
        let stored = if is_shown || is_earlier {
            Some(self.section_version(marker, version)?)
        } else {
            None
        };
        if let Some(it) = stored.as_ref().filter(|_| is_earlier) {
            section = of_version(section, version, it);
        }
        let content = stored.filter(|_| is_shown).map(|it| it.content);
        let lease = tenures.live(marker, self.now).cloned();
        Ok(SectionRead { section, content, is_hidden, lease, versions })
    }

    pub(super) fn read_index(&self, budget: Tokens) -> Result<Decision, Error> {
        let index = index::write(&self.sections()?, budget);
        Ok(self.answer(crate::reply::Reply::Outline(Reply::Index(Box::new(index)))))
    }

    pub(super) fn check_outline(&self) -> Result<Decision, Error> {
        if self.caller.participant.role() == Role::Agent {
            // Findings name what sections say, which agents may not read.
            return Err(Error::Forbidden {
                message: "only an orchestrator checks the outline; ask it to, if there is need",
            });
        }
        let sections = self.sections()?;
        let mut contents = Vec::new();
        let mut bytes = 0_usize;
        for it in &sections {
            let content = if bytes > CHECK_BYTES_MAX { String::new() } else { self.content(it)? };
            bytes = bytes.saturating_add(content.len());
            contents.push(content);
        }
        let found = check::outline(&sections, &contents, &self.decision_states()?);
        Ok(self.answer(crate::reply::Reply::Outline(Reply::Checked(found))))
    }
}

/// Returns a section with what identifies one of its earlier versions. Title, description, status and
/// progress are kept of the current version alone.
fn of_version(section: Section, version: u32, stored: &SectionVersion) -> Section {
    Section {
        version,
        changed_at: stored.at,
        changed_by: stored.by.clone(),
        tokens: approximate(&stored.content),
        ..section
    }
}
