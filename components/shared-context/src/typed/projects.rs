//! The interface `projects`.

use shared_context_core::{Command, ProjectCommand, ScopeKind};

use super::{answer, perform_on, types};
use crate::{Component, bindings::exports::shared_context::core::projects::Guest};

impl Guest for Component {
    fn create(project: String, caller: types::Caller) -> Result<types::Answer, types::Error> {
        perform(&project, caller, ProjectCommand::Create)
    }

    fn show(project: String, caller: types::Caller) -> Result<types::Answer, types::Error> {
        perform(&project, caller, ProjectCommand::Show)
    }

    fn delete(project: String, caller: types::Caller) -> Result<types::Answer, types::Error> {
        perform(&project, caller, ProjectCommand::Delete)
    }
}

fn perform(
    project: &str,
    caller: types::Caller,
    command: ProjectCommand,
) -> Result<types::Answer, types::Error> {
    let command = Ok(Command::Project(command));
    perform_on(ScopeKind::Project, project, caller, command).map(|it| answer(&it))
}
