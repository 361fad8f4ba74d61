//! Writing, removing and redacting sections (spec 20.2).

use super::Tenures;
use crate::{
    Error,
    audit::AuditAction,
    digest::sha256,
    handoffs::Handoff,
    key::Line,
    kv::{Bucket, Change, Revision},
    outline::{
        Check, Finding, Marker, NewSection, Owner, RedactedSection, SECTIONS_MAX, Section,
        SectionVersion, VERSIONS_KEPT, check, links, propagation,
        rows::{self, decode_version, encode_section, encode_version},
    },
    ownership::{LEASE_MS_DEFAULT, Ownership, PutSection, Reply, SectionWritten},
    project::{draft::Draft, open::OpenProject},
    store::{redaction::check_reason, warning::sensitive_kind},
    tokens::approximate,
};

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn put_section(
        &self,
        draft: &mut Draft<'_, B>,
        tenures: &mut Tenures,
        put: &PutSection,
    ) -> Result<Reply, Error> {
        let new = &put.section;
        let marker = &new.marker;
        let sections = self.sections()?;
        let before = sections.iter().find(|it| it.marker == *marker);
        if let Some(parent) = marker.parent().filter(|_| before.is_none())
            && !sections.iter().any(|it| it.marker == parent)
        {
            let (marker, parent) = (marker.to_string(), parent.to_string());
            return Err(Error::ParentNotFound { marker, parent });
        }
        if let Some(before) = before {
            self.check_reader(tenures, before)?;
        }
        let is_unowned = self.check_writer(tenures, marker)?;
        check_version(marker, before, put.if_version)?;
        if before.is_none() && sections.len() >= SECTIONS_MAX {
            return Err(Error::OutlineLimit {
                message: "the project has 500 sections, which is the most; delete or join some",
            });
        }
        let newest = sections.iter().map(|it| it.created).max().unwrap_or_default();
        let (section, content) = self.next_version(new, before, newest)?;
        if is_unowned {
            self.give(
                draft,
                tenures,
                (marker, Owner::of(self.caller)),
                (Ownership::Exclusive, LEASE_MS_DEFAULT, ""),
            )?;
        }
        let markers: Vec<&Marker> = sections.iter().map(|it| &it.marker).chain([marker]).collect();
        let mut warnings = check::section(&section, &content, &markers, &self.decision_states()?);
        if let Some(what) = sensitive_kind(&content) {
            let message = ["it looks as if it held ", what, "; store a reference instead"];
            warnings.push(Finding::new(Check::LooksSensitive, marker, &message));
        }
        let found = if marker.level() < 4 { links::of(&content) } else { Vec::new() };
        let advice = propagation::after(put.change, before, &section, &found, &sections);
        self.write_section(draft, before, &section, &content)?;
        draft.section_event(AuditAction::PutSection, marker, "")?;
        Ok(Reply::Written(Box::new(SectionWritten {
            marker: marker.clone(),
            version: section.version,
            tokens: section.tokens,
            lease: tenures.live(marker, self.now).cloned(),
            warnings,
            advice,
        })))
    }

    /// Returns the next version of a section, and its content. The first version of the newest section is
    /// of `newest`, which is a revision of another project if it was imported.
    fn next_version(
        &self,
        new: &NewSection,
        before: Option<&Section>,
        newest: Revision,
    ) -> Result<(Section, String), Error> {
        let marker = &new.marker;
        let pruned = new.prunes().filter(|_| before.is_some());
        let kept = || before.map_or_else(|| Ok(String::new()), |it| self.content(it));
        let content = match &new.content {
            Some(it) if pruned.is_none() => it.clone(),
            _ => kept()?,
        };
        let text =
            |new: Option<&String>, old: Option<&String>| new.or(old).cloned().unwrap_or_default();
        let title = text(new.title.as_ref(), before.map(|it| &it.title));
        let file = new.file.clone().or_else(|| before.and_then(|it| it.file.clone()));
        if title.is_empty() {
            return Err(Error::malformed("a new section needs a title"));
        }
        if content.is_empty() && file.is_none() && marker.folder().is_none() && before.is_none() {
            return Err(Error::malformed(
                "a new section needs content, or a file that it refers to at level 4",
            ));
        }
        let is_kept = new.content.is_none() || pruned.is_some();
        let section = Section {
            marker: marker.clone(),
            title,
            summary: text(new.summary.as_ref(), before.map(|it| &it.summary)),
            status: text(new.status.as_ref(), before.map(|it| &it.status)),
            progress: new.progress.or_else(|| before.and_then(|it| it.progress)),
            shortcuts: new
                .shortcuts
                .clone()
                .or_else(|| before.map(|it| it.shortcuts.clone()))
                .unwrap_or_default(),
            file,
            readers: new
                .readers
                .clone()
                .or_else(|| before.map(|it| it.readers.clone()))
                .unwrap_or_default(),
            pruned: pruned.or_else(|| before?.pruned.clone().filter(|_| is_kept)),
            created: before
                .map_or_else(|| self.bucket.revision().max(newest).next(), |it| it.created),
            version: before.map_or(1, |it| it.version.saturating_add(1)),
            changed_at: self.at,
            changed_by: Owner::of(self.caller),
            tokens: approximate(&content),
            redacted: before.and_then(|it| it.redacted.clone()).filter(|_| is_kept),
        };
        Ok((section, content))
    }

    /// Adds a section with its version to a draft, and removes the version that is too old.
    fn write_section(
        &self,
        draft: &mut Draft<'_, B>,
        before: Option<&Section>,
        section: &Section,
        content: &str,
    ) -> Result<(), Error> {
        let marker = &section.marker;
        let version = SectionVersion {
            content: content.to_owned(),
            at: section.changed_at,
            by: section.changed_by.clone(),
        };
        let old = before.map(encode_section).transpose()?.map_or(0, |it| it.len());
        draft.put_sized(rows::section_row(marker), old, encode_section(section)?);
        let row = rows::version_row(marker, section.version);
        draft.put_sized(row, 0, encode_version(&version)?);
        if let Some(ago) = section.version.checked_sub(VERSIONS_KEPT) {
            self.remove_row(draft, rows::version_row(marker, ago))?;
        }
        Ok(())
    }

    /// Removes a row that counts for the size of the project.
    pub(in crate::project) fn remove_row(
        &self,
        draft: &mut Draft<'_, B>,
        row: String,
    ) -> Result<(), Error> {
        if let Some(bytes) = self.bucket.get(&row)? {
            draft.resize(bytes.len(), 0);
            draft.push(Change::Delete(row));
        }
        Ok(())
    }

    pub(super) fn delete_section(
        &self,
        draft: &mut Draft<'_, B>,
        tenures: &mut Tenures,
        marker: &Marker,
        if_version: Option<u32>,
    ) -> Result<Reply, Error> {
        let section = self.section(marker)?;
        self.check_reader(tenures, &section)?;
        self.check_writer(tenures, marker)?;
        check_version(marker, Some(&section), if_version)?;
        self.remove_row(draft, rows::section_row(marker))?;
        for (row, _) in self.bucket.scan(&rows::versions_of(marker), None, u32::MAX)? {
            self.remove_row(draft, row)?;
        }
        tenures.change(marker, |it| {
            it.lease = None;
            it.last = None;
        });
        draft.section_event(AuditAction::DeleteSection, marker, "")?;
        Ok(Reply::Deleted { marker: marker.clone(), version: section.version })
    }

    pub(super) fn redact_section(
        &self,
        draft: &mut Draft<'_, B>,
        tenures: &mut Tenures,
        (marker, reason): (&Marker, &Line),
    ) -> Result<Reply, Error> {
        // A later page of an import may have a package with it.
        self.check_imported()?;
        // Every package begins with the summary of the project.
        let is_it = |it: &String| Marker::parse(it).is_ok_and(|it| it == *marker);
        let has_it = |it: &Handoff| marker.level() == 1 || it.sections.iter().any(is_it);
        let Some(before) = self.find_section(marker)? else {
            // Of a section that was deleted, packages still have the content.
            if !self.redact_packages(draft, has_it, reason)? {
                return Err(Error::SectionNotFound { marker: marker.to_string() });
            }
            draft.section_event(AuditAction::RedactSection, marker, reason.as_str())?;
            return Ok(Reply::Redacted { marker: marker.clone(), digests: Vec::new() });
        };
        for text in texts(&before).chain(tenures.reason(marker)) {
            check_reason(reason, text)?;
        }
        let mut digests: Vec<String> = Vec::new();
        let mut last = String::new();
        for (row, bytes) in self.bucket.scan(&rows::versions_of(marker), None, u32::MAX)? {
            let version = decode_version(&bytes)?;
            check_reason(reason, &version.content)?;
            if !version.content.is_empty() {
                let digest = sha256(&version.content);
                if rows::version_of(&row)? == before.version {
                    last.clone_from(&digest);
                }
                if !digests.contains(&digest) {
                    digests.push(digest);
                }
            }
            let version = SectionVersion { content: String::new(), ..version };
            draft.put_sized(row, bytes.len(), encode_version(&version)?);
        }
        let redacted = RedactedSection { digest: last, reason: reason.as_str().to_owned() };
        let section = Section {
            title: REDACTED.to_owned(),
            summary: String::new(),
            status: String::new(),
            shortcuts: Vec::new(),
            file: None,
            pruned: None,
            redacted: before.redacted.clone().or(Some(redacted)),
            tokens: approximate(""),
            ..before.clone()
        };
        let old = encode_section(&before)?.len();
        draft.put_sized(rows::section_row(marker), old, encode_section(&section)?);
        tenures.forget_reason(marker);
        draft.forget_reasons(marker)?;
        draft.section_event(AuditAction::RedactSection, marker, reason.as_str())?;
        self.redact_packages(draft, has_it, reason)?;
        Ok(Reply::Redacted { marker: marker.clone(), digests })
    }
}

/// Returns the texts that a section has besides its content.
fn texts(it: &Section) -> impl Iterator<Item = &str> {
    let own = [&it.title, &it.summary, &it.status].map(String::as_str);
    let file = it.file.iter().flat_map(|it| [it.path.as_str(), it.purpose.as_str()]);
    let shortcuts = it
        .shortcuts
        .iter()
        .flat_map(|it| [it.need.as_str(), it.label.as_ref().map_or("", |it| it.as_str())]);
    own.into_iter().chain(file).chain(shortcuts).chain(it.pruned.as_deref())
}

/// The text in place of the title of a redacted section.
const REDACTED: &str = "[redacted]";

fn check_version(
    marker: &Marker,
    current: Option<&Section>,
    if_version: Option<u32>,
) -> Result<(), Error> {
    let current_version = current.map_or(0, |it| it.version);
    if if_version.is_none_or(|it| it == current_version) {
        return Ok(());
    }
    Err(Error::SectionConflict { marker: marker.to_string(), current_version })
}
