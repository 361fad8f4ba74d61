//! The interface `memories`.

use shared_context_codec::parts::command_of;

use super::{Answer, Caller, Result, perform_in_project, perform_to_json};
use crate::{Component, bindings::exports::shared_context::core::memories::Guest};

impl Guest for Component {
    fn add(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "add_memories", &request)
    }

    fn read(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "read_memories", &request)
    }

    fn history(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "memory_history", &request)
    }

    fn update(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "update_memory", &request)
    }

    fn supersede(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "supersede_memory", &request)
    }

    fn mark(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "mark_memories", &request)
    }

    fn search(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "search_memories", &request)
    }

    fn rehydrate(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "rehydrate", &request)
    }

    fn summarize(session: String, caller: Caller, request: String) -> Result<Answer> {
        perform_to_json(&session, caller, command_of("session_summary", &request))
    }

    fn maintain(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "maintain", &request)
    }

    fn decision_log(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "decision_log", &request)
    }

    fn redact(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "redact_memory", &request)
    }
}
