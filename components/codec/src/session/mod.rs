//! A session around its systems: its life, its configuration, what is told of it as a whole.

mod actions;
pub(crate) mod config;
pub(crate) mod document;
pub(crate) mod replies;

pub(crate) use actions::{ACTIONS, FORMS, PUBLISHED};
