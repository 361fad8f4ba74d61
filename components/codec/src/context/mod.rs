//! The context pipeline: what an agent is shown, and why (spec 16).

mod actions;
mod compacted;
pub(crate) mod document;
mod envelope;
mod forms;
pub(crate) mod input;
mod replies;

pub(crate) use actions::{ACTIONS, FORMS, PUBLISHED};
#[cfg(feature = "schema")]
pub(crate) use input::REPORTS;
pub(crate) use replies::{encode, encode_assembled, encode_window};
