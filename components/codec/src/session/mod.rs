//! A session as a whole: lifecycle, configuration, documents.

mod actions;
pub(crate) mod config;
pub(crate) mod document;
pub(crate) mod replies;

pub(crate) use actions::{ACTIONS, FORMS, PUBLISHED};
