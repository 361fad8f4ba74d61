//! The entries of a session, and what is kept of them (spec 3, 7).

pub(crate) mod entries;
pub(crate) mod entry_replies;
mod members;
pub(crate) mod sent;
pub(crate) mod snapshot_replies;
pub(crate) mod snapshots;
