//! The actions on a project itself.

use shared_context_core::ProjectCommand;

#[cfg(feature = "schema")]
use super::{DeleteProjectReply, ProjectReply};
use crate::action::{ADMIN, ANYONE, declare::actions};

actions! {
    of Projects:

    /// Create the project, empty. Sessions that belong to it name it in their configuration.
    create_project: ADMIN, change;
        at Put "" -> 201 "";
        rejects ProjectExists;
        needs {}
        takes {}
        answers ProjectReply<'_>;
        |_it| Ok(Command::Project(ProjectCommand::Create));

    /// Show what is known of the project.
    show_project: ANYONE, read;
        at Get "" -> 200;
        needs {}
        takes {}
        answers ProjectReply<'_>;
        |_it| Ok(Command::Project(ProjectCommand::Show));

    /// Remove the project and all it holds. Sessions that name it stay.
    delete_project: ADMIN, change;
        at Delete "" -> 200;
        needs {}
        takes {}
        answers DeleteProjectReply<'_>;
        |_it| Ok(Command::Project(ProjectCommand::Delete));
}
