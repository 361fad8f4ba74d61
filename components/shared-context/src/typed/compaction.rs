//! The interface `compaction`.

use shared_context_codec::parts::command_of;

use super::{Answer, Caller, Result, perform_to_json};
use crate::{Component, bindings::exports::shared_context::core::compaction::Guest};

impl Guest for Component {
    fn extract(session: String, caller: Caller, request: String) -> Result<Answer> {
        perform_to_json(&session, caller, command_of("extract", &request))
    }

    fn compact(session: String, caller: Caller, request: String) -> Result<Answer> {
        perform_to_json(&session, caller, command_of("compact", &request))
    }

    fn check_summary(session: String, caller: Caller, request: String) -> Result<Answer> {
        perform_to_json(&session, caller, command_of("check_summary", &request))
    }
}
