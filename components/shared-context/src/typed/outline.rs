//! The interface `outline`.

use super::{Answer, Caller, Result, perform_in_project};
use crate::{Component, bindings::exports::shared_context::core::outline::Guest};

impl Guest for Component {
    fn put(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "put_section", &request)
    }

    fn read(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "read_section", &request)
    }

    fn delete(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "delete_section", &request)
    }

    fn index(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "read_index", &request)
    }

    fn check(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "check_outline", &request)
    }

    fn acquire(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "acquire", &request)
    }

    fn renew(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "renew", &request)
    }

    fn release(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "release", &request)
    }

    fn transfer(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "transfer", &request)
    }

    fn coordination(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "coordination", &request)
    }

    fn coordinate(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "coordinate", &request)
    }

    fn redact(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "redact_section", &request)
    }
}
