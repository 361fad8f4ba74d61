//! A reference model of a session in its simplest form. It stores each value where it is used,
//! copies itself for each change, and recounts everything.
//!
//! [`bucket`] is the entry point: a bucket, and the correct answer and effect of a command. Rounds
//! have no model: their state is read from storage after each change and checked against
//! invariants. The model leaves out warnings, exact token counts, and the audit records dropped
//! after 4,096 commits. Tests of the core cover these.
//!
//! Invariant: the model shares no rule with the core. It shares only the types of requests and
//! replies, the text of prompts, and the rules of an assembly and of a packet.

pub mod bucket;
mod changes;
mod compaction;
mod context;
mod envelopes;
mod maintenance;
mod packets;
mod reads;
mod rounds;
pub mod rows;
pub mod state;
mod update;

pub use bucket::{BucketModel, ExpectedAnswer, Requester};
pub(crate) use changes::SECRET;
pub use changes::Transition;
pub use state::Model;
