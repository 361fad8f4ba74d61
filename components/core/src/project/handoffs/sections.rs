//! The access of handoffs and prompts to the outline, and the sections that they transfer.

use crate::{
    Error,
    handoffs::{Handoff, Party, PromptPart, PromptRequest, SECTIONS_MAX, prompt::Passage},
    item::{Item, Kind, ListedKind},
    kv::Bucket,
    outline::{Marker, Owner, Section, index},
    ownership::{LEASE_MS_DEFAULT, Lease, Ownership},
    project::{
        draft::Draft,
        open::OpenProject,
        outline::{Tenures, not_exclusive, not_owner},
    },
    text::{
        Score,
        relevance::{Candidate, relevance},
    },
    tokens::Tokens,
};

/// The share of the index in a prompt of 8,000 tokens, in percent.
const INDEX_PERCENT: u64 = 6;
/// The most sections that a task brings into focus.
const FOCUSED_MAX: usize = 8;

impl<B: Bucket> OpenProject<'_, B> {
    /// Returns the markers of the sections that `from` owns.
    pub(super) fn sections_of(&self, from: &Party) -> Result<Vec<String>, Error> {
        let held = self.tenures()?.held(self.now);
        let own = held.iter().filter(|it| from.is(&owner(&it.lease)));
        let markers: Vec<String> = own.map(|it| it.marker.to_string()).collect();
        if markers.len() > SECTIONS_MAX {
            return Err(Error::malformed(
                "it owns more than 64 sections in several sessions; name one as from_session_id, or \
                 the sections to take over",
            ));
        }
        Ok(markers)
    }

    /// Rejects a section that `from` does not own. A takeover may also transfer a section without
    /// an owner, and one that is shared or read-only.
    pub(super) fn check_transfers(&self, handoff: &Handoff) -> Result<(), Error> {
        let tenures = self.tenures()?;
        let caller = Owner::of(self.caller);
        for marker in &handoff.sections {
            let marker = self.section(&Marker::parse(marker)?)?.marker;
            let is_from = |it: &Lease| {
                (handoff.is_takeover || it.kind == Ownership::Exclusive)
                    && handoff.from.is(&owner(it))
            };
            match tenures.live(&marker, self.now) {
                Some(it) if !is_from(it) && it.owner == caller && !handoff.is_takeover => {
                    return Err(not_exclusive(&marker, it));
                }
                Some(it) if !is_from(it) => return Err(not_owner(&marker, it)),
                None if !handoff.is_takeover => {
                    return Err(Error::NotOwner { marker: marker.to_string(), owner: None });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes the receiver of a handoff the owner of its sections.
    pub(super) fn hand_over(
        &self,
        draft: &mut Draft<'_, B>,
        handoff: &Handoff,
    ) -> Result<(), Error> {
        let mut tenures = self.tenures()?;
        tenures.expire(draft)?;
        let reason = format!("Handoff {} from {}", handoff.id, handoff.from.participant);
        for marker in &handoff.sections {
            let section = self.section(&Marker::parse(marker)?)?;
            let to = Owner {
                participant: handoff.to.participant.clone(),
                session: handoff.to.session.clone(),
            };
            if handoff.is_takeover {
                // The former owner is notified with its next call.
                let (section, how) = ((&section, to), (LEASE_MS_DEFAULT, reason.as_str()));
                self.transfer_section(draft, &mut tenures, section, how)?;
            } else {
                let how = (Ownership::Exclusive, LEASE_MS_DEFAULT, reason.as_str());
                self.give(draft, &mut tenures, (&section.marker, to), how)?;
            }
        }
        tenures.write(draft)
    }

    /// Returns the executive summary of the project, and its writer.
    pub(super) fn project_summary(&self) -> Result<Option<(String, String)>, Error> {
        let sections = self.sections()?;
        let first = sections.first().filter(|it| it.marker.level() == 1);
        first.map(|it| Ok((self.content_of(it)?, it.changed_by.text()))).transpose()
    }

    /// Returns the texts of sections.
    pub(super) fn section_items(&self, sections: &[String]) -> Result<Vec<Item>, Error> {
        let mut items = Vec::new();
        for marker in sections {
            let section = self.section(&Marker::parse(marker)?)?;
            let text = self.content_of(&section)?;
            let kind = Kind::Listed(ListedKind::DocumentExcerpt);
            let mut item = Item::inline(format!("section {}", section.marker), kind, text);
            item.at = Some(section.changed_at);
            items.push(item);
        }
        Ok(items)
    }

    /// Returns the passages of a prompt that are sections.
    ///
    /// # Errors
    ///
    /// [`Error::SectionNotFound`] for a section in focus that is not there, or that the caller may not
    /// read.
    pub(super) fn section_passages(&self, request: &PromptRequest) -> Result<Vec<Passage>, Error> {
        let sections = self.sections()?;
        let tenures = self.tenures()?;
        let mut passages = Vec::new();
        for (place, it) in (0..).zip(sections.iter().filter(|it| it.marker.level() == 1)) {
            passages.push(self.passage(PromptPart::Project, it, place)?);
        }
        for (place, it) in (0..).zip(self.focused(request, &sections, &tenures)?) {
            passages.push(self.passage(PromptPart::Focus, it, place)?);
        }
        let tokens = u64::from(request.budget.0).saturating_mul(INDEX_PERCENT) / 100;
        let tokens = Tokens(u32::try_from(tokens).unwrap_or(u32::MAX));
        if !sections.is_empty() {
            let text = index::write(&sections, tokens).text;
            let id = "index";
            passages.push(Passage::section(PromptPart::Index, id, "the system", &text, 0));
        }
        Ok(passages)
    }

    fn content_of(&self, it: &Section) -> Result<String, Error> {
        if it.redacted.is_some() { Ok("[redacted]".to_owned()) } else { self.content(it) }
    }

    fn passage(&self, part: PromptPart, it: &Section, place: u64) -> Result<Passage, Error> {
        let (marker, by) = (it.marker.to_string(), it.changed_by.text());
        Ok(Passage::section(part, &marker, &by, &self.content_of(it)?, place))
    }

    /// Returns the sections in focus: those that are named, else the summaries that have something in
    /// common with the task, the most relevant first.
    fn focused<'s>(
        &self,
        request: &PromptRequest,
        sections: &'s [Section],
        tenures: &Tenures,
    ) -> Result<Vec<&'s Section>, Error> {
        let mut focused = Vec::new();
        for marker in &request.focus {
            let marker = Marker::parse(marker)?;
            let found = sections.iter().find(|it| it.marker == marker);
            let readable = found.filter(|it| self.may_read(it, tenures));
            let missing = || Error::SectionNotFound { marker: marker.to_string() };
            let section = readable.ok_or_else(missing)?;
            if !focused.iter().any(|it: &&Section| it.marker == marker) {
                focused.push(section);
            }
        }
        let Some(task) = request.task.as_deref().filter(|_| focused.is_empty()) else {
            return Ok(focused);
        };
        let summaries: Vec<&Section> =
            sections.iter().filter(|it| it.marker.level() == 2).collect();
        let mut texts = Vec::new();
        for it in &summaries {
            texts.push([it.title.as_str(), "\n", &self.content_of(it)?].concat());
        }
        let texts: Vec<Candidate<'_>> = texts.iter().map(|it| Candidate::alone(it)).collect();
        let scored = summaries.into_iter().zip(relevance(task, &texts));
        let scored = scored.filter(|it| it.1 > Score(0)).collect();
        let scored = crate::order::sorted(scored, |a: &(&Section, Score), b| b.1.cmp(&a.1));
        Ok(scored.into_iter().take(FOCUSED_MAX).map(|it| it.0).collect())
    }
}

fn owner(it: &Lease) -> Party {
    Party { participant: it.owner.participant.clone(), session: it.owner.session.clone() }
}
