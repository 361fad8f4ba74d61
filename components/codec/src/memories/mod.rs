//! Memories of a project (spec 19).

mod actions;
mod content;
mod forms;
mod input;
mod replies;

pub(crate) use actions::{ACTIONS, FORMS, PUBLISHED};
pub(crate) use replies::encode;
