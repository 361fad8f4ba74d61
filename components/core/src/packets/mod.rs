//! Packets: the context of a task for its worker (spec 18).
//!
//! `request` is the request, `material` reads the input given with it, `source` is the data of the
//! session, `generate` chooses among the statements of both, `packet` is the result, `document` and
//! `render` write it. `edit`, `verify`, `stale`, `query`, `feedback` and `statistics` are the
//! operations on an existing packet.
//!
//! # Invariants
//!
//! - A packet is never over its budget, in the requested form.
//! - Every candidate is either in the packet or omitted with a reason, once.
//! - Nothing is paraphrased: a statement is a part of its source, byte for byte.
//! - The same recipe and the same sources give the same bytes.

pub(crate) mod commands;
pub(crate) mod conceal;
pub(crate) mod entries;
pub mod kept;
pub(crate) mod material;
pub(crate) mod rows;
pub(crate) mod stored;

mod address;
mod cues;
mod document;
mod draft;
mod edit;
mod feedback;
mod gather;
mod generate;
mod kinds;
mod labelled;
mod left;
mod merge;
mod messages;
mod packet;
mod pattern;
mod query;
mod reading;
mod recipe;
mod render;
mod reply;
mod request;
mod revise;
mod source;
mod stale;
mod statement;
mod statistics;
mod talk;
mod topics;
mod trim;
mod verify;
mod weigh;
mod window;
mod yaml;

pub use address::Address;
pub use edit::{PATCH_BYTES_MAX, edit};
pub use feedback::{FEEDBACKS_MAX, Feedback, GAP_CHARS_MAX, GAPS_MAX, NOTE_CHARS_MAX, Use};
pub use generate::{Candidate, Generated, Head, LayerText, generate, layer};
pub use kinds::{AdviceCode, Budgets, Depth, Form, Layer, MadeBy, Outcome, Part};
pub use packet::{Change, Link, PACKET_FORMAT, Packet, TokenCount};
pub use query::{ANSWER_TOKENS_MAX, Answer, Found, QUESTION_BYTES_MAX, check_question, query};
pub use recipe::{MATERIAL_BYTES_MAX, Recipe};
pub use request::{
    ADDRESSES_MAX, BUDGET, FILES_MAX, File, GeneratePacket, Given, LINKS_MAX,
    PACKET_TASK_BYTES_MAX, PACKETS_BYTES_MAX, PacketConfig, STATEMENT_BYTES_MAX, STATEMENTS_MAX,
    TASK_TYPE_BYTES_MAX, VERSIONS_KEPT, check_budget, check_task, check_task_type,
};
pub use source::{EntrySource, EnvelopeSource, MissingSource, Sources, StateSource};
pub use stale::{SourceState, Stale, Staleness, change, keys, stale};
pub use statement::{Origin, Source, Statement};
pub use statistics::{
    Advice, DepthSums, GapReport, Mentions, Minimum, OTHER, Statistics, TASK_TYPES_MAX, TypeReport,
    TypeSums,
};
pub use verify::{DIFFERENCES_MAX, Verification, check_document, verify};

pub use commands::{
    Command, EditPacket, GiveFeedback, PacketAnswer, PacketInfo, PacketRead, PacketWritten,
    QueryPacket, ReadPacket, Reply, Report, WITHHELD_MAX,
};
