//! Commands on the outline and its ownership (spec 20).
//!
//! `carry` exports and imports, `stored` reads rows, `write` changes sections, `find` reads them,
//! `own` changes their owners.

mod carry;
mod find;
mod own;
mod stored;
mod write;

use super::{draft::Draft, open::OpenProject, require_orchestrator};
use crate::{
    Error,
    decision::Decision,
    kv::Bucket,
    outline::{Marker, Owner},
    ownership::{Command, rows::COORDINATION, rows::decode_state},
    participant::Role,
};
pub(super) use carry::{check_coordination, check_section};
pub(super) use own::{not_exclusive, not_owner};
pub(super) use stored::Tenures;

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn outline(&self, command: &Command) -> Result<Decision, Error> {
        match command {
            Command::Read(it) => return self.read_sections(it),
            Command::Index { budget } => return self.read_index(*budget),
            Command::Check => return self.check_outline(),
            Command::Coordination => return self.coordination(),
            _ => {}
        }
        if matches!(command, Command::Redact { .. }) {
            require_orchestrator(
                self.caller,
                "only an orchestrator redacts sections; report to it what must go",
            )?;
        } else {
            self.check_active()?;
            self.require_writer()?;
        }
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        let mut tenures = self.tenures()?;
        let mut draft = Draft::new(self);
        tenures.expire(&mut draft)?;
        // A redaction waits for nothing: what its caller lost is reported with the next change.
        if !matches!(command, Command::Redact { .. }) {
            let lost = tenures.take_lost(&Owner::of(self.caller));
            if !lost.is_empty() {
                tenures.write(&mut draft)?;
                return draft.reject(self.lease_expired(&lost, &tenures));
            }
        }
        let reply = match command {
            Command::Put(it) => self.put_section(&mut draft, &mut tenures, it)?,
            Command::Delete { marker, if_version } => {
                self.delete_section(&mut draft, &mut tenures, marker, *if_version)?
            }
            Command::Acquire(it) => self.acquire(&mut draft, &mut tenures, it)?,
            Command::Renew { marker, ttl_ms } => {
                self.renew(&mut draft, &mut tenures, marker, *ttl_ms)?
            }
            Command::Release(marker) => self.release(&mut draft, &mut tenures, marker)?,
            Command::Transfer(it) => self.transfer(&mut draft, &mut tenures, it)?,
            Command::Coordinate(it) => self.coordinate(&mut draft, &tenures, it)?,
            Command::Redact { marker, reason } => {
                self.redact_section(&mut draft, &mut tenures, (marker, reason))?
            }
            Command::Read(_) | Command::Index { .. } | Command::Check | Command::Coordination => {
                return Err(Error::Overtaken);
            }
        };
        tenures.write(&mut draft)?;
        draft.check_limits()?;
        draft.commit(crate::reply::Reply::Outline(reply))
    }

    /// Rejects the operator, which owns no section.
    fn require_writer(&self) -> Result<(), Error> {
        if self.caller.participant.role() == Role::Admin {
            return Err(Error::Forbidden {
                message: "only agents and orchestrators write the outline; call as a participant of \
                          one of the project's sessions",
            });
        }
        Ok(())
    }

    /// Creates the error for a caller that lost sections.
    fn lease_expired(&self, lost: &[Marker], tenures: &Tenures) -> Error {
        let describe = |it: &Marker| {
            let owner = tenures.live(it, self.now).map(|it| it.owner.text());
            let owner = owner.map(|it| [", now of ", &it].concat()).unwrap_or_default();
            [it.to_string(), owner].concat()
        };
        let sections: Vec<String> = lost.iter().map(describe).collect();
        Error::LeaseExpired { sections: sections.join("; ") }
    }

    /// Returns the coordination state.
    pub(super) fn coordination_state(&self) -> Result<crate::ownership::CoordinationState, Error> {
        let bytes = self.bucket.get(COORDINATION)?;
        bytes.map_or_else(|| Ok(<_>::default()), |it| decode_state(&it))
    }
}
