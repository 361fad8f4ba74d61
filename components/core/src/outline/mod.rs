//! The outline of a project: sections of four levels, from a summary to raw files (spec 20).
//!
//! `marker` names a section, `level` has the rules of each level as tables, `section` is the stored
//! section, `rows` its form. `index` writes the navigation index, `propagation` finds the sections
//! that a change affects, `check` finds inconsistencies. Functions of their arguments.
//!
//! # Invariants
//!
//! - The system sets the writer of a section, and the time.
//! - A section of levels 1 to 3 is never over the tokens of its level.
//! - An index is never over its budget.

pub(crate) mod check;
pub(crate) mod index;
pub(crate) mod links;
pub(crate) mod propagation;
pub(crate) mod rows;

mod level;
mod marker;
mod section;

pub use check::{Check, Finding};
pub use index::{INDEX_TOKENS, INDEX_TOKENS_DEFAULT, Index};
pub use level::{LEVELS, LevelRule};
pub use marker::{MARKER_BYTES_MAX, Marker};
pub use propagation::{Advice, ChangeKind, MATRIX, When};
pub use section::{
    FileReference, INLINE_BYTES_MAX, NewSection, Owner, RedactedSection, SECTIONS_MAX,
    SHORTCUTS_MAX, STATUS_CHARS_MAX, SUMMARY_CHARS_MAX, Section, SectionVersion, Shortcut,
    TITLE_CHARS_MAX, VERSIONS_KEPT,
};
