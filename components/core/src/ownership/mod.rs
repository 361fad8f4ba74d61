//! Ownership of sections: one writer for each, for a limited time (spec 20.6).
//!
//! `lease` is who owns a section and until when, `state` what a team coordinates, `commands` the
//! operations on sections and their owners, `rows` what is stored.
//!
//! # Invariants
//!
//! - A section has at most one exclusive owner at any instant.
//! - A lease ends at its instant by the clock, whether or not anybody noticed.
//! - Who lost a lease is told once.

pub mod commands;
pub(crate) mod rows;

pub(crate) mod lease;
mod state;

pub use commands::{
    Acquire, Command, Held, PutSection, ReadSections, Reply, SectionRead, SectionWritten, Transfer,
};
pub use lease::{LEASE_MS_DEFAULT, LEASE_S, LEASES_MAX, Lease, LeaseEnd, Ownership, check_seconds};
pub use state::{Assignment, CoordinationChange, CoordinationState, Resource, STATE_ITEMS_MAX};
