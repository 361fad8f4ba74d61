//! The interface `projects`.

use super::{Answer, Caller, Result, perform_in_project};
use crate::{Component, bindings::exports::shared_context::core::projects::Guest};

impl Guest for Component {
    fn create(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "create_project", &request)
    }

    fn show(project: String, caller: Caller) -> Result<Answer> {
        perform_in_project(&project, caller, "show_project", "{}")
    }

    fn archive(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "archive_project", &request)
    }

    fn changes(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "project_changes", &request)
    }

    fn sessions(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "project_sessions", &request)
    }

    fn export_document(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "export_project", &request)
    }

    fn import_document(project: String, caller: Caller, request: String) -> Result<Answer> {
        perform_in_project(&project, caller, "import_project", &request)
    }

    fn delete(project: String, caller: Caller) -> Result<Answer> {
        perform_in_project(&project, caller, "delete_project", "{}")
    }
}
