//! The interface `packets`.

use shared_context_codec::parts::command_of;

use super::{Answer, Caller, Result, perform_to_json};
use crate::{Component, bindings::exports::shared_context::core::packets::Guest};

impl Guest for Component {
    fn generate(session: String, caller: Caller, request: String) -> Result<Answer> {
        perform_to_json(&session, caller, command_of("context_generate", &request))
    }

    fn edit(session: String, caller: Caller, request: String) -> Result<Answer> {
        perform_to_json(&session, caller, command_of("context_edit", &request))
    }

    fn read(session: String, caller: Caller, request: String) -> Result<Answer> {
        perform_to_json(&session, caller, command_of("context_read", &request))
    }

    fn feedback(session: String, caller: Caller, request: String) -> Result<Answer> {
        perform_to_json(&session, caller, command_of("context_feedback", &request))
    }

    fn query(session: String, caller: Caller, request: String) -> Result<Answer> {
        perform_to_json(&session, caller, command_of("context_query", &request))
    }

    fn stats(session: String, caller: Caller, request: String) -> Result<Answer> {
        perform_to_json(&session, caller, command_of("context_stats", &request))
    }

    fn clear(session: String, caller: Caller, request: String) -> Result<Answer> {
        perform_to_json(&session, caller, command_of("context_clear", &request))
    }

    fn list_packets(session: String, caller: Caller, request: String) -> Result<Answer> {
        perform_to_json(&session, caller, command_of("list_packets", &request))
    }
}
