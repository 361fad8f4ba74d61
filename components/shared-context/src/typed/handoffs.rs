//! The interface `handoffs`.

use super::{Answer, Caller, Result, perform_in_project};
use crate::{Component, bindings::exports::shared_context::core::handoffs::Guest};

impl Guest for Component {
    fn offer(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "offer_handoff", &request)
    }

    fn accept(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "accept_handoff", &request)
    }

    fn decline(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "decline_handoff", &request)
    }

    fn take_over(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "take_over", &request)
    }

    fn list_handoffs(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "list_handoffs", &request)
    }

    fn read(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "read_handoff", &request)
    }

    fn redact(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "redact_handoff", &request)
    }

    fn trace_decision(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "trace_decision", &request)
    }

    fn prompt(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "project_prompt", &request)
    }
}
