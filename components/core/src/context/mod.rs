//! What an agent is shown: the plan of its context window, the scores of items, assemblies, and the
//! working memory as text (spec 16).
//!
//! Everything here is a function of its arguments. Nothing is stored.

pub mod assembly;
pub mod capacity;
pub mod dependency;
pub mod kinds;
pub mod loading;
pub mod mention;
pub mod plan;
mod render;
mod request;
pub mod score;
pub mod segment;
mod share;

pub use render::{CONTEXT_TOKENS_DEFAULT, RenderedContext, render};
pub use request::{
    Command, PlanWindow, PlannedWindow, Reply, SAMPLE_BYTES_MAX, Sample, SampleEstimate,
};
pub use share::Share;
