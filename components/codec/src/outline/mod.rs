//! The outline of a project and its owners (spec 20).

mod actions;
pub(crate) mod input;
mod replies;

pub(crate) use actions::{ACTIONS, FORMS, PUBLISHED};
pub(crate) use replies::encode;
