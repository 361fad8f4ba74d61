//! The entries of a session, their history and snapshots (spec 3, 7).

pub(crate) mod entries;
pub(crate) mod entry_replies;
pub(crate) mod input;
mod members;
pub(crate) mod snapshot_replies;
pub(crate) mod snapshots;
