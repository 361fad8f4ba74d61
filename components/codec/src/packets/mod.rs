//! Packets: what a worker gets to know (spec 18).

mod actions;
pub(crate) mod document;
mod forms;
pub(crate) mod input;
mod packet;
mod replies;
mod reports;
mod sums;

pub(crate) use actions::{ACTIONS, FORMS, PUBLISHED};
pub(crate) use replies::encode;
