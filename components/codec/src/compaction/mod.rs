//! Compaction: facts of a conversation, a conversation that fits, and the check of a summary
//! (spec 17). Nothing is stored.

mod actions;
pub(crate) mod input;
mod replies;

pub(crate) use actions::{ACTIONS, FORMS, PUBLISHED};
pub(crate) use replies::encode;
