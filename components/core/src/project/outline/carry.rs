//! Sections and the coordination state in exported and imported pages of a project (spec 15.6).
//!
//! # Invariant
//!
//! An imported section is one that `put_section` could have written. Its parent may be missing: to delete
//! a section leaves those below it.

use crate::{
    Error,
    canonical::string_bytes_max,
    digest::is_sha256,
    key::{LINE_CHARS_MAX, Line},
    kv::Bucket,
    order::sorted,
    outline::{
        FileReference, Marker, NewSection, Section, SectionVersion, VERSIONS_KEPT,
        rows::{
            decode_version, encode_section, encode_version, section_row, version_row, versions_of,
        },
    },
    ownership::{CoordinationChange, CoordinationState},
    portable::{NUMBER_MAX, PortableSection},
    project::{draft::Draft, open::OpenProject},
    row::damaged,
    time::Timestamp,
    tokens::approximate,
};

impl<B: Bucket> OpenProject<'_, B> {
    /// Returns all sections in the order of a document.
    pub(in crate::project) fn sections_by_bytes(&self) -> Result<Vec<Section>, Error> {
        let sections = self.sections()?;
        Ok(sorted(sections, |a, b| a.marker.as_str().cmp(b.marker.as_str())))
    }

    /// Returns a section with its versions, and its bytes in a document.
    pub(in crate::project) fn export_section(
        &self,
        section: Section,
    ) -> Result<(PortableSection, usize), Error> {
        let mut bytes = u64::try_from(encode_section(&section)?.len()).unwrap_or(u64::MAX);
        let mut versions = Vec::new();
        for (_, row) in self.bucket.scan(&versions_of(&section.marker), None, u32::MAX)? {
            let version = decode_version(&row)?;
            bytes = bytes.saturating_add(string_bytes_max(&version.content));
            versions.push(version);
        }
        let Some(SectionVersion { content, .. }) = versions.pop() else {
            return Err(damaged("a section has no version"));
        };
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Ok((PortableSection { section, content, versions }, bytes))
    }
}

impl<B: Bucket> Draft<'_, B> {
    /// Writes a section that was imported, with its earlier versions.
    pub(in crate::project) fn import_section(&mut self, it: &PortableSection) -> Result<(), Error> {
        let section = &it.section;
        let (marker, row) = (&section.marker, section_row(&section.marker));
        if self.open.bucket.get(&row)?.is_some() {
            return Err(invalid(marker, "is there twice"));
        }
        self.put_sized(row, 0, encode_section(section)?);
        let current = SectionVersion {
            content: it.content.clone(),
            at: section.changed_at,
            by: section.changed_by.clone(),
        };
        let earlier = u32::try_from(it.versions.len()).unwrap_or(u32::MAX);
        let first = section.version.saturating_sub(earlier);
        for (version, it) in (first..).zip(it.versions.iter().chain([&current])) {
            self.put_sized(version_row(marker, version), 0, encode_version(it)?);
        }
        Ok(())
    }
}

/// Creates the error for a section.
fn invalid(marker: &Marker, what: &str) -> Error {
    Error::invalid_document(["section ", &marker.to_string(), " ", what].concat())
}

/// Validates a section with its versions: as strictly as a write.
pub(in crate::project) fn check_section(it: &PortableSection) -> Result<(), Error> {
    let section = &it.section;
    let fail = |what: &str| Err(invalid(&section.marker, what));
    let within =
        |error: Error| invalid(&section.marker, &["is invalid: ", &error.to_string()].concat());
    let kept = section.version.min(VERSIONS_KEPT).checked_sub(1);
    if kept != u32::try_from(it.versions.len()).ok() {
        return fail("has not the versions that it must have");
    }
    let mut last = Timestamp(0);
    for at in it.versions.iter().map(|it| it.at).chain([section.changed_at]) {
        if at < last {
            return fail("has a version that is older than the one before");
        }
        last = at;
    }
    if section.tokens != approximate(&it.content) || !(1..=NUMBER_MAX).contains(&section.created.0)
    {
        return fail("has a number that it cannot have");
    }
    if let Some(pruned) = &section.pruned
        && (pruned.chars().count() > LINE_CHARS_MAX || pruned.contains(char::is_control))
    {
        return fail("has a reason for being pruned that is longer than a line");
    }
    if let Some(mark) = &section.redacted {
        // What had no content has no digest.
        let is_bare = it.content.is_empty() && it.versions.iter().all(|it| it.content.is_empty());
        if !is_bare || !(mark.digest.is_empty() || is_sha256(&mark.digest)) {
            return fail("is redacted, and says more than its digest");
        }
        Line::parse("redacted.reason", &mark.reason).map_err(within)?;
    }
    section.file.clone().map(FileReference::checked).transpose().map_err(within)?;
    let mut new = NewSection {
        marker: section.marker.clone(),
        title: Some(section.title.clone()),
        content: None,
        summary: Some(section.summary.clone()),
        status: Some(section.status.clone()),
        progress: section.progress,
        shortcuts: (!section.shortcuts.is_empty()).then(|| section.shortcuts.clone()),
        file: section.file.clone(),
        readers: (!section.readers.is_empty()).then(|| section.readers.clone()),
    };
    for content in it.versions.iter().map(|it| &it.content).chain([&it.content]) {
        new.content = Some(content.clone());
        new = new.checked().map_err(within)?;
    }
    Ok(())
}

/// Validates a coordination state.
pub(in crate::project) fn check_coordination(it: &CoordinationState) -> Result<(), Error> {
    let change = CoordinationChange {
        if_version: it.version,
        assignments: Some(it.assignments.clone()),
        blockers: Some(it.blockers.clone()),
        resources: Some(it.resources.clone()),
    };
    if !(1..=NUMBER_MAX).contains(&it.version) || change.check_counts().is_err() {
        return Err(Error::invalid_document("its coordination has no version, or too many items"));
    }
    Ok(())
}
