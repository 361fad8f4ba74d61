//! The interface `projects`.

use shared_context_core::{Command, ProjectCommand, ScopeKind};

use super::{Answer, Caller, Result, answer, perform_on};
use crate::{Component, bindings::exports::shared_context::core::projects::Guest};

impl Guest for Component {
    fn create(project: String, caller: Caller) -> Result<Answer> {
        perform(&project, caller, ProjectCommand::Create)
    }

    fn show(project: String, caller: Caller) -> Result<Answer> {
        perform(&project, caller, ProjectCommand::Show)
    }

    fn delete(project: String, caller: Caller) -> Result<Answer> {
        perform(&project, caller, ProjectCommand::Delete)
    }
}

fn perform(project: &str, caller: Caller, command: ProjectCommand) -> Result<Answer> {
    let command = Ok(Command::Project(command));
    perform_on(ScopeKind::Project, project, caller, command).map(|it| answer(&it))
}
