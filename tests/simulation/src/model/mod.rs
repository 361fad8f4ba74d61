//! What a session must show, in its plainest form: it holds every value where it
//! is used, copies the whole of itself for each change and counts everything anew.
//!
//! [`place`] is the way in: a bucket, and what a command must answer and make of
//! it. Of rounds it has no model: what changes make of them is taken from storage and
//! held to invariants. Leaves out the warnings of writes, exact token counts, and what the
//! audit trail forgets after 4,096 commits, which tests of the core hold.
//!
//! Invariant: it shares no rule with the core, only the types of questions and
//! answers, and the text of prompts.

mod changes;
mod past;
pub mod place;
mod reads;
mod rounds;
pub mod rows;
pub mod state;

pub use changes::Done;
pub use place::{Asker, Expected, Place};
pub use state::Model;
