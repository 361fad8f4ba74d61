//! The JSON tool (spec 3): bytes in, a [`Command`] to the core, bytes out.
//!
//! One request is one JSON object with an `action`. Hosts and `wire` know no operation by name:
//! they pass the bytes on. A new operation therefore changes only the core, this crate and the WIT.
//! HTTP, credentials and storage are out of scope.
//!
//! [`Command`]: shared_context_core::Command

mod action;
mod actions;
mod checks;
mod compaction;
mod context;
mod failure;
mod feed;
mod form;
mod handoffs;
mod invoke;
mod item;
mod json;
pub mod maintenance;
mod memories;
mod nearest;
mod outline;
mod packets;
mod project;
pub mod pure;
mod refusal;
mod reply;
mod rounds;
#[cfg(feature = "schema")]
pub mod schema;
mod session;
mod store;
mod values;

pub use action::{
    ActionInfo, System,
    route::{Kind, Member, Method, Published, Route},
};
pub use actions::{RequestKind, actions, command, kind_of, may_change, published};
pub use failure::Failure;
pub use feed::{AuditForm, audit_line};
pub use invoke::{
    Caller, Credential, Effect, Reply, config_to_json, invoke, parse_config, parse_config_change,
    parse_document, perform, to_json, wake,
};
pub use json::{Time, parse_whole, whole};
pub use nearest::{did_you_mean, nearest, nearest_action};
pub use refusal::{shorten, unknown_member};
pub use shared_context_core::Code;

/// Builders of commands for the typed interfaces. They share their checks with the JSON tool, so
/// that both return the same errors.
pub mod parts {
    pub use crate::{actions::command_of, checks::limit, store::input::*};

    /// Builders of commands of the context pipeline.
    pub mod context {
        pub use crate::context::input::*;
    }

    /// Builders of commands about packets.
    pub mod packets {
        pub use crate::packets::input::*;
    }

    /// Builders of commands on rounds.
    pub mod rounds {
        pub use crate::rounds::input::*;
    }
}

/// Returns the text of the member `name` of the JSON object `json`, or `None`. Ignores everything
/// after that member.
pub fn text_in(json: &[u8], name: &'static str) -> Option<String> {
    form::text(json, name).ok()
}

/// Returns one JSON document with all actions, the JSON Schemas of their requests and replies, and
/// all error codes in order of precedence. `cargo xtask bless` generates it from the types; a test
/// compares it with them.
pub fn describe() -> &'static str {
    include_str!("../describe.json")
}
