//! The operations on the outline and its ownership, and their replies.

use super::{
    lease::{Lease, Ownership},
    state::{CoordinationChange, CoordinationState},
};
use crate::{
    key::Line,
    outline::{Advice, ChangeKind, Finding, Index, Marker, NewSection, Owner, Section},
    time::Timestamp,
    tokens::Tokens,
};

/// An operation on the outline of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Writes a section, or its next version.
    Put(Box<PutSection>),
    /// Reads a section, and those of a level below that it leads to.
    Read(ReadSections),
    /// Removes a section with its versions.
    Delete {
        /// The section.
        marker: Marker,
        /// Only if it has this version.
        if_version: Option<u32>,
    },
    /// Returns the navigation index.
    Index {
        /// The budget.
        budget: Tokens,
    },
    /// Finds inconsistencies.
    Check,
    /// Acquires a section.
    Acquire(Acquire),
    /// Prolongs the caller's lease of a section.
    Renew {
        /// The section.
        marker: Marker,
        /// The duration of the lease from now, in milliseconds.
        ttl_ms: u64,
    },
    /// Ends the caller's lease of a section.
    Release(Marker),
    /// Hands the ownership of a section over.
    Transfer(Transfer),
    /// Returns the leases of all sections, and the coordination state.
    Coordination,
    /// Changes the coordination state.
    Coordinate(Box<CoordinationChange>),
    /// Replaces the content of a section by its digest, in all its versions.
    Redact {
        /// The section.
        marker: Marker,
        /// The reason.
        reason: Line,
    },
}

/// A write of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutSection {
    /// The section.
    pub section: NewSection,
    /// Only if it has this version; 0 if it must not exist.
    pub if_version: Option<u32>,
    /// The kind of the change, which the advice depends on.
    pub change: Option<ChangeKind>,
}

/// A read of sections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadSections {
    /// The section.
    pub marker: Marker,
    /// Read the sections of this level that it leads to, in place of it.
    pub level: Option<u8>,
    /// Read this version: its content, writer, time and tokens.
    pub version: Option<u32>,
}

/// A request to own a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acquire {
    /// The section.
    pub marker: Marker,
    /// The way of owning.
    pub kind: Ownership,
    /// The duration, in milliseconds.
    pub ttl_ms: u64,
    /// The reason.
    pub reason: Option<Line>,
}

/// A handover of ownership.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// The section.
    pub marker: Marker,
    /// The new owner.
    pub to: Owner,
    /// The duration, in milliseconds.
    pub ttl_ms: u64,
    /// The reason.
    pub reason: Option<Line>,
}

/// A section as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionRead {
    /// The section.
    pub section: Section,
    /// Its content; `None` if the caller may not read it, it is not loaded, or was redacted.
    pub content: Option<String>,
    /// True if the caller may not read the content.
    pub is_hidden: bool,
    /// Its lease.
    pub lease: Option<Lease>,
    /// The versions that are kept, the oldest first.
    pub versions: Vec<u32>,
}

/// A section that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionWritten {
    /// The section.
    pub marker: Marker,
    /// Its version.
    pub version: u32,
    /// The tokens of its content.
    pub tokens: Tokens,
    /// Its lease.
    pub lease: Option<Lease>,
    /// Warnings about it.
    pub warnings: Vec<Finding>,
    /// The other sections to look at.
    pub advice: Vec<Advice>,
}

/// A lease with its section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The section.
    pub marker: Marker,
    /// The lease.
    pub lease: Lease,
}

/// The reply to an operation on the outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The reply to `Put`.
    Written(Box<SectionWritten>),
    /// The reply to `Read`.
    Read {
        /// The sections.
        sections: Vec<SectionRead>,
        /// The sections that did not fit.
        more: Vec<Marker>,
    },
    /// The reply to `Delete`.
    Deleted {
        /// The section.
        marker: Marker,
        /// The version that was removed.
        version: u32,
    },
    /// The reply to `Index`.
    Index(Box<Index>),
    /// The reply to `Check`.
    Checked(Vec<Finding>),
    /// The reply to `Acquire`, `Renew` and `Transfer`.
    Leased(Box<Held>),
    /// The reply to `Release`.
    Released(Marker),
    /// The reply to `Coordination` and `Coordinate`.
    Coordination {
        /// The state.
        state: Box<CoordinationState>,
        /// The leases of the sections.
        leases: Vec<Held>,
        /// The time.
        at: Timestamp,
    },
    /// The reply to `Redact`.
    Redacted {
        /// The section.
        marker: Marker,
        /// The digests of its versions.
        digests: Vec<String>,
    },
}
