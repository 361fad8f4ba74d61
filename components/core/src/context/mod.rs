//! The context pipeline: the plan of a context window, the scores of items, assemblies, and the
//! working memory as text (spec 16).
//!
//! Everything here is a function of its arguments, except for `rows`: the stored form of a
//! session's records.

pub mod assembly;
pub mod capacity;
mod compacted;
pub mod dependency;
pub(crate) mod entries;
pub mod kept;
pub mod kinds;
pub mod loading;
pub mod mention;
pub mod plan;
mod render;
mod request;
pub(crate) mod rows;
pub mod score;
pub mod segment;
mod share;
pub(crate) mod stored;

pub use compacted::{COMPACTION_FORMAT, CompactionHeading};
pub use render::{CONTEXT_TOKENS_DEFAULT, RenderedContext, render};
pub use request::{
    AnswerMissing, AssembleContext, Assembled, Command, EnvelopeRead, ListMissing, MissingList,
    PlanWindow, PlannedWindow, RecordInjection, Reply, ReportMissing, SAMPLE_BYTES_MAX, Sample,
    SampleEstimate,
};
pub use share::Share;
