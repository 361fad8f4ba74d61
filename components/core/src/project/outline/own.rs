//! Acquiring, renewing, releasing and handing over sections; the coordination state (spec 20.6, 20.7).

use super::Tenures;
use crate::{
    Error,
    audit::AuditAction,
    decision::Decision,
    kv::{Bucket, Change},
    outline::{Marker, Owner, Section},
    ownership::{
        Acquire, CoordinationChange, Held, LEASES_MAX, Lease, Ownership, Reply, Transfer,
        rows::{COORDINATION, encode_state},
    },
    participant::Role,
    project::{draft::Draft, open::OpenProject},
    time::Timestamp,
};

impl<B: Bucket> OpenProject<'_, B> {
    /// Rejects a write of a section that is not the caller's. Returns true if the section has no owner,
    /// so that the caller becomes it.
    pub(super) fn check_writer(&self, tenures: &Tenures, marker: &Marker) -> Result<bool, Error> {
        let caller = Owner::of(self.caller);
        match tenures.live(marker, self.now) {
            Some(it) if it.kind == Ownership::SharedWrite => Ok(false),
            Some(it) if it.kind == Ownership::Exclusive && it.owner == caller => Ok(false),
            Some(it) if it.owner == caller => Err(not_exclusive(marker, it)),
            Some(it) => Err(not_owner(marker, it)),
            None if marker.level() > 2 => Ok(true),
            None if self.caller.participant.role() == Role::Orchestrator => Ok(false),
            None => Err(Error::Forbidden {
                message: "the orchestrator writes levels 1 and 2; acquire the section first to write \
                          it yourself",
            }),
        }
    }

    /// Rejects an agent that may not read a section with readers: else it could own or write the section,
    /// and read it then.
    pub(super) fn check_reader(&self, tenures: &Tenures, section: &Section) -> Result<(), Error> {
        if section.readers.is_empty() || self.may_read(section, tenures) {
            return Ok(());
        }
        Err(Error::Forbidden {
            message: "the section has readers, and you are none of them; ask its owner or the \
                      orchestrator to add you to readers, or to transfer the section to you",
        })
    }

    /// Makes `owner` the owner of a section that has no other owner, or that is taken from its
    /// owner.
    pub(in crate::project) fn give(
        &self,
        draft: &mut Draft<'_, B>,
        tenures: &mut Tenures,
        (marker, owner): (&Marker, Owner),
        (kind, ttl_ms, reason): (Ownership, u64, &str),
    ) -> Result<Lease, Error> {
        let own = tenures.live(marker, self.now).filter(|it| it.owner == owner).cloned();
        if own.is_none() && tenures.count(&owner, self.now) >= LEASES_MAX {
            let message = if owner == Owner::of(self.caller) {
                "you own 64 sections, which is the most; release those that are done"
            } else {
                "the receiver owns 64 sections, which is the most; let it release those that are \
                 done, or name another one"
            };
            return Err(Error::OutlineLimit { message });
        }
        let mut lease = Lease {
            owner: owner.clone(),
            kind,
            acquired_at: own.as_ref().map_or(self.at, |it| it.acquired_at),
            expires_at: Timestamp(self.now.0.saturating_add(ttl_ms)),
            previous: own.as_ref().and_then(|it| it.previous.clone()),
            reason: reason.to_owned(),
        };
        tenures.change(marker, |it| {
            if own.is_none() {
                let before = it.lease.take().map(|it| it.owner);
                lease.previous = before.or_else(|| it.last.take()).filter(|it| *it != owner);
            }
            it.lost.retain(|it| it.owner != owner);
            it.lease = Some(lease.clone());
        });
        let action =
            if own.is_some() { AuditAction::RenewLease } else { AuditAction::AcquireSection };
        draft.section_event(action, marker, &owner.text())?;
        Ok(lease)
    }

    pub(super) fn acquire(
        &self,
        draft: &mut Draft<'_, B>,
        tenures: &mut Tenures,
        it: &Acquire,
    ) -> Result<Reply, Error> {
        let section = self.section(&it.marker)?;
        self.check_reader(tenures, &section)?;
        let caller = Owner::of(self.caller);
        if let Some(lease) = tenures.live(&it.marker, self.now)
            && lease.owner != caller
        {
            return Err(not_owner(&it.marker, lease));
        }
        let reason = it.reason.as_ref().map_or("", |it| it.as_str());
        let lease =
            self.give(draft, tenures, (&section.marker, caller), (it.kind, it.ttl_ms, reason))?;
        Ok(held(section.marker, lease))
    }

    pub(super) fn renew(
        &self,
        draft: &mut Draft<'_, B>,
        tenures: &mut Tenures,
        marker: &Marker,
        ttl_ms: u64,
    ) -> Result<Reply, Error> {
        let own = self.own(tenures, marker)?;
        let lease =
            self.give(draft, tenures, (marker, own.owner), (own.kind, ttl_ms, &own.reason))?;
        Ok(held(marker.clone(), lease))
    }

    pub(super) fn release(
        &self,
        draft: &mut Draft<'_, B>,
        tenures: &mut Tenures,
        marker: &Marker,
    ) -> Result<Reply, Error> {
        let own = self.own(tenures, marker)?;
        draft.section_event(AuditAction::ReleaseSection, marker, &own.owner.text())?;
        tenures.change(marker, |it| {
            it.lease = None;
            it.last = Some(own.owner);
        });
        Ok(Reply::Released(marker.clone()))
    }

    pub(super) fn transfer(
        &self,
        draft: &mut Draft<'_, B>,
        tenures: &mut Tenures,
        it: &Transfer,
    ) -> Result<Reply, Error> {
        let section = self.section(&it.marker)?;
        let reason = it.reason.as_ref().map_or("", |it| it.as_str());
        // An owner is a participant of one session.
        let session = it.to.session.clone().or_else(|| self.caller.session.clone());
        let to = Owner { session, ..it.to.clone() };
        let lease = self.transfer_section(draft, tenures, (&section, to), (it.ttl_ms, reason))?;
        Ok(held(section.marker, lease))
    }

    /// Hands a section over, within a draft. Its owner may do so, and an orchestrator in place of
    /// any owner, who is notified then.
    ///
    /// # Errors
    ///
    /// [`Error::NotOwner`], [`Error::Malformed`] for a receiver that writes nothing,
    /// [`Error::OutlineLimit`].
    pub(in crate::project) fn transfer_section(
        &self,
        draft: &mut Draft<'_, B>,
        tenures: &mut Tenures,
        (section, to): (&Section, Owner),
        (ttl_ms, reason): (u64, &str),
    ) -> Result<Lease, Error> {
        let marker = &section.marker;
        let caller = Owner::of(self.caller);
        let is_orchestrator = self.caller.participant.role() == Role::Orchestrator;
        let lease = tenures.live(marker, self.now).cloned();
        match &lease {
            Some(it) if it.owner != caller && !is_orchestrator => {
                return Err(not_owner(marker, it));
            }
            None if !is_orchestrator => return Err(unowned(marker)),
            _ => {}
        }
        if to.participant.role() == Role::Admin {
            return Err(Error::malformed(
                "the operator owns no sections; name the orchestrator or a subagent as to",
            ));
        }
        let kind = lease.as_ref().map_or(Ownership::Exclusive, |it| it.kind);
        let given = self.give(draft, tenures, (marker, to), (kind, ttl_ms, reason))?;
        if let Some(before) = lease.filter(|it| it.owner != caller && it.owner != given.owner) {
            tenures.change(marker, |it| it.lose(before.owner, self.now));
        }
        Ok(given)
    }

    /// Returns the caller's lease of a section.
    fn own(&self, tenures: &Tenures, marker: &Marker) -> Result<Lease, Error> {
        self.section(marker)?;
        match tenures.live(marker, self.now) {
            Some(it) if it.owner == Owner::of(self.caller) => Ok(it.clone()),
            Some(it) => Err(not_owner(marker, it)),
            None => Err(unowned(marker)),
        }
    }

    pub(in crate::project) fn coordination(&self) -> Result<Decision, Error> {
        let reply = self.coordinated(self.coordination_state()?, &self.tenures()?);
        Ok(self.answer(crate::reply::Reply::Outline(reply)))
    }

    fn coordinated(&self, state: crate::ownership::CoordinationState, tenures: &Tenures) -> Reply {
        Reply::Coordination { state: Box::new(state), leases: tenures.held(self.now), at: self.at }
    }

    pub(super) fn coordinate(
        &self,
        draft: &mut Draft<'_, B>,
        tenures: &Tenures,
        change: &CoordinationChange,
    ) -> Result<Reply, Error> {
        let is_agent = self.caller.participant.role() == Role::Agent;
        if is_agent && change.assignments.is_some() {
            return Err(Error::Forbidden {
                message: "the orchestrator assigns tasks; report to it what you take on",
            });
        }
        let mut state = self.coordination_state()?;
        if state.version != change.if_version {
            return Err(Error::CoordinationConflict { current_version: state.version });
        }
        state.version = state.version.saturating_add(1);
        state.changed_at = self.at;
        if let Some(it) = &change.assignments {
            state.assignments.clone_from(it);
        }
        if let Some(it) = &change.blockers {
            state.blockers.clone_from(it);
        }
        if let Some(it) = &change.resources {
            state.resources.clone_from(it);
        }
        draft.event(AuditAction::Coordinate, None, None);
        draft.push(Change::put(COORDINATION, encode_state(&state)?));
        Ok(self.coordinated(state, tenures))
    }
}

fn held(marker: Marker, lease: Lease) -> Reply {
    Reply::Leased(Box::new(Held { marker, lease }))
}

/// Creates the error for a section that another participant owns, or that is read-only.
pub(in crate::project) fn not_owner(marker: &Marker, lease: &Lease) -> Error {
    Error::NotOwner {
        marker: marker.to_string(),
        owner: Some((
            lease.owner.text(),
            lease.kind.as_str(),
            lease.reason.clone(),
            lease.expires_at,
        )),
    }
}

/// Creates the error for a section that the caller owns, and not exclusively.
pub(in crate::project) fn not_exclusive(marker: &Marker, lease: &Lease) -> Error {
    Error::NotExclusive { marker: marker.to_string(), kind: lease.kind.as_str() }
}

/// Creates the error for a section without an owner.
fn unowned(marker: &Marker) -> Error {
    Error::NotOwner { marker: marker.to_string(), owner: None }
}
