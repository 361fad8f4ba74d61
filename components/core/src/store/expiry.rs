//! Expiry of entries (spec 7.5): from that instant on, an entry does not exist.

use crate::{Error, time::Timestamp};

/// The longest lifetime of an entry that expires, in seconds: ten years.
pub const TTL_SECONDS_MAX: u32 = 10 * 365 * 86_400;

/// The expiry requested by a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// This long after the write.
    After(Ttl),
    /// At this instant.
    At(Timestamp),
}

/// The lifetime of an entry: 1 to [`TTL_SECONDS_MAX`] seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ttl(u32);

impl Ttl {
    /// Parses a lifetime of `seconds`. Errors name it as `member` of the request.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(member: &str, seconds: u64) -> Result<Self, Error> {
        let fits = |it: &u32| (1..=TTL_SECONDS_MAX).contains(it);
        u32::try_from(seconds).ok().filter(fits).map(Self).ok_or_else(|| {
            Error::malformed(format!(
                "{member} is {seconds}; it must be 1 to {TTL_SECONDS_MAX} (ten years); leave it \
                 out for an entry that stays"
            ))
        })
    }

    /// Returns the lifetime in seconds.
    pub fn seconds(self) -> u32 {
        self.0
    }

    fn after(self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_add(u64::from(self.0) * 1_000))
    }
}

impl Expiry {
    /// Returns the instant of expiry for a write at `now`.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if it is not in the future, or further away than
    /// [`TTL_SECONDS_MAX`].
    pub fn instant(self, now: Timestamp) -> Result<Timestamp, Error> {
        match self {
            Self::After(ttl) => Ok(ttl.after(now)),
            Self::At(at) if at <= now => Err(Error::malformed(
                "expires_at is not in the future: the entry would be gone at once; \
                 use ttl_seconds to count from now",
            )),
            Self::At(at) if at > Ttl(TTL_SECONDS_MAX).after(now) => Err(Error::malformed(
                "expires_at is more than ten years away; leave it out for an entry that stays",
            )),
            Self::At(at) => Ok(at),
        }
    }
}
