//! Handoffs of a project, and its system prompts (spec 21).

mod actions;
mod input;
mod replies;

pub(crate) use actions::{ACTIONS, FORMS, PUBLISHED};
pub(crate) use input::CoreDocument;
pub(crate) use replies::encode;
