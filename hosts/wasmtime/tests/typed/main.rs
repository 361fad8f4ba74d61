//! Compares the typed interfaces with the JSON tool: the same steps on two sessions, one
//! through each, get the same replies and the same errors.
//!
//! There is one file per interface; `contract` checks that none is missing.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![expect(clippy::needless_pass_by_value, reason = "requests are written where they are sent")]

mod bench;
mod changes;
mod compaction;
mod context;
mod contract;
mod forms;
mod handoffs;
mod history;
mod memories;
mod outline;
mod packets;
mod projects;
mod prompt;
mod rounds;
mod sessions;
mod snapshots;
mod store;
