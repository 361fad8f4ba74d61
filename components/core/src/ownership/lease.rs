//! Leases: the owner of a section, the way of owning, and the end (spec 20.6).

use crate::{Error, closed_list::closed_list, outline::Owner, time::Timestamp};

/// The shortest and the longest lease, in seconds: a minute and a day.
pub const LEASE_S: std::ops::RangeInclusive<u32> = 60..=86_400;
/// The lease of a request that names no time: 30 minutes.
pub const LEASE_MS_DEFAULT: u64 = 30 * 60 * 1_000;
/// The most leases of a participant of a session.
pub const LEASES_MAX: usize = 64;
/// The most ends of leases that a section remembers until their owners are notified.
const LOST_MAX: usize = 8;

closed_list! {
    /// The ways of owning a section.
    Ownership "ownership" {
        Exclusive "exclusive": "Only the owner writes.";
        SharedWrite "shared-write": "Everyone in the project writes; the owner decides how long.";
        ReadOnly "read-only": "Nobody writes, the owner included.";
    }
}

/// A lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The owner of the section.
    pub owner: Owner,
    /// The way of owning.
    pub kind: Ownership,
    /// The time since which it is owned.
    pub acquired_at: Timestamp,
    /// The instant from which it does not hold.
    pub expires_at: Timestamp,
    /// The previous owner of the section.
    pub previous: Option<Owner>,
    /// The reason; may be empty.
    pub reason: String,
}

impl Lease {
    /// Returns true if it holds at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// The end of a lease that its owner does not know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseEnd {
    /// The former owner of the section.
    pub owner: Owner,
    /// The time when the lease ended.
    pub at: Timestamp,
}

/// The stored ownership of a section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tenure {
    pub(crate) lease: Option<Lease>,
    /// The ends of leases that their owners do not know of, the oldest first.
    pub(crate) lost: Vec<LeaseEnd>,
    /// The last owner of the section.
    pub(crate) last: Option<Owner>,
}

impl Tenure {
    /// Returns the lease if it holds at `now`.
    pub(crate) fn live(&self, now: Timestamp) -> Option<&Lease> {
        self.lease.as_ref().filter(|it| it.is_live(now))
    }

    /// Ends the lease if its time is over. Returns true if it did.
    pub(crate) fn expire(&mut self, now: Timestamp) -> Option<Lease> {
        let ended = self.lease.take_if(|it| !it.is_live(now))?;
        self.lose(ended.owner.clone(), ended.expires_at);
        Some(ended)
    }

    /// Records that an owner lost the section.
    pub(crate) fn lose(&mut self, owner: Owner, at: Timestamp) {
        self.last = Some(owner.clone());
        self.lost.retain(|it| it.owner != owner);
        self.lost.push(LeaseEnd { owner, at });
        let surplus = self.lost.len().saturating_sub(LOST_MAX);
        self.lost.drain(..surplus);
    }
}

/// Returns the milliseconds of a lease of this many seconds.
///
/// # Errors
///
/// [`Error::Malformed`].
pub fn check_seconds(seconds: Option<u32>) -> Result<u64, Error> {
    match seconds {
        None => Ok(LEASE_MS_DEFAULT),
        Some(it) if LEASE_S.contains(&it) => Ok(u64::from(it).saturating_mul(1_000)),
        Some(it) => Err(Error::malformed(
            [
                "ttl_seconds is ",
                &it.to_string(),
                "; it must be 60 to 86400, a minute to a day; renew a lease that is to last longer",
            ]
            .concat(),
        )),
    }
}
