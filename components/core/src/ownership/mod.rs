//! Ownership of sections: one writer for each, for a limited time (spec 20.6).
//!
//! `lease` is the owner of a section and the time until which it owns it, `state` the data that a
//! team coordinates, `commands` the operations on sections and their owners, `rows` the stored
//! form.
//!
//! # Invariants
//!
//! - A section has at most one exclusive owner at any instant.
//! - A lease ends at its instant by the clock, even if no call notices it.
//! - The former owner of a lost lease is notified once.

pub mod commands;
pub(crate) mod rows;

pub(crate) mod lease;
mod state;

pub use commands::{
    Acquire, Command, Held, PutSection, ReadSections, Reply, SectionRead, SectionWritten, Transfer,
};
pub use lease::{LEASE_MS_DEFAULT, LEASE_S, LEASES_MAX, Lease, LeaseEnd, Ownership, check_seconds};
pub use state::{Assignment, CoordinationChange, CoordinationState, Resource, STATE_ITEMS_MAX};
