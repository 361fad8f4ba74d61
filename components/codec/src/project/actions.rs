//! The actions on a project itself.

use shared_context_core::{ProjectCommand, ProjectConfig, kv::Revision, reply::MEMORIES_DEFAULT};

#[cfg(feature = "schema")]
use super::{DeleteProjectReply, ProjectReply};
#[cfg(feature = "schema")]
use crate::feed::ChangesReply;
use crate::{
    action::{ADMIN, ANYONE, declare::actions},
    checks,
};

actions! {
    of Projects:

    /// Create the project, empty. Sessions that belong to it name it in their configuration.
    create_project: ADMIN, change;
        at Put "" -> 201 "";
        rejects ProjectExists;
        needs {}
        takes {
            /// The most memories, 1 to 50000; 10000 when absent.
            memories_max: u32,
        }
        answers ProjectReply<'_>;
        |it| {
            let config = ProjectConfig { memories_max: it.memories_max.unwrap_or(MEMORIES_DEFAULT) };
            config.check()?;
            Ok(Command::Project(ProjectCommand::Create(config)))
        };

    /// Show what is known of the project.
    show_project: ANYONE, read;
        at Get "" -> 200;
        needs {}
        takes {}
        answers ProjectReply<'_>;
        |_it| Ok(Command::Project(ProjectCommand::Show));

    /// Make the project read-only, for ever. What it knows can still be read and found.
    archive_project: ADMIN, change;
        at Post "/archive", "{}" -> 200;
        needs {}
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers ProjectReply<'_>;
        |it| {
            let id = checks::request_id(it.request_id.as_deref())?;
            Ok(checks::named(id, Command::Project(ProjectCommand::Archive)))
        };

    /// Read what changed in the project since a revision, oldest first; never a content.
    project_changes: ANYONE, read;
        at Get "/changes" -> 200;
        rejects ChangesTruncated;
        needs {}
        takes {
            /// Begin after this revision; with the oldest that is kept when absent.
            since: u64,
            /// How many commits at most, 1 to 1000; 100 when absent.
            limit: u32,
        }
        answers ChangesReply<'_>;
        |it| {
            let (since, limit) = (it.since.map(Revision), checks::limit(it.limit)?);
            Ok(Command::Project(ProjectCommand::Changes { since, limit }))
        };

    /// Remove the project and all it holds. Sessions that name it stay.
    delete_project: ADMIN, change;
        at Delete "" -> 200;
        needs {}
        takes {}
        answers DeleteProjectReply<'_>;
        |_it| Ok(Command::Project(ProjectCommand::Delete));
}
