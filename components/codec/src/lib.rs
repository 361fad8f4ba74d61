//! The JSON tool (spec 3): bytes in, a [`Command`] to the core, bytes out.
//!
//! One request is one JSON object with an `action`. Hosts and `wire` know no
//! operation by name: they hand the bytes on, so that adding an operation
//! touches the core, this crate and the WIT, and nothing else. Leaves out HTTP,
//! credentials and storage.
//!
//! [`Command`]: shared_context_core::Command

mod action;
mod actions;
mod checks;
mod failure;
mod feed;
mod form;
mod invoke;
mod json;
mod project;
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
pub use actions::{actions, command, may_change, published};
pub use failure::Failure;
pub use feed::{AuditForm, audit_line};
pub use invoke::{
    Caller, Credential, Effect, Reply, config_to_json, invoke, parse_config, parse_document,
    perform, to_json, wake,
};
pub use json::Time;
pub use shared_context_core::Code;

/// Commands of what the typed interfaces are sent, checked as requests of the JSON tool
/// are, so that both refuse the same.
pub mod parts {
    pub use crate::{checks::limit, store::sent::*};

    /// Commands of rounds.
    pub mod rounds {
        pub use crate::rounds::sent::*;
    }
}

/// Returns the text of the member `name` of the JSON object `json`, and looks at nothing
/// behind it; `None` when there is none.
pub fn text_in(json: &[u8], name: &'static str) -> Option<String> {
    form::text(json, name).ok()
}

/// Returns all actions, their requests and replies as JSON Schemas, and all error codes
/// in order of precedence: one JSON document. `cargo xtask bless` writes it from
/// the types; a test holds it against them.
pub fn describe() -> &'static str {
    include_str!("../describe.json")
}
