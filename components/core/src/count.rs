//! Counts of bytes and items: `usize` in memory, `u32` in rows and replies.
//!
//! # Invariant
//!
//! Both conversions are exact. Memory holds a request or a session at a time, which are some
//! megabytes, and `usize` has at least 32 bits wherever this runs.

/// Returns `count` as 32 bits.
pub(crate) fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns `count` as a `usize`.
pub(crate) fn widen(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
