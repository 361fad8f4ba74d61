//! The rounds of a session, and the state they agree on (spec 11).

mod actions;
mod deltas;
pub(crate) mod document;
mod forms;
pub(crate) mod input;
mod replies;

pub(crate) use actions::{ACTIONS, FORMS, PUBLISHED};
#[cfg(feature = "schema")]
pub(crate) use forms::DELTA_FORMS;
pub(crate) use replies::encode;
