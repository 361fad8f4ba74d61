//! Handoffs: an agent passes its work, its notes and its sections on to another (spec 21).
//!
//! `kinds` has the closed lists, `handoff` what is known of a handoff, `commands` the operations.
//! `material` reads what a package is made from, `package` writes it, `talk` compacts the conversation,
//! `fit` chooses what fits, `free_text` reads what a package says. `prompt` writes a system prompt,
//! `trace` what a decision is linked with, and `rows` is the stored form. Functions of their arguments.
//!
//! # Invariants
//!
//! - A package and a prompt are never over their budget. What was left out is named.
//! - A handoff is settled once. What it transfers is transferred in the commit that settles it.
//! - The package does not change after the offer; its digest identifies it.

pub(crate) mod commands;
pub(crate) mod free_text;
pub(crate) mod material;
pub(crate) mod package;
pub(crate) mod prompt;
pub(crate) mod rows;
pub(crate) mod trace;

mod fit;
mod handoff;
mod kinds;
mod talk;

pub use commands::{
    Command, ITEMS_MAX, ListHandoffs, OFFER_SECONDS, OFFER_SECONDS_DEFAULT, OfferHandoff,
    PACKAGE_TOKENS_MIN, Reply, SECTIONS_MAX, SKILL_BYTES_MAX, SUMMARY_BYTES_MAX, TEXT_BYTES_MAX,
    TEXTS_MAX,
};
pub use handoff::{Handoff, HandoffId, HandoffRead, Party};
pub use kinds::{HandoffKind, HandoffState, ListName, PromptPart, Trigger};
pub use package::{PACKAGE_BYTES_MAX, PACKAGE_FORMAT};
pub use prompt::{
    FOCUS_MAX, PROMPT_BYTES_MAX, PROMPT_TOKENS, PROMPT_TOKENS_DEFAULT, ProjectPrompt,
    PromptRequest, PromptShare,
};
pub use trace::{Link, Trace, TraceStep};
