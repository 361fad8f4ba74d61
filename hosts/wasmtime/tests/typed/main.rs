//! The typed interfaces of the component against the JSON tool: the same steps
//! on two sessions, one by each, get the same answers and the same refusals.
//!
//! A file for each interface; `contract` holds that none is missing.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![expect(clippy::needless_pass_by_value, reason = "requests are written where they are sent")]

mod bench;
mod changes;
mod contract;
mod forms;
mod history;
mod projects;
mod prompt;
mod rounds;
mod sessions;
mod snapshots;
mod store;
