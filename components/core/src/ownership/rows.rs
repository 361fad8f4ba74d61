//! The rows of ownership: `w/<marker>` for a section, `coordination` for the team's state.

use serde::{Deserialize, Serialize};

use super::{
    commands::{Held, Reply, SectionWritten},
    lease::{Lease, LeaseEnd, Ownership, Tenure},
    state::{Assignment, CoordinationState, Resource},
};
use crate::{
    Error,
    key::Line,
    outline::{
        Advice, Check, Finding, Marker,
        rows::{OwnerRecord, owner_record, stored_owner},
    },
    row::{damaged, decode, encode, stored_line, stored_participant},
    time::Timestamp,
    tokens::Tokens,
};

/// The start of the rows of ownership.
pub(crate) const TENURES: &str = "w/";
/// The row of the coordination state.
pub(crate) const COORDINATION: &str = "coordination";

/// Owner, kind, acquired, expires, previous owner, reason.
pub(crate) type LeaseRecord = (OwnerRecord, String, u64, u64, Option<OwnerRecord>, String);
type TenureRecord = (Option<LeaseRecord>, Vec<(OwnerRecord, u64)>, Option<OwnerRecord>);
type StateRecord = (u64, u64, Vec<(String, Vec<String>)>, Vec<String>, Vec<(String, String)>);

/// Returns the name of the row of a section's ownership.
pub(crate) fn tenure_row(marker: &Marker) -> String {
    [TENURES, marker.as_str()].concat()
}

/// Returns the section of a row.
pub(crate) fn marker_of(row: &str) -> Result<Marker, Error> {
    Marker::parse(row.strip_prefix(TENURES).unwrap_or(row)).map_err(damaged)
}

/// Encodes the ownership of a section.
pub(crate) fn encode_tenure(it: &Tenure) -> Result<Vec<u8>, Error> {
    let lease = it.lease.as_ref().map(lease_record);
    let lost = it.lost.iter().map(|it| (owner_record(&it.owner), it.at.0)).collect();
    let record: TenureRecord = (lease, lost, it.last.as_ref().map(owner_record));
    encode(&record)
}

/// Decodes the ownership of a section.
pub(crate) fn decode_tenure(bytes: &[u8]) -> Result<Tenure, Error> {
    let (lease, lost, last): TenureRecord = decode(bytes)?;
    let lost = lost.iter().map(|(owner, at)| {
        Ok::<_, Error>(LeaseEnd { owner: stored_owner(owner)?, at: Timestamp(*at) })
    });
    Ok(Tenure {
        lost: lost.collect::<Result<_, _>>()?,
        lease: lease.map(stored_lease).transpose()?,
        last: last.as_ref().map(stored_owner).transpose()?,
    })
}

/// Returns a lease in its stored form.
pub(crate) fn lease_record(it: &Lease) -> LeaseRecord {
    (
        owner_record(&it.owner),
        it.kind.as_str().to_owned(),
        it.acquired_at.0,
        it.expires_at.0,
        it.previous.as_ref().map(owner_record),
        it.reason.clone(),
    )
}

/// Returns a stored lease.
pub(crate) fn stored_lease(it: LeaseRecord) -> Result<Lease, Error> {
    let (owner, kind, acquired_at, expires_at, previous, reason) = it;
    Ok(Lease {
        owner: stored_owner(&owner)?,
        kind: Ownership::parse(&kind).map_err(damaged)?,
        acquired_at: Timestamp(acquired_at),
        expires_at: Timestamp(expires_at),
        previous: previous.as_ref().map(stored_owner).transpose()?,
        reason,
    })
}

/// Encodes the coordination state.
pub(crate) fn encode_state(it: &CoordinationState) -> Result<Vec<u8>, Error> {
    let texts = |all: &[Line]| all.iter().map(|it| it.as_str().to_owned()).collect();
    let assignment =
        |it: &Assignment| (it.participant.as_str().to_owned(), texts(it.tasks.as_slice()));
    let resource = |it: &Resource| (it.name.as_str().to_owned(), it.value.as_str().to_owned());
    let record: StateRecord = (
        it.version,
        it.changed_at.0,
        it.assignments.iter().map(assignment).collect(),
        texts(&it.blockers),
        it.resources.iter().map(resource).collect(),
    );
    encode(&record)
}

/// Decodes the coordination state.
pub(crate) fn decode_state(bytes: &[u8]) -> Result<CoordinationState, Error> {
    let (version, changed_at, assignments, blockers, resources): StateRecord = decode(bytes)?;
    let lines = |all: &[String]| -> Result<Vec<Line>, Error> {
        all.iter().map(|it| stored_line(it)).collect()
    };
    let mut state = CoordinationState {
        version,
        changed_at: Timestamp(changed_at),
        blockers: lines(&blockers)?,
        ..CoordinationState::default()
    };
    for (participant, tasks) in assignments {
        let participant = stored_participant(&participant)?;
        state.assignments.push(Assignment { participant, tasks: lines(&tasks)? });
    }
    for (name, value) in resources {
        state.resources.push(Resource { name: stored_line(&name)?, value: stored_line(&value)? });
    }
    Ok(state)
}

/// A reply in its stored form.
#[derive(Serialize, Deserialize)]
pub(crate) enum OutlineRecord {
    Written(WrittenRecord),
    Leased(String, LeaseRecord),
    Released(String),
    Deleted(String, u32),
    Redacted(String, Vec<String>),
}

impl OutlineRecord {
    /// Removes the reason of a lease of the section `marker`. Returns true if there was one.
    pub(crate) fn forget_reason(&mut self, marker: &Marker) -> bool {
        let (of, lease) = match self {
            Self::Written((of, _, _, lease, _, _)) => (of, lease.as_mut()),
            Self::Leased(of, lease) => (of, Some(lease)),
            Self::Released(_) | Self::Deleted(..) | Self::Redacted(..) => return false,
        };
        let lease = lease.filter(|_| of.as_str() == marker.as_str());
        lease.is_some_and(|it| !std::mem::take(&mut it.5).is_empty())
    }
}

/// Marker, version, tokens, lease, warnings, advice.
type WrittenRecord =
    (String, u32, u32, Option<LeaseRecord>, Vec<(String, String, String)>, Vec<(String, String)>);

/// Returns a reply in its stored form.
pub(crate) fn outline_record(reply: &Reply) -> Result<OutlineRecord, Error> {
    let text = |it: &Marker| it.as_str().to_owned();
    Ok(match reply {
        Reply::Written(it) => {
            let warning =
                |it: &Finding| (it.code.as_str().to_owned(), text(&it.marker), it.message.clone());
            let advice = |it: &Advice| (text(&it.marker), it.when.clone());
            OutlineRecord::Written((
                text(&it.marker),
                it.version,
                it.tokens.0,
                it.lease.as_ref().map(lease_record),
                it.warnings.iter().map(warning).collect(),
                it.advice.iter().map(advice).collect(),
            ))
        }
        Reply::Leased(it) => OutlineRecord::Leased(text(&it.marker), lease_record(&it.lease)),
        Reply::Released(marker) => OutlineRecord::Released(text(marker)),
        Reply::Deleted { marker, version } => OutlineRecord::Deleted(text(marker), *version),
        Reply::Redacted { marker, digests } => {
            OutlineRecord::Redacted(text(marker), digests.clone())
        }
        _ => return Err(damaged("this kind of answer is not remembered")),
    })
}

/// Returns the reply that a record stores.
pub(crate) fn stored_outline(it: OutlineRecord) -> Result<Reply, Error> {
    let marker = |it: &str| Marker::parse(it).map_err(damaged);
    Ok(match it {
        OutlineRecord::Written((name, version, tokens, lease, found, advised)) => {
            let mut warnings = Vec::new();
            for (code, of, message) in found {
                let code = Check::parse(&code).map_err(damaged)?;
                warnings.push(Finding { code, marker: marker(&of)?, message });
            }
            let mut advice = Vec::new();
            for (of, when) in advised {
                advice.push(Advice { marker: marker(&of)?, when });
            }
            Reply::Written(Box::new(SectionWritten {
                marker: marker(&name)?,
                version,
                tokens: Tokens(tokens),
                lease: lease.map(stored_lease).transpose()?,
                warnings,
                advice,
            }))
        }
        OutlineRecord::Leased(of, lease) => {
            Reply::Leased(Box::new(Held { marker: marker(&of)?, lease: stored_lease(lease)? }))
        }
        OutlineRecord::Released(of) => Reply::Released(marker(&of)?),
        OutlineRecord::Deleted(of, version) => Reply::Deleted { marker: marker(&of)?, version },
        OutlineRecord::Redacted(of, digests) => Reply::Redacted { marker: marker(&of)?, digests },
    })
}
