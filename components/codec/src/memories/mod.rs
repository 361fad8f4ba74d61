//! Memories of a project, and the summary of a session (spec 19).

mod actions;
pub(crate) mod content;
mod forms;
mod input;
mod replies;
pub(crate) mod summary;

pub(crate) use actions::{ACTIONS, FORMS, PUBLISHED};
pub(crate) use replies::encode;
