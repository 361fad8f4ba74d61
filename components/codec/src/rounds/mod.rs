//! The rounds of a session, and the state they agree on: 003's system.

mod actions;
pub(crate) mod deltas;
pub(crate) mod document;
mod forms;
pub(crate) mod replies;
pub(crate) mod sent;

pub(crate) use actions::{ACTIONS, FORMS, PUBLISHED};
