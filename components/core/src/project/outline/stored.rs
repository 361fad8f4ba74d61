//! Stored sections and their owners.

use crate::{
    Error,
    audit::AuditAction,
    kv::{Bucket, Change, Revision},
    memories::DecisionId,
    outline::{
        Marker, Owner, Section, SectionVersion,
        check::DecisionState,
        rows::{self, decode_section, decode_version},
    },
    ownership::{
        Held, Lease,
        lease::Tenure,
        rows::{TENURES, decode_tenure, encode_tenure, marker_of, tenure_row},
    },
    project::{draft::Draft, open::OpenProject},
    time::Timestamp,
};

/// The ownership of a project's sections, and the sections whose ownership changed.
pub(in crate::project) struct Tenures {
    all: Vec<(Marker, Tenure)>,
    changed: Vec<Marker>,
}

impl<B: Bucket> OpenProject<'_, B> {
    /// Returns a section.
    ///
    /// # Errors
    ///
    /// [`Error::SectionNotFound`].
    pub(in crate::project) fn section(&self, marker: &Marker) -> Result<Section, Error> {
        let missing = || Error::SectionNotFound { marker: marker.to_string() };
        self.find_section(marker)?.ok_or_else(missing)
    }

    /// Returns a section, if it exists.
    pub(in crate::project) fn find_section(
        &self,
        marker: &Marker,
    ) -> Result<Option<Section>, Error> {
        let bytes = self.bucket.get(&rows::section_row(marker))?;
        bytes.map(|it| decode_section(&it)).transpose()
    }

    /// Returns all sections without their contents, by level: files in the order of their first
    /// versions, others by their numbers.
    pub(in crate::project) fn sections(&self) -> Result<Vec<Section>, Error> {
        let mut sections = Vec::new();
        for level in ["1", "2", "3", "4"] {
            let prefix = [rows::SECTIONS, level].concat();
            for (_, bytes) in self.bucket.scan(&prefix, None, u32::MAX)? {
                sections.push(decode_section(&bytes)?);
            }
        }
        Ok(crate::order::sorted(sections, |a, b| {
            let file = |it: &Section| {
                let level = it.marker.level();
                (level, if level == 4 { it.created } else { Revision(0) })
            };
            file(a).cmp(&file(b)).then_with(|| a.marker.cmp(&b.marker))
        }))
    }

    /// Returns a version of a section.
    pub(in crate::project) fn section_version(
        &self,
        marker: &Marker,
        version: u32,
    ) -> Result<SectionVersion, Error> {
        let bytes = self.bucket.get(&rows::version_row(marker, version))?;
        let missing =
            || Error::SectionNotFound { marker: format!("{marker} in version {version}") };
        decode_version(&bytes.ok_or_else(missing)?)
    }

    /// Returns the content of a section.
    pub(in crate::project) fn content(&self, it: &Section) -> Result<String, Error> {
        self.section_version(&it.marker, it.version).map(|it| it.content)
    }

    /// Returns the ownership of the sections.
    pub(in crate::project) fn tenures(&self) -> Result<Tenures, Error> {
        let mut all = Vec::new();
        for (row, bytes) in self.bucket.scan(TENURES, None, u32::MAX)? {
            all.push((marker_of(&row)?, decode_tenure(&bytes)?));
        }
        Ok(Tenures { all, changed: Vec::new() })
    }

    /// Returns the decisions of the project, and which of them hold.
    pub(super) fn decision_states(&self) -> Result<Vec<(DecisionId, DecisionState)>, Error> {
        let mut decisions = Vec::new();
        self.each_signature(|it| {
            let head = &it.head;
            if head.kind == crate::memories::Kind::Decision && !head.is_expired(self.now) {
                let id =
                    DecisionId { day: DecisionId::day_of(head.created_at), ordinal: head.ordinal };
                let is_archived = head.archived_at.is_some();
                let state =
                    if is_archived { DecisionState::Archived } else { DecisionState::Current };
                decisions.push((id, state));
            }
        })?;
        Ok(decisions)
    }
}

impl Tenures {
    /// Returns the lease of a section if it holds at `now`.
    pub(in crate::project) fn live(&self, marker: &Marker, now: Timestamp) -> Option<&Lease> {
        self.all.iter().find(|it| it.0 == *marker)?.1.live(now)
    }

    /// Returns the leases that hold at `now`, by section.
    pub(in crate::project) fn held(&self, now: Timestamp) -> Vec<Held> {
        let live = self.all.iter().filter_map(|(marker, it)| {
            Some(Held { marker: marker.clone(), lease: it.live(now)?.clone() })
        });
        crate::order::sorted(live.collect(), |a, b| a.marker.cmp(&b.marker))
    }

    /// Returns the number of leases of an owner that hold at `now`.
    pub(super) fn count(&self, owner: &Owner, now: Timestamp) -> usize {
        let is_own = |it: &&(Marker, Tenure)| it.1.live(now).is_some_and(|it| it.owner == *owner);
        self.all.iter().filter(is_own).count()
    }

    /// Ends the leases whose time is over, each with an event.
    pub(in crate::project) fn expire<B: Bucket>(
        &mut self,
        draft: &mut Draft<'_, B>,
    ) -> Result<(), Error> {
        let now = draft.open.now;
        for (marker, tenure) in &mut self.all {
            if let Some(ended) = tenure.expire(now) {
                draft.section_event(AuditAction::ExpireLease, marker, &ended.owner.text())?;
                self.changed.push(marker.clone());
            }
        }
        Ok(())
    }

    /// Forgets that an owner lost sections. Returns those sections.
    pub(super) fn take_lost(&mut self, owner: &Owner) -> Vec<Marker> {
        let mut lost = Vec::new();
        for (marker, tenure) in &mut self.all {
            let before = tenure.lost.len();
            tenure.lost.retain(|it| it.owner != *owner);
            if tenure.lost.len() < before {
                lost.push(marker.clone());
                self.changed.push(marker.clone());
            }
        }
        lost
    }

    /// Changes the ownership of a section.
    pub(in crate::project) fn change(&mut self, marker: &Marker, change: impl FnOnce(&mut Tenure)) {
        let place = self.all.iter().position(|it| it.0 == *marker);
        let place = place.unwrap_or_else(|| {
            self.all.push((marker.clone(), Tenure::default()));
            self.all.len().saturating_sub(1)
        });
        if let Some((_, it)) = self.all.get_mut(place) {
            change(it);
        }
        self.changed.push(marker.clone());
    }

    /// Returns the reason of the stored lease of a section, live or not.
    pub(super) fn reason(&self, marker: &Marker) -> Option<&str> {
        let tenure = self.all.iter().find(|it| it.0 == *marker)?;
        tenure.1.lease.as_ref().map(|it| it.reason.as_str())
    }

    /// Removes the reason of the stored lease of a section.
    pub(super) fn forget_reason(&mut self, marker: &Marker) {
        if self.reason(marker).is_some_and(|it| !it.is_empty()) {
            self.change(marker, |it| it.lease.iter_mut().for_each(|it| it.reason.clear()));
        }
    }

    /// Adds the changed rows to a draft.
    pub(in crate::project) fn write<B: Bucket>(
        &mut self,
        draft: &mut Draft<'_, B>,
    ) -> Result<(), Error> {
        for (marker, tenure) in &self.all {
            if !self.changed.contains(marker) {
                continue;
            }
            let row = tenure_row(marker);
            let is_empty = tenure.lease.is_none() && tenure.lost.is_empty();
            draft.push(if is_empty && tenure.last.is_none() {
                Change::Delete(row)
            } else {
                Change::put(row, encode_tenure(tenure)?)
            });
        }
        self.changed.clear();
        Ok(())
    }
}
